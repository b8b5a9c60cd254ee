package tool

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sentient/actors/msg"
)

// schema is the part of JSON Schema that tools use. Keywords it does not know are ignored: a tool's own checks and, for
// foreign tools, their server have the last word.
type schema struct {
	Type         typeList           `json:"type"`
	Properties   map[string]*schema `json:"properties"`
	Required     []string           `json:"required"`
	Additional   *additional        `json:"additionalProperties"`
	Enum         []any              `json:"enum"`
	Const        *any               `json:"const"`
	Default      *any               `json:"default"`
	Items        *schema            `json:"items"`
	MinItems     *int               `json:"minItems"`
	MaxItems     *int               `json:"maxItems"`
	Minimum      *float64           `json:"minimum"`
	Maximum      *float64           `json:"maximum"`
	ExclusiveMin *float64           `json:"exclusiveMinimum"`
	ExclusiveMax *float64           `json:"exclusiveMaximum"`
	MinLength    *int               `json:"minLength"`
	MaxLength    *int               `json:"maxLength"`
	AnyOf        []*schema          `json:"anyOf"`
	OneOf        []*schema          `json:"oneOf"`
	AllOf        []*schema          `json:"allOf"`
	Ref          string             `json:"$ref"`
	Defs         map[string]*schema `json:"$defs"`
	Definitions  map[string]*schema `json:"definitions"`

	never bool // the schema "false"
}

// UnmarshalJSON accepts the boolean schemas too.
func (s *schema) UnmarshalJSON(b []byte) error {
	switch strings.TrimSpace(string(b)) {
	case "true":
		return nil
	case "false":
		s.never = true
		return nil
	}
	type plain schema
	return json.Unmarshal(b, (*plain)(s))
}

// typeList is one type or several.
type typeList []string

func (t *typeList) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = typeList{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// additional is additionalProperties: yes, no or a schema.
type additional struct{ schema }

func (a *additional) UnmarshalJSON(b []byte) error { return a.schema.UnmarshalJSON(b) }

// parseSchema reads a tool's schema. One that cannot be read (a foreign tool's, of another draft) allows any object.
func parseSchema(raw json.RawMessage) *schema {
	s := &schema{}
	if len(raw) == 0 || json.Unmarshal(raw, s) != nil {
		return &schema{}
	}
	return s
}

const (
	maxProblems = 5  // what a model is told of at once
	maxDepth    = 64 // of references and nesting: a schema may refer to itself
	maxSteps    = 100_000
)

// checker collects what is wrong with a value and fills in defaults.
type checker struct {
	root     *schema
	problems []string
	steps    *int // what is left: alternatives that refer to themselves would double at every level
}

func newChecker(root *schema) *checker {
	steps := maxSteps
	return &checker{root: root, steps: &steps}
}

func (c *checker) problem(at, text string) {
	if len(c.problems) < maxProblems {
		if at != "" {
			text = at + ": " + text
		}
		c.problems = append(c.problems, text)
	}
}

// value checks v against s and gives it with defaults filled and lossless conversions made.
func (c *checker) value(s *schema, v any, at string, depth int) any {
	if s == nil || depth > maxDepth {
		return v
	}
	if *c.steps--; *c.steps < 0 {
		c.problem("", "they are too complicated to check")
		return v
	}
	if s.never {
		c.problem(at, "is not allowed")
		return v
	}
	if s.Ref != "" {
		v = c.value(c.resolve(s.Ref), v, at, depth+1)
	}
	if v = convert(s.Type, v); !s.Type.allows(v) {
		c.problem(at, "must be "+s.Type.words())
		return v
	}
	c.choices(s, v, at)
	v = c.alternatives(s, v, at, depth)
	switch x := v.(type) {
	case map[string]any:
		c.object(s, x, at, depth)
	case []any:
		c.array(s, x, at, depth)
	case string:
		c.text(s, x, at)
	case float64:
		c.number(s, x, at)
	}
	return v
}

func (c *checker) resolve(ref string) *schema {
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
		return c.root.Defs[name]
	}
	if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		return c.root.Definitions[name]
	}
	if ref == "#" {
		return c.root
	}
	return nil
}

func (c *checker) choices(s *schema, v any, at string) {
	if s.Const != nil && !reflect.DeepEqual(*s.Const, v) {
		c.problem(at, "must be "+CompactJSON(*s.Const))
	}
	if len(s.Enum) == 0 || slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return
	}
	words := make([]string, 0, len(s.Enum))
	for _, e := range s.Enum {
		words = append(words, CompactJSON(e))
	}
	c.problem(at, "must be one of "+msg.Clip(strings.Join(words, ", "), 300))
}

// alternatives checks allOf, anyOf and oneOf; the latter two take the first that fits.
func (c *checker) alternatives(s *schema, v any, at string, depth int) any {
	for _, sub := range s.AllOf {
		v = c.value(sub, v, at, depth+1)
	}
	for _, group := range [][]*schema{s.AnyOf, s.OneOf} {
		var first []string
		fits := len(group) == 0
		for _, sub := range group {
			try := checker{root: c.root, steps: c.steps}
			got := try.value(sub, v, at, depth+1)
			if len(try.problems) == 0 {
				v, fits = got, true
				break
			}
			if first == nil {
				first = try.problems
			}
		}
		if !fits {
			c.problem("", first[0])
		}
	}
	return v
}

func (c *checker) object(s *schema, v map[string]any, at string, depth int) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			c.problem(join(at, name), "is required")
		}
	}
	for _, name := range sortedKeys(s.Properties) {
		p := s.Properties[name]
		if got, ok := v[name]; ok {
			v[name] = c.value(p, got, join(at, name), depth+1)
		} else if p != nil && p.Default != nil {
			v[name] = clone(*p.Default)
		}
	}
	if s.Additional == nil {
		return
	}
	for _, name := range sortedKeys(v) {
		if _, known := s.Properties[name]; known {
			continue
		}
		if s.Additional.never {
			c.problem(join(at, name), "is not an argument of this tool")
			continue
		}
		v[name] = c.value(&s.Additional.schema, v[name], join(at, name), depth+1)
	}
}

func (c *checker) array(s *schema, v []any, at string, depth int) {
	if s.MinItems != nil && len(v) < *s.MinItems {
		c.problem(at, fmt.Sprintf("must have at least %d entries", *s.MinItems))
	}
	if s.MaxItems != nil && len(v) > *s.MaxItems {
		c.problem(at, fmt.Sprintf("must have at most %d entries", *s.MaxItems))
	}
	for i := range v {
		v[i] = c.value(s.Items, v[i], fmt.Sprintf("%s[%d]", at, i), depth+1)
	}
}

func (c *checker) text(s *schema, v, at string) {
	n := utf8.RuneCountInString(v)
	if s.MinLength != nil && n < *s.MinLength {
		if n == 0 {
			c.problem(at, "must not be empty")
			return
		}
		c.problem(at, fmt.Sprintf("must have at least %d characters", *s.MinLength))
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		c.problem(at, fmt.Sprintf("must have at most %d characters", *s.MaxLength))
	}
}

func (c *checker) number(s *schema, v float64, at string) {
	for _, b := range []struct {
		bound *float64
		bad   bool
		words string
	}{
		{s.Minimum, s.Minimum != nil && v < *s.Minimum, "must be at least "},
		{s.Maximum, s.Maximum != nil && v > *s.Maximum, "must be at most "},
		{s.ExclusiveMin, s.ExclusiveMin != nil && v <= *s.ExclusiveMin, "must be more than "},
		{s.ExclusiveMax, s.ExclusiveMax != nil && v >= *s.ExclusiveMax, "must be less than "},
	} {
		if b.bad {
			c.problem(at, b.words+strconv.FormatFloat(*b.bound, 'g', -1, 64))
		}
	}
}

func (t typeList) allows(v any) bool {
	if len(t) == 0 {
		return true
	}
	return slices.ContainsFunc(t, func(name string) bool { return isType(name, v) })
}

func isType(name string, v any) bool {
	switch x := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && x == math.Trunc(x)
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}

func (t typeList) words() string {
	words := make([]string, 0, len(t))
	for _, name := range t {
		words = append(words, map[string]string{"null": "null", "boolean": "true or false", "string": "a text", "number": "a number",
			"integer": "a whole number", "array": "a list", "object": "an object"}[name])
	}
	return strings.Join(words, " or ")
}

// convert reads a number or a truth value that a small model wrote as a text. Texts are never made from other things.
func convert(t typeList, v any) any {
	s, ok := v.(string)
	if !ok || t.allows(v) {
		return v
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) && t.allows(f) {
		return f
	}
	if b := strings.ToLower(s); (b == "true" || b == "false") && t.allows(true) {
		return b == "true"
	}
	return v
}

func join(at, name string) string {
	name = msg.Clip(name, 80)
	if at == "" {
		return name
	}
	return at + "." + name
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// clone copies a decoded JSON value, so that a default that a tool changes stays as it was.
func clone(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = clone(e)
		}
		return out
	}
	return v
}
