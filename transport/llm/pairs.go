package llm

import (
	"crypto/sha256"
	"net/http"
	"strings"

	"sentient/actors/msg"
)

// pairUp makes a conversation one that every provider accepts: each tool call has its result right behind it, and no result is
// without its call. What a crash or a cut history left open is filled in; a stray result becomes words.
func pairUp(in []msg.ModelMessage) []msg.ModelMessage {
	if paired(in) {
		return in
	}
	out := make([]msg.ModelMessage, 0, len(in))
	for i := 0; i < len(in); i++ {
		m := in[i]
		if m.Role == "tool" {
			out = append(out, strayResult(m))
			continue
		}
		out = append(out, m)
		if m.Role != "assistant" || len(m.ToolCalls) == 0 {
			continue
		}
		results := map[string]msg.ModelMessage{}
		var strays []msg.ModelMessage
		for i+1 < len(in) && in[i+1].Role == "tool" {
			i++
			if _, twice := results[in[i].ToolCallID]; twice || !asked(m, in[i].ToolCallID) {
				strays = append(strays, strayResult(in[i]))
				continue
			}
			results[in[i].ToolCallID] = in[i]
		}
		for _, call := range m.ToolCalls {
			r, ok := results[call.ID]
			if !ok {
				r = msg.ModelMessage{Role: "tool", ToolCallID: call.ID, Name: call.Name, IsError: true, Parts: msg.TextPart("No result was recorded.")}
			}
			out = append(out, r)
		}
		out = append(out, strays...)
	}
	return out
}

func paired(in []msg.ModelMessage) bool {
	var open []msg.ToolCall
	for _, m := range in {
		if m.Role == "tool" {
			if len(open) == 0 || open[0].ID != m.ToolCallID {
				return false
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return false
		}
		if m.Role == "assistant" {
			open = m.ToolCalls
		}
	}
	return len(open) == 0
}

func asked(m msg.ModelMessage, id string) bool {
	for _, c := range m.ToolCalls {
		if c.ID == id {
			return true
		}
	}
	return false
}

func strayResult(m msg.ModelMessage) msg.ModelMessage {
	parts := append([]msg.ModelPart{{Text: "[Result of an earlier " + m.Name + " call]"}}, m.Parts...)
	return msg.ModelMessage{Role: "user", Parts: parts}
}

// textOf joins the text parts of a message.
func textOf(parts []msg.ModelPart) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var texts []string
	for _, p := range parts {
		if p.Text != "" && len(p.Image) == 0 {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func imagesOf(parts []msg.ModelPart) []msg.ModelPart {
	var out []msg.ModelPart
	for _, p := range parts {
		if len(p.Image) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func mimeOf(p msg.ModelPart) string {
	if p.MIME != "" {
		return p.MIME
	}
	t := http.DetectContentType(p.Image)
	if !strings.HasPrefix(t, "image/") {
		return "image/png"
	}
	return t
}

// nineLetters makes an id as Mistral wants it; the same id gives the same letters.
func nineLetters(id string) string {
	const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	sum := sha256.Sum256([]byte(id))
	var b [9]byte
	for i := range b {
		b[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(b[:])
}

// plainID keeps an id of letters, digits, - and _ as it is (Anthropic accepts no other) and hashes the rest.
func plainID(id string) string {
	ok := id != "" && len(id) <= 64
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if ok {
		return id
	}
	return "call_" + nineLetters(id)
}

// wantsJSON is what is added to the system prompt where a protocol has no JSON mode, or needs the word.
const wantsJSON = "Answer with one JSON value and nothing else."

func systemWithJSON(req msg.ModelRequest) string {
	if !req.JSON {
		return req.System
	}
	if req.System == "" {
		return wantsJSON
	}
	return req.System + "\n\n" + wantsJSON
}

var emptySchema = []byte(`{"type":"object","properties":{}}`)

func schemaOf(t msg.ToolSchema) []byte {
	if len(t.Parameters) == 0 {
		return emptySchema
	}
	return t.Parameters
}
