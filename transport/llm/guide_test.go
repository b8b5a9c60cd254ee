package llm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sentient/actors/msg"
)

var guideTools = []msg.ToolSchema{{Name: "current_datetime"}, {Name: "file_list"}, {Name: "file_write"}, {Name: "file_read"}}

func guideAsk(t *testing.T, tools []msg.ToolSchema, messages ...msg.ModelMessage) msg.ModelResult {
	t.Helper()
	c, err := New(Options{Guide: NewGuide(GuideOptions{Pace: -1})})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var streamed strings.Builder
	res, err := c.Stream(t.Context(), msg.ModelRequest{Model: GuideModel, Tools: tools, Messages: messages}, func(c msg.ModelChunk) error {
		streamed.WriteString(c.Text)
		return nil
	})
	if err != nil || streamed.String() != res.Text || res.Text == "" {
		t.Fatalf("%q streamed, %q, %v", streamed.String(), res.Text, err)
	}
	return res
}

func says(role, text string) msg.ModelMessage {
	return msg.ModelMessage{Role: role, Parts: msg.TextPart(text)}
}

func TestGuideAnswers(t *testing.T) {
	for asked, want := range map[string]string{
		"Hello!":                                 "script and not an AI",
		"Who are you?":                           "I'm not an AI",
		"What can you do?":                       "personal assistant that runs on your own computer",
		"How do I connect a model?":              "three ways",
		"tell me about Ollama":                   "ollama.com",
		"how does LM Studio work with this?":     "http://localhost:1234",
		"Where do I paste my API key?":           "keychain",
		"is my data private?":                    "Local only",
		"What are approvals?":                    "asks",
		"How do I stop everything?":              "Resume",
		"can I attach a PDF":                     "PDF",
		"Write me a sonnet about quantum foam":   "not an AI",
		"":                                       "not an AI",
		"thank you":                              "welcome",
		"What's the capital of France?":          "can't answer that",
		strings.Repeat("long ", 100_000) + "end": "can't answer that",
	} {
		if res := guideAsk(t, guideTools, says("user", asked)); !strings.Contains(res.Text, want) || len(res.Calls) != 0 || res.Stop != "stop" {
			t.Errorf("%.60q: %q %v", asked, res.Text, res.Calls)
		}
	}
}

func TestGuideCallsTools(t *testing.T) {
	for asked, want := range map[string]string{
		"What time is it?":                     `current_datetime {}`,
		"please list my files":                 `file_list {}`,
		"Save a note: buy milk":                `file_write {"content":"buy milk","name":"note.md"}`,
		"write a note that says \"call Ann\"":  `file_write {"content":"call Ann","name":"note.md"}`,
		"Write a note named todo.txt saying a": `file_write {"content":"a","name":"todo.txt"}`,
		"Can you read todo.txt?":               `file_read {"name":"todo.txt"}`,
	} {
		res := guideAsk(t, guideTools, says("user", "hi"), says("assistant", "Hello"), says("user", asked))
		if len(res.Calls) != 1 || res.Calls[0].Name+" "+res.Calls[0].Arguments != want || res.Stop != "tool_calls" || res.Calls[0].ID == "" {
			t.Errorf("%q: %+v %q", asked, res.Calls, res.Text)
		}
		if res := guideAsk(t, nil, says("user", asked)); len(res.Calls) != 0 || !strings.Contains(res.Text, "not offered") {
			t.Errorf("%q without tools: %+v %q", asked, res.Calls, res.Text)
		}
	}
	if res := guideAsk(t, guideTools, says("user", "Save a note")); len(res.Calls) != 0 || !strings.Contains(res.Text, "What should the note say") {
		t.Errorf("%+v", res)
	}
}

func TestGuideReadsResults(t *testing.T) {
	for _, c := range []struct{ tool, result, want string }{
		{"current_datetime", `{"iso":"2026-03-04T09:15:00+01:00","date":"2026-03-04","time":"09:15","weekday":"Wednesday","timezone":"Europe/Berlin"}`, "It is 09:15 (Europe/Berlin) on Wednesday, 2026-03-04."},
		{"file_list", `[{"name":"a.md","bytes":3},{"name":"b.txt","bytes":4}]`, "- a.md\n- b.txt"},
		{"file_list", `{"files":[]}`, "empty"},
		{"file_write", `{"saved":true,"path":"note.md","bytes":8}`, "I saved note.md"},
		{"file_write", `{"error":"The user declined.","declined":true}`, "Nothing was changed"},
		{"file_read", `{"name":"a.md","content":"buy milk"}`, "buy milk"},
		{"file_read", `{"error":"not found"}`, "not found"},
		{"other", `plain words`, "plain words"},
		{"current_datetime", `null`, "The clock says: null"},
	} {
		call := msg.ToolCall{ID: "c", Name: c.tool, Arguments: "{}"}
		res := guideAsk(t, guideTools, says("user", "what time is it"), msg.ModelMessage{Role: "assistant", ToolCalls: []msg.ToolCall{call}},
			msg.ModelMessage{Role: "tool", ToolCallID: "c", Name: c.tool, Parts: msg.TextPart(c.result)})
		if !strings.Contains(res.Text, c.want) || len(res.Calls) != 0 {
			t.Errorf("%s %s: %q %v", c.tool, c.result, res.Text, res.Calls)
		}
	}
}

func TestGuideStreamsAWordAtATimeAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGuide(GuideOptions{})
		req := msg.ModelRequest{Model: GuideModel, Messages: []msg.ModelMessage{says("user", "hello")}}
		began, words := time.Now(), 0
		res, err := g.Stream(t.Context(), req, func(msg.ModelChunk) error { words++; return nil })
		if err != nil || words != len(strings.Fields(res.Text)) || time.Since(began) < time.Duration(words-1)*7*time.Millisecond {
			t.Errorf("%d words in %v, %v", words, time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		part, err := g.Stream(ctx, req, nil)
		e := faultOf(t, err)
		if e.Fault != msg.FaultCancelled || !e.Said || part.Text == "" || !strings.HasPrefix(res.Text, part.Text) || len(part.Text) == len(res.Text) {
			t.Errorf("%+v %q", e, part.Text)
		}
		if _, err := g.Stream(t.Context(), req, func(msg.ModelChunk) error { return errors.New("full") }); faultOf(t, err).Fault != msg.FaultCancelled {
			t.Error(err)
		}
	})
}

func TestGuideMakesNothingUp(t *testing.T) {
	g := NewGuide(GuideOptions{Pace: -1})
	res, _ := g.Stream(t.Context(), msg.ModelRequest{JSON: true, Messages: []msg.ModelMessage{says("user", "facts?")}}, nil)
	if !json.Valid([]byte(res.Text)) || res.Text != "{}" {
		t.Errorf("%q", res.Text)
	}
	res, _ = g.Stream(t.Context(), msg.ModelRequest{Job: "titles", Messages: []msg.ModelMessage{says("user", "how do I connect a model to this thing")}}, nil)
	if res.Text != "how do I connect a model" {
		t.Errorf("%q", res.Text)
	}
}

func FuzzGuide(f *testing.F) {
	f.Add("save a note: x", `{"files":[{"name":1}]}`, "file_list")
	f.Add("write a note named .txt", `[[]]`, "file_write")
	f.Fuzz(func(t *testing.T, asked, result, tool string) {
		g := NewGuide(GuideOptions{Pace: -1})
		for _, m := range [][]msg.ModelMessage{{says("user", asked)}, {says("user", asked), {Role: "tool", Name: tool, Parts: msg.TextPart(result)}}} {
			res, err := g.Stream(t.Context(), msg.ModelRequest{Tools: guideTools, Messages: m}, nil)
			if err != nil || res.Text == "" {
				t.Fatalf("%q %v", res.Text, err)
			}
			for _, c := range res.Calls {
				if !json.Valid([]byte(c.Arguments)) {
					t.Fatal(c.Arguments)
				}
			}
		}
	})
}
