package llmtest

import (
	"encoding/json"
	"io"
	"net/http"
)

// Loaded is a model that the server claims to hold in memory (Ollama's GET /api/ps).
type Loaded struct {
	Name           string
	Size, SizeVRAM int64
	Context        int // tokens
}

// PullLine is one line of a scripted download (Ollama's POST /api/pull).
type PullLine struct {
	Status           string
	Digest           string
	Completed, Total int64
	Error            string
	Stall            bool // say nothing more until the client goes
	Cut              bool // close the connection in the middle
}

// SetLoaded replaces what is in memory.
func (s *Server) SetLoaded(models ...Loaded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.Loaded = models
}

// SetModels replaces the models the server claims to have.
func (s *Server) SetModels(models ...Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.Models = models
}

// Pulls are the names that were asked to be downloaded, in order.
func (s *Server) Pulls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.pulls...)
}

func (s *Server) claimed() []Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.o.Models
}

func (s *Server) ps(w http.ResponseWriter) {
	s.mu.Lock()
	loaded := s.o.Loaded
	s.mu.Unlock()
	list := []any{}
	for _, m := range loaded {
		list = append(list, map[string]any{"name": m.Name, "model": m.Name, "size": m.Size, "size_vram": m.SizeVRAM, "context_length": m.Context,
			"digest": "sha256:test", "expires_at": "2026-01-01T00:05:00Z", "details": map[string]any{"format": "gguf"}})
	}
	writeJSON(w, map[string]any{"models": list})
}

// pull plays the script, or a download of two steps. A whole one leaves the model among those that are downloaded.
func (s *Server) pull(w http.ResponseWriter, r *http.Request) {
	var ask struct{ Model, Name string }
	_ = json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&ask) // an unreadable question names no model
	if ask.Model == "" {
		ask.Model = ask.Name
	}
	s.mu.Lock()
	s.pulls = append(s.pulls, ask.Model)
	lines := s.o.Pull
	s.mu.Unlock()
	if lines == nil {
		lines = []PullLine{{Status: "pulling manifest"}, {Status: "pulling aaaa", Digest: "sha256:aaaa", Total: 1000}, {Status: "pulling aaaa", Digest: "sha256:aaaa", Completed: 1000, Total: 1000},
			{Status: "verifying sha256 digest"}, {Status: "success"}}
	}
	out := &stream{w: w, rc: http.NewResponseController(w), done: r.Context().Done()}
	if out.begin("application/x-ndjson") != nil {
		return
	}
	for _, l := range lines {
		switch {
		case l.Stall:
			<-out.done
			return
		case l.Cut:
			out.cut()
			return
		}
		if out.send(l.json()+"\n") != nil || l.Error != "" {
			return
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.Models = append(append([]Model{}, s.o.Models...), Model{Name: ask.Model, Size: 1000, Family: "pulled", Context: 8192})
}

func (l PullLine) json() string {
	if l.Error != "" {
		return `{"error":` + quote(l.Error) + `}`
	}
	m := map[string]any{"status": l.Status}
	if l.Total > 0 {
		m["digest"], m["total"] = l.Digest, l.Total
	}
	if l.Completed > 0 {
		m["completed"] = l.Completed
	}
	b, _ := json.Marshal(m) // text and numbers always can
	return string(b)
}
