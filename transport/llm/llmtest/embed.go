package llmtest

import (
	"encoding/json"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
)

// defaultDim is how many numbers a vector has.
const defaultDim = 8

// EmbedRequest is a request for vectors.
type EmbedRequest struct {
	Protocol string // openai, ollama
	Model    string
	Texts    []string
	Header   http.Header
}

// Embeds are the requests for vectors so far, in the order they came.
func (s *Server) Embeds() []EmbedRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]EmbedRequest{}, s.embeds...)
}

// Vector is what the server makes of a text: always the same, and different for different texts.
func Vector(text string, dim int) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	out := make([]float32, dim)
	for i := range out {
		out[i] = r.Float32()*2 - 1
	}
	return out
}

// embed answers with a vector for each text; a queued reply with a Status is sent instead.
func (s *Server) embed(w http.ResponseWriter, r *http.Request, protocol string) {
	var ask struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}
	if json.NewDecoder(io.LimitReader(r.Body, 64<<20)).Decode(&ask) != nil || len(ask.Input) == 0 {
		answer(w, Fail(http.StatusBadRequest, `{"error":{"message":"'$.input' is invalid.","type":"invalid_request_error"}}`))
		return
	}
	s.mu.Lock()
	s.embeds = append(s.embeds, EmbedRequest{protocol, ask.Model, ask.Input, r.Header})
	var queued *Reply
	if len(s.queue) > 0 && s.queue[0].Status != 0 {
		queued = &s.queue[0]
		s.queue = s.queue[1:]
	}
	s.mu.Unlock()
	switch {
	case !s.allowed(r):
		refuse(w, protocol)
	case queued != nil:
		answer(w, *queued)
	case protocol == "ollama":
		vectors := [][]float32{}
		for _, t := range ask.Input {
			vectors = append(vectors, Vector(t, s.dim()))
		}
		writeJSON(w, map[string]any{"model": ask.Model, "embeddings": vectors, "total_duration": 14143917, "prompt_eval_count": 3 * len(ask.Input)})
	default:
		data := []any{}
		for i, t := range ask.Input {
			data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": Vector(t, s.dim())})
		}
		tokens := 3 * len(ask.Input)
		writeJSON(w, map[string]any{"object": "list", "data": data, "model": ask.Model, "usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens}})
	}
}

func (s *Server) dim() int {
	if s.o.Dim == 0 {
		return defaultDim
	}
	return s.o.Dim
}
