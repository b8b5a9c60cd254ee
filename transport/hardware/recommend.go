package hardware

import (
	"strconv"
	"strings"

	"sentient/actors/msg"
)

// tier is one row of the table of local models: the first whose memory the computer has is the recommendation. The thresholds lie
// a little under the nominal sizes, because a card of 8 GB shows less than that.
type tier struct {
	name    string
	vram    float64 // GiB on a usable card; 0: not asked for
	ram     float64 // GiB; 0: not asked for
	model   string  // as Ollama names it
	context int     // tokens
	runsOn  string
	note    string
	cloud   bool
}

const (
	fits     = "Fits on the graphics card, so replies stay quick."
	slow     = "Runs on the processor, which is slow. A cloud model answers faster."
	chatOnly = "This computer has too little memory for a local model that can use tools. Connect a cloud model; qwen3:4b is for plain chat only."
	unread   = "What this computer can run could not be read, so this is the usual choice. If it is slow, pick a smaller model or a cloud model."
)

var tiers = []tier{
	{name: "gpu_24", vram: 22, model: "qwen3:30b", context: 16384, runsOn: "graphics", note: fits},
	{name: "gpu_16", vram: 15, model: "qwen3:14b", context: 16384, runsOn: "graphics", note: fits},
	{name: "gpu_12", vram: 11, model: "qwen3:8b", context: 16384, runsOn: "graphics", note: fits},
	{name: "gpu_8", vram: 7, model: "qwen3:8b", context: 8192, runsOn: "graphics", note: fits},
	{name: "ram_8", ram: 7, model: "qwen3:8b", context: 8192, runsOn: "processor", note: slow},
	{name: "small", model: "qwen3:4b", context: 8192, runsOn: "processor", note: chatOnly, cloud: true},
}

// Recommend picks the first row of the table that the computer meets. Nil is what could not be read; when that is
// everything, it is the setup a fresh start has.
func Recommend(vramGB, ramGB *float64) msg.Recommendation {
	if vramGB == nil && ramGB == nil {
		return (tier{name: "unknown", model: "qwen3:8b", context: 8192, runsOn: "unknown", note: unread}).recommendation()
	}
	for _, t := range tiers {
		if meets(vramGB, t.vram) && meets(ramGB, t.ram) {
			return t.recommendation()
		}
	}
	return tiers[len(tiers)-1].recommendation() // not reached: the last row asks for nothing
}

func meets(have *float64, need float64) bool { return need == 0 || have != nil && *have >= need }

func (t tier) recommendation() msg.Recommendation {
	r := msg.Recommendation{Tier: t.name, Model: "ollama_chat/" + t.model, Name: t.model, ContextLength: t.context, RunsOn: t.runsOn, CloudFirst: t.cloud,
		Summary: t.model + ", reading " + thousands(t.context) + " tokens at a time", Note: t.note}
	if t.cloud {
		r.Summary = "A cloud model; " + t.model + " for plain chat only"
		return r // nobody is offered a second local model where the first hardly fits
	}
	r.MultilingualEmbedding = &msg.SuggestedSize{Model: "ollama/bge-m3", Name: "bge-m3", Size: "1.2 GB",
		Note: "If you write to Sentient in Hindi or another language besides English, this model finds your memories better."}
	return r
}

// thousands writes 8192 as 8,192.
func thousands(n int) string {
	s := strconv.Itoa(n)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}
