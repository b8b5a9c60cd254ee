package llmtest

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Model is a model the server claims to have.
type Model struct {
	Name         string
	Size         int64
	Family       string
	Parameters   string
	Context      int // tokens
	Capabilities []string
}

// Options configure a Server. The zero value listens on a free port of 127.0.0.1 and says "Hello there." to everyone.
type Options struct {
	Listener net.Listener // nil means TCP; see NewPipe
	URL      string       // what URL returns; "" means the listener's address
	Script   func(Request) Reply
	Load     *Load // used when there is no Script and nothing is queued
	Models   []Model
	Loaded   []Loaded   // Ollama: what is in memory
	Pull     []PullLine // Ollama: what a download says; nil: that it went well
	Key      string     // when set, another key is refused as the protocol refuses it
	Dim      int        // numbers of an embedding; 0: 8
	Forget   bool       // do not keep requests: for load runs
	Gone     func()     // called at once when a client leaves in the middle of a reply of Load
}

// Server is a running model server. Close it.
type Server struct {
	o        Options
	http     *http.Server
	url      string
	served   chan struct{}
	started  atomic.Int64
	finished atomic.Int64

	mu       sync.Mutex
	queue    []Reply
	requests []Request
	embeds   []EmbedRequest
	pulls    []string
}

// New starts a server.
func New(o Options) (*Server, error) {
	if o.Listener == nil {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		o.Listener = l
	}
	if o.Models == nil {
		o.Models = []Model{{Name: "qwen3:8b", Size: 5_200_000_000, Family: "qwen3", Parameters: "8.2B", Context: 40960, Capabilities: []string{"completion", "tools", "thinking"}}}
	}
	s := &Server{o: o, url: o.URL, served: make(chan struct{})}
	if s.url == "" {
		s.url = "http://" + o.Listener.Addr().String()
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(o.Listener) // ends with Close
	}()
	return s, nil
}

// URL is the server's address, without a path. OpenAI clients add /v1.
func (s *Server) URL() string { return s.url }

// Close ends every stream and waits for the listener.
func (s *Server) Close() {
	_ = s.http.Close() // the listener may be closed already
	<-s.served
}

// Enqueue gives the replies to the next requests, before Script and Load.
func (s *Server) Enqueue(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// Requests are the model calls so far, in the order they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request{}, s.requests...)
}

// Counts are the streams begun and those that ended whole.
func (s *Server) Counts() (started, finished int64) { return s.started.Load(), s.finished.Load() }

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/chat/completions"):
		s.chat(w, r, "openai")
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/messages"):
		s.chat(w, r, "anthropic")
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/api/chat"):
		s.chat(w, r, "ollama")
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/embeddings"):
		s.embed(w, r, "openai")
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/api/embed"):
		s.embed(w, r, "ollama")
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/api/show"):
		s.show(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/api/pull"):
		s.pull(w, r)
	case strings.HasSuffix(path, "/api/ps"):
		s.ps(w)
	case strings.HasSuffix(path, "/api/tags"):
		s.tags(w)
	case strings.HasSuffix(path, "/models"), strings.HasSuffix(path, "/key"):
		s.models(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request, protocol string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	req := parse(protocol, r.Header, body)
	if !s.o.Forget {
		s.mu.Lock()
		s.requests = append(s.requests, req)
		s.mu.Unlock()
	}
	if !s.allowed(r) {
		refuse(w, protocol)
		return
	}
	s.started.Add(1)
	reply, load := s.next(req)
	if reply.Status != 0 {
		answer(w, reply)
		return
	}
	out := &stream{w: w, rc: http.NewResponseController(w), done: r.Context().Done()}
	p := newSpeaker(protocol, out, req)
	if load != nil {
		if err = s.load(p, out, load); errors.Is(err, errGone) && s.o.Gone != nil {
			s.o.Gone()
		}
	} else {
		err = play(p, out, reply)
	}
	if err == nil {
		s.finished.Add(1)
	}
}

func (s *Server) next(req Request) (Reply, *Load) {
	s.mu.Lock()
	if len(s.queue) > 0 {
		r := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		return r, nil
	}
	s.mu.Unlock()
	if s.o.Script != nil {
		return s.o.Script(req), nil
	}
	if s.o.Load != nil {
		return Reply{}, s.o.Load
	}
	return Text("Hello there."), nil
}

func (s *Server) allowed(r *http.Request) bool {
	if s.o.Key == "" {
		return true
	}
	return r.Header.Get("x-api-key") == s.o.Key || r.Header.Get("Authorization") == "Bearer "+s.o.Key
}

func refuse(w http.ResponseWriter, protocol string) {
	body := `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`
	if protocol == "anthropic" {
		body = `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_test"}`
	}
	answer(w, Fail(http.StatusUnauthorized, body))
}

func answer(w http.ResponseWriter, r Reply) {
	w.Header().Set("Content-Type", "application/json")
	for k, v := range r.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(r.Status)
	_, _ = io.WriteString(w, r.Body) // the client may be gone
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

func (s *Server) tags(w http.ResponseWriter) {
	list := []any{}
	for _, m := range s.claimed() {
		list = append(list, map[string]any{"name": m.Name, "model": m.Name, "size": m.Size, "digest": "sha256:test",
			"details": map[string]any{"format": "gguf", "family": m.Family, "parameter_size": m.Parameters}})
	}
	writeJSON(w, map[string]any{"models": list})
}

func (s *Server) show(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Model string `json:"model"`
		Name  string `json:"name"`
	}
	_ = json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&ask) // an unreadable question names no model
	for _, m := range s.claimed() {
		if m.Name == ask.Model || m.Name == ask.Name {
			writeJSON(w, map[string]any{"capabilities": m.Capabilities, "details": map[string]any{"family": m.Family, "parameter_size": m.Parameters},
				"model_info": map[string]any{"general.architecture": m.Family, m.Family + ".context_length": m.Context}})
			return
		}
	}
	answer(w, Fail(http.StatusNotFound, `{"error":"model '`+ask.Model+`' not found"}`))
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	anthropic := r.Header.Get("anthropic-version") != ""
	if !s.allowed(r) {
		refuse(w, map[bool]string{true: "anthropic", false: "openai"}[anthropic])
		return
	}
	list := []any{}
	for _, m := range s.claimed() {
		if anthropic {
			list = append(list, map[string]any{"type": "model", "id": m.Name, "display_name": m.Name, "created_at": "2026-01-01T00:00:00Z"})
			continue
		}
		list = append(list, map[string]any{"id": m.Name, "object": "model", "created": 1767225600, "owned_by": "test"})
	}
	writeJSON(w, map[string]any{"object": "list", "data": list, "has_more": false})
}
