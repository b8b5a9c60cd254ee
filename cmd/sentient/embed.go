package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sentient/actors/msg"
	"sentient/runtime/app"
	"sentient/runtime/vec"
	"sentient/transport/embed"
	"sentient/transport/llm"
)

// embeddingFiles are where the built-in embedding model may be: beside the program, where `make build` puts it, or in the data folder.
func embeddingFiles(home app.Home) []string {
	var list []string
	if program, err := os.Executable(); err == nil {
		list = append(list, filepath.Join(filepath.Dir(program), "models", embed.FileName))
	}
	return append(list, filepath.Join(home.Models(), embed.FileName))
}

// openEmbedding makes the built-in embedding model ready to be loaded when somebody needs it.
func (e *engine) openEmbedding() error {
	var err error
	if e.embedder, err = embed.New(embed.Options{Paths: embeddingFiles(e.home), Logger: e.log}); err != nil {
		return err
	}
	e.later("embeddings", func(context.Context) error { return e.embedder.Close() })
	e.near = newNearness(e.embedder)
	return nil
}

func checkEmbedding(home app.Home) finding {
	m, err := embed.New(embed.Options{Paths: embeddingFiles(home)})
	if err == nil {
		err = m.Available()
	}
	if err != nil {
		return said("note", err.Error()+" Search by meaning needs it, or another embedding model.")
	}
	return said("ok", "The built-in embedding model is installed: search by meaning works without another one.")
}

// TestEmbedding queues like any call a person waits for.
func (m modelRoutes) TestEmbedding(ctx context.Context, model string) (any, error) {
	var result llm.EmbeddingTest
	err := m.try(ctx, msg.ModelRequest{Model: model, Role: "embedding"}, func(ctx context.Context, err error) {
		if err != nil {
			result = llm.EmbeddingTest{Error: err.Error()}
			return
		}
		result = m.c.TestEmbedding(ctx, model)
	})
	return result, err
}

// A turn waits this long for the nearness of its tools, and goes without it then: the first token comes first.
const (
	nearWait  = time.Millisecond
	nearKnown = 1024 // descriptions of which the vectors are kept
)

var errNotNear = errors.New("the nearness of the tools is not known in time")

// nearness compares a message with the descriptions of the plugins, by the built-in embedding model: it asks nobody, costs nothing
// and keeps nothing of the message. The vectors of descriptions are kept; a description that is new is embedded in the background,
// and until then there is no nearness.
type nearness struct {
	model interface {
		Embed(ctx context.Context, texts []string) ([][]float32, error)
	}
	asks chan nearAsk

	mu    sync.Mutex
	known map[string][]float32
}

type nearAsk struct {
	message string   // "" when only the descriptions are wanted
	missing []string // descriptions without a vector
	answer  chan []float32
}

func newNearness(m *embed.Model) *nearness {
	return &nearness{model: m, asks: make(chan nearAsk, 1), known: map[string][]float32{}}
}

// similarity is tool.Selection's: the cosine of the message and each description, 0 to 1.
func (n *nearness) similarity(message string, plugins []string) ([]float64, error) {
	vectors, missing := n.lookUp(plugins)
	ask := nearAsk{missing: missing, answer: make(chan []float32, 1)}
	if len(missing) == 0 {
		ask.message = message
	}
	select {
	case n.asks <- ask:
	default:
		return nil, errNotNear // still busy with another turn's
	}
	if len(missing) > 0 {
		return nil, errNotNear
	}
	late := time.NewTimer(nearWait)
	defer late.Stop()
	select {
	case m := <-ask.answer:
		if m == nil {
			return nil, errNotNear
		}
		out := make([]float64, len(vectors))
		for i, v := range vectors {
			out[i] = float64(max(0, vec.Cosine(m, v)))
		}
		return out, nil
	case <-late.C:
		return nil, errNotNear
	}
}

func (n *nearness) lookUp(plugins []string) (vectors [][]float32, missing []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range plugins {
		v, ok := n.known[p]
		if !ok {
			missing = append(missing, p)
		}
		vectors = append(vectors, v)
	}
	return vectors, missing
}

// serve computes until ctx ends. A model that cannot be used leaves every turn without nearness.
func (n *nearness) serve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case ask := <-n.asks:
			n.learn(ctx, ask.missing)
			var v []float32
			if ask.message != "" {
				if got, err := n.model.Embed(ctx, []string{ask.message}); err == nil {
					v = got[0]
				}
			}
			ask.answer <- v
		}
	}
}

func (n *nearness) learn(ctx context.Context, texts []string) {
	if len(texts) == 0 {
		return
	}
	vectors, err := n.model.Embed(ctx, texts)
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known)+len(texts) > nearKnown {
		clear(n.known)
	}
	for i, t := range texts {
		n.known[t] = vectors[i]
	}
}
