package session

import (
	"strings"
	"testing"

	"sentient/actors/agent"
	"sentient/actors/tool"
	pb "sentient/proto/session"
	"sentient/runtime/app"
)

// The nearness of tools is asked with the person's newest words.
func TestSimilarityIsAskedForTheMessage(t *testing.T) {
	var asked string
	o := &Options{Registry: func() *tool.Registry { return &tool.Registry{} }, Similarity: func(message string, _ []string) ([]float64, error) {
		asked = message
		return nil, nil
	}}
	p := planner{Options: o, cfg: app.Default()}
	in := p.selection([]*pb.MessageRow{{Role: "user", Content: "old"}, {Role: "assistant", Content: "yes"}, {Role: "user", Content: "new words"}}, agent.Choice{})
	if _, err := in.Similarity(in.Text, nil); err != nil || !strings.Contains(asked, "new words") {
		t.Errorf("%q %v", asked, err)
	}
}
