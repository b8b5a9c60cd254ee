package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	"sentient/runtime/app"

	pb "sentient/proto/models"
)

// rolesOf is the model of each role; nil means the primary one.
func rolesOf(r *app.Roles) map[string]*string {
	return map[string]*string{"primary": &r.Primary, "fast": &r.Fast, "planner": r.Planner, "executor": r.Executor, "embedding": &r.Embedding,
		"vision": r.Vision, "voice": r.Voice}
}

// required: these roles always have a model of their own.
func required(role string) bool { return role == "primary" || role == "fast" || role == "embedding" }

// setRole never leaves a required role empty.
func setRole(r *app.Roles, role string, model *string) {
	if model != nil {
		m := *model
		model = &m
	}
	switch role {
	case "planner":
		r.Planner = model
	case "executor":
		r.Executor = model
	case "vision":
		r.Vision = model
	case "voice":
		r.Voice = model
	}
	if model == nil {
		return
	}
	switch role {
	case "primary":
		r.Primary = *model
	case "fast":
		r.Fast = *model
	case "embedding":
		r.Embedding = *model
	}
}

// named is the roles that have a model of their own, as they are kept.
func named(roles map[string]*string) map[string]string {
	out := map[string]string{}
	for role, m := range roles {
		if m != nil {
			out[role] = *m
		}
	}
	return out
}

func setupOf(m *app.Models) *pb.Setup {
	s := &pb.Setup{Roles: named(rolesOf(&m.Roles)), Fallbacks: map[string]*pb.Models{}, Reasoning: maps.Clone(m.Reasoning), ContextLength: int64(m.ContextLength),
		ContextLengthPerRole: map[string]int64{}}
	for role, list := range m.Fallbacks {
		s.Fallbacks[role] = &pb.Models{Models: slices.Clone(list)}
	}
	for role, n := range m.ContextLengthPerRole {
		s.ContextLengthPerRole[role] = int64(n)
	}
	if m.ActivePreset != nil {
		name := *m.ActivePreset
		s.ActivePreset = &name
	}
	return s
}

// restore puts a setup back, all but the name of its preset.
func restore(m *app.Models, s *pb.Setup) {
	for _, role := range app.ModelRoles() {
		if model, ok := s.Roles[role]; ok {
			setRole(&m.Roles, role, &model)
		} else {
			setRole(&m.Roles, role, nil)
		}
	}
	m.Fallbacks, m.ContextLengthPerRole, m.Reasoning = map[string][]string{}, map[string]int{}, map[string]string{}
	for role, list := range s.Fallbacks {
		m.Fallbacks[role] = append([]string{}, list.Models...)
	}
	for role, n := range s.ContextLengthPerRole {
		m.ContextLengthPerRole[role] = int(n)
	}
	maps.Copy(m.Reasoning, s.Reasoning)
	m.ContextLength = int(s.ContextLength)
}

// digest tells one state of the model settings from another.
func digest(m *app.Models) string {
	b, err := json.Marshal(m) // maps are written in the order of their keys
	if err != nil {
		return "" // not reached: everything in there has a JSON form
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Changed is one role that a switch changed; nil means the primary model.
type Changed struct {
	Role string  `json:"role"`
	From *string `json:"from"`
	To   *string `json:"to"`
}

func changes(before, after *app.Roles) []Changed {
	list := []Changed{}
	a, b := rolesOf(before), rolesOf(after)
	for _, role := range app.ModelRoles() {
		if !sameModel(a[role], b[role]) {
			list = append(list, Changed{Role: role, From: a[role], To: b[role]})
		}
	}
	return list
}

func sameModel(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
