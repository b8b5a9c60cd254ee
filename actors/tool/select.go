package tool

import (
	"slices"
	"strings"
	"unicode"

	"sentient/actors/msg"
)

// Selection is what choosing a turn's tools depends on. No model is asked.
type Selection struct {
	Text     string   // the person's words
	Model    string   // "provider/model": local models get the smaller budget
	All      bool     // chat.tool_selection is "all"
	MaxLocal int      // chat.max_tools_local; 0: 12
	MaxCloud int      // chat.max_tools_cloud; 0: 64
	Recent   []string // ids of plugins used in the last 12 rows of the chat

	// Skip leaves a tool out of the turn whatever its score (memory tools in a turn without memory, never rules, ...).
	Skip func(Entry) bool
	// Similarity gives, for each text about a plugin, its nearness to the message (cosine, 0 to 1). Nil or an error: no
	// nearness. Whoever gives it keeps the vectors until the plugins or the embedding model change.
	Similarity func(message string, plugins []string) ([]float64, error)
}

const (
	wordScore    = 0.15 // for each shared word, at most 3
	recentScore  = 0.5
	triggerScore = 0.45
	leastScore   = 0.15 // a plugin below it, or below 0.6 of the best, is not offered
	nearBest     = 0.6
	leastCut     = 2 // a plugin is never cut to fewer tools
	embedChars   = 2000
)

// always are offered whenever they are there; folder_search is hidden while no folder is added.
var always = [...]string{"current_datetime", "memory_recall", "memory_remember", "skill_view", "create_task_from_prompt", "folder_search"}

// reader reads outside content for the chat, so it comes along with any tool that brings some.
const reader = "read_with_reader"

// Select gives the names of the tools a turn is offered, in the registry's order: everything while it fits the model's
// budget, else those always there and the plugins that fit the message best.
func (r *Registry) Select(in Selection) []string {
	visible := slices.DeleteFunc(r.Tools(), func(e Entry) bool { return in.Skip != nil && in.Skip(e) })
	budget := in.budget()
	if in.All || len(visible) <= budget {
		return entryNames(visible, nil)
	}
	chosen := map[string]bool{}
	readerThere := false
	for _, e := range visible {
		if slices.Contains(always[:], e.Tool.Name) {
			chosen[e.Tool.Name] = true
		}
		readerThere = readerThere || e.Tool.Name == reader
	}
	if readerThere {
		budget-- // kept for the reader
	}
	fill(chosen, rank(visible, in), budget)
	outside := slices.ContainsFunc(visible, func(e Entry) bool { return chosen[e.Tool.Name] && e.BringsUntrusted() })
	if readerThere && outside {
		chosen[reader] = true
	}
	return entryNames(visible, chosen)
}

func (in Selection) budget() int {
	provider, _, _ := strings.Cut(in.Model, "/")
	switch provider {
	case "ollama", "ollama_chat", "lm_studio", "llamafile", "vllm", "hosted_vllm":
		if in.MaxLocal > 0 {
			return in.MaxLocal
		}
		return 12
	}
	if in.MaxCloud > 0 {
		return in.MaxCloud
	}
	return 64
}

func entryNames(list []Entry, only map[string]bool) []string {
	names := []string{}
	for _, e := range list {
		if only == nil || only[e.Tool.Name] {
			names = append(names, e.Tool.Name)
		}
	}
	return names
}

// ranked is a plugin with the tools a turn may have of it.
type ranked struct {
	plugin *msg.Plugin
	tools  []string
	score  float64
}

// rank gives the plugins worth offering, best first.
func rank(visible []Entry, in Selection) []ranked {
	list := group(visible)
	message := wordSet(in.Text)
	triggers := triggered(in.Text)
	near := nearness(list, in)
	best := 0.0
	for i := range list {
		p := &list[i]
		p.score = near[i] + wordScore*float64(min(3, shared(message, wordSet(about(*p)))))
		if slices.Contains(in.Recent, p.plugin.ID) {
			p.score += recentScore
		}
		if slices.ContainsFunc(p.tools, func(name string) bool {
			return slices.ContainsFunc(triggers, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		}) {
			p.score += triggerScore
		}
		best = max(best, p.score)
	}
	least := max(leastScore, nearBest*best)
	list = slices.DeleteFunc(list, func(p ranked) bool { return p.score < least && !slices.Contains(in.Recent, p.plugin.ID) })
	slices.SortStableFunc(list, func(a, b ranked) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	return list
}

func group(visible []Entry) []ranked {
	var list []ranked
	for _, e := range visible {
		if n := len(list); n == 0 || list[n-1].plugin != e.Plugin {
			list = append(list, ranked{plugin: e.Plugin})
		}
		last := &list[len(list)-1]
		last.tools = append(last.tools, e.Tool.Name)
	}
	return list
}

// fill adds whole plugins while they fit; one that does not is skipped, but the best may be cut to the room there is.
func fill(chosen map[string]bool, list []ranked, budget int) {
	for i, p := range list {
		missing := slices.DeleteFunc(slices.Clone(p.tools), func(name string) bool { return chosen[name] || name == reader })
		room := budget - len(chosen)
		if len(missing) > room {
			if i > 0 || room < leastCut {
				continue
			}
			missing = missing[:room]
		}
		for _, name := range missing {
			chosen[name] = true
		}
	}
}

// about is what a plugin is compared by.
func about(p ranked) string {
	return strings.Join([]string{p.plugin.DisplayName, p.plugin.Description, p.plugin.SelectionHint, strings.Join(p.tools, " ")}, "\n")
}

func nearness(list []ranked, in Selection) []float64 {
	none := make([]float64, len(list))
	if in.Similarity == nil {
		return none
	}
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = about(p)
	}
	near, err := in.Similarity(firstRunes(in.Text, embedChars), texts)
	if err != nil || len(near) != len(list) {
		return none
	}
	return near
}

// wordSet is the words longer than 2 letters, in small letters, without the most common ones.
func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len([]rune(w)) > 2 && !stopWord(w) {
			set[w] = true
		}
	}
	return set
}

func stopWord(w string) bool {
	switch w {
	case "the", "and", "for", "you", "your", "with", "that", "this", "from", "what", "when", "where", "which", "who", "how", "can", "could",
		"are", "was", "were", "will", "would", "have", "has", "had", "not", "but", "all", "any", "its", "about", "into", "please", "use",
		"get", "out", "our", "their", "them", "they", "there", "then", "than", "some", "does", "did", "let", "just", "also":
		return true
	}
	return false
}

func shared(a, b map[string]bool) int {
	n := 0
	for w := range a {
		if b[w] {
			n++
		}
	}
	return n
}

// triggerWords are phrases that ask for a kind of tool, by the prefix of the tools' names.
var triggerWords = [...]struct {
	prefix  string
	phrases []string
}{
	{"browser_", []string{"website", "web site", "web page", "webpage", "browser", "browse", "log in", "login", "sign in", "sign up", "form", "checkout", "url", "click", "http", "https", "www"}},
	{"execute_code", []string{"code", "script", "python", "calculate", "compute", "csv", "spreadsheet", "chart", "plot", "graph", "simulate"}},
	{"device_", []string{"phone", "camera", "photo", "picture", "screenshot", "screen", "glasses", "where am i", "my location", "location"}},
	{"delegate_", []string{"parallel", "in parallel", "research", "compare", "investigate", "helper", "helpers"}},
	{"channel_", []string{"telegram", "discord", "whatsapp", "text me", "message me"}},
	{"terminal_", []string{"terminal", "command line", "git", "npm", "shell", "bash", "command", "run command", "docker"}},
}

// triggered gives the prefixes whose phrases occur in the text as whole words.
func triggered(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	padded := " " + strings.Join(words, " ") + " "
	var prefixes []string
	for _, t := range triggerWords {
		if slices.ContainsFunc(t.phrases, func(p string) bool { return strings.Contains(padded, " "+p+" ") }) {
			prefixes = append(prefixes, t.prefix)
		}
	}
	return prefixes
}
