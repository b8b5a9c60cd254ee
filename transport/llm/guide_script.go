package llm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"sentient/actors/msg"
)

// guideTopic is an answer and the words that ask for it.
type guideTopic struct {
	phrases []string
	answer  string
}

func (t guideTopic) match(words string) bool { return hasAny(words, t.phrases...) }

const guideUnknown = "I'm only the built-in guide, a small script and not an AI, so I can't answer that. " +
	"I can tell you what Sentient is and how to connect a model, and about privacy, files, approvals and stopping. " +
	"I can also look up the time, list your files or save a note. " +
	"For real answers, connect a model in Settings > Models: Ollama or LM Studio on this computer, or a cloud provider with an API key."

// guideTopics are tried in order: the narrow ones first.
var guideTopics = []guideTopic{
	{[]string{"ollama"}, "With Ollama a model runs on this computer, and nothing you write leaves it. Install Ollama from ollama.com and start it. " +
		"Then open Settings > Models, pick a model that suits this computer, such as qwen3:8b, and let Sentient download it. After that, choose it for your chats."},
	{[]string{"lm studio", "lmstudio"}, "With LM Studio a model runs on this computer. Download a model in LM Studio and start its local server. " +
		"Sentient finds it at http://localhost:1234; pick it in Settings > Models. If you changed the address, set it there too."},
	{[]string{"api key", "api keys", "key", "openai", "anthropic", "claude", "gemini", "openrouter", "groq", "mistral", "deepseek", "cloud", "chatgpt", "gpt"},
		"To use a cloud model, make an API key with its provider, for example Anthropic, OpenAI or OpenRouter. " +
			"Open Settings > Models, choose the provider and paste the key. It is kept in this computer's keychain and is never shown again. " +
			"The provider bills you for what you use; you can set a monthly budget in Settings > Models."},
	{[]string{"connect", "set up", "setup", "choose a model", "pick a model", "which model", "what model", "real model", "local model", "models", "add a model", "use a model", "get started", "getting started"},
		"There are three ways to connect a model. Ollama: free, private, runs on this computer. LM Studio: also on this computer, if you already use it. " +
			"An API key: a cloud provider such as Anthropic, OpenAI or OpenRouter, which answers faster and better but is paid. " +
			"All of it is in Settings > Models. Ask me about any of the three."},
	{[]string{"private", "privacy", "my data", "secure", "security", "safe", "incognito", "local only"},
		"Your chats, files and settings stay on this computer. With a local model nothing you write leaves it; a cloud model gets the messages it has to answer. " +
			"Local only, in Settings > Models, refuses every cloud model. Keys are kept in the keychain. An incognito chat is not saved and is gone when you close it."},
	{[]string{"approval", "approvals", "approve", "permission", "permissions", "ask me first", "rules", "allow", "deny"},
		"Before Sentient changes, sends or runs something outside itself, it shows you what it is about to do and asks. You can allow it once, for this chat, for an hour, or always, or deny it. " +
			"Settings > Approvals & safety is where you decide what may happen without asking and what never may. To see one, say: show me an approval."},
	{[]string{"stop everything", "stop", "cancel", "pause", "undo"},
		"The Stop button ends the reply that is being written. Stop everything ends all work at once, tasks and background work too, and nothing starts by itself until you choose Resume. " +
			"Messages and emails wait a few seconds before they go, so you can still undo them."},
	{[]string{"file", "files", "folder", "attach", "upload", "document", "documents", "pdf"},
		"Attach a file to a message and the model can read it: text, PDF, Word and pictures. What Sentient writes for you is kept in its files folder, where you can open, save or delete it. " +
			"Ask me to list your files, or to save a note, and I'll show you."},
	{[]string{"memory", "remember", "forget"},
		"With a real model, Sentient remembers facts you tell it and uses them in later chats. You can see, correct and delete every one of them in Memory. I'm a script, so I remember nothing."},
	{[]string{"task", "tasks", "schedule", "every day", "every morning", "remind me", "reminder"},
		"Tasks are work that Sentient does on its own: once, or on a schedule. You see the plan before it starts and can stop it at any time. Tasks need a real model; connect one in Settings > Models first."},
	{[]string{"phone", "telegram", "discord", "whatsapp", "device", "devices", "glasses"},
		"You can talk to Sentient from your phone and from messaging apps too. Pair a device in Settings > Devices, or connect an app in Settings > Channels. Approvals can be answered there as well."},
	{[]string{"are you ai", "are you an ai", "are you a bot", "are you real", "are you a model", "who are you", "what are you", "who is this", "your name"},
		"I'm the built-in guide: a small script that comes with Sentient. I'm not an AI. I know a few answers about the product and can show a few of its tools, so you can look around before you connect a model."},
	{[]string{"what is sentient", "what is this", "what can you do", "what do you do", "what does sentient do", "what can sentient do", "tell me about sentient", "about sentient", "help", "how does this work"},
		"Sentient is a personal assistant that runs on your own computer. It chats, works with your files, does tasks on a schedule, and uses apps you connect, and it asks before it changes anything. " +
			"I'm only its guide, a script and not an AI. Ask me how to connect a model, or about privacy, files, approvals or stopping. You can also say: what time is it, list my files, save a note: buy milk, or show me an approval."},
	{[]string{"thanks", "thank you", "great", "cool", "nice", "ok", "okay", "good"},
		"You're welcome. When you're ready, connect a model in Settings > Models and I'll make room for it."},
	{[]string{"hello", "hi", "hey", "good morning", "good evening", "good afternoon", "hallo", "namaste"},
		"Hello! I'm the built-in guide, a small script and not an AI. I can tell you what Sentient does and how to connect a model. Try: what can you do?"},
}

var (
	guideNote = regexp.MustCompile(`(?is)\b(?:write|save|make|create|take|add|jot)\b[^.:\n]{0,30}\b(?:note|file|memo|list)\b\s*(.*)`)
	guideName = regexp.MustCompile(`(?i)\b(?:called|named|as|in|to)\s+["'“]?([A-Za-z0-9][A-Za-z0-9 _-]{0,60}\.(?:txt|md|csv|json))["'”]?`)
	guideFile = regexp.MustCompile(`(?i)\b(?:read|open|show)\b.{0,40}?["'“]?([A-Za-z0-9][A-Za-z0-9_/-]{0,80}\.[A-Za-z0-9]{1,5})["'”]?`)
	guideLead = regexp.MustCompile(`(?is)^(?:(?:that says|saying|which says|with the text|with|that|about|to)\b)?[\s:,"“]*`)
)

// guideTool answers requests that a built-in tool can do; where it is not offered, it says so.
func guideTool(tools []msg.ToolSchema, asked, words string) (string, *msg.ToolCall) {
	switch {
	case hasAny(words, "what time", "whats the time", "the time now", "current time", "time is it", "what day", "what date", "todays date", "the date today"):
		return withTool(tools, "current_datetime", "Let me look at the clock.", nil)
	case hasAny(words, "list my files", "list files", "list the files", "what files", "which files", "show my files", "show me my files", "see my files"):
		return withTool(tools, "file_list", "Let me look in the files folder.", nil)
	case hasAny(words, "show me an approval", "show an approval", "see an approval", "try an approval", "show me a question", "show approval"):
		return withTool(tools, guideQuestion, "This is what I look like when I ask. Whatever you answer, nothing is changed.", map[string]any{"what": "an example"})
	case guideNote.MatchString(asked):
		name, content := noteOf(asked)
		if content == "" {
			return "What should the note say? For example: save a note: buy milk.", nil
		}
		return withTool(tools, "file_write", "I'll save that as "+name+".", map[string]any{"name": name, "content": content})
	}
	if m := guideFile.FindStringSubmatch(asked); m != nil {
		return withTool(tools, "file_read", "Let me read "+m[1]+".", map[string]any{"name": m[1]})
	}
	return "", nil
}

func withTool(tools []msg.ToolSchema, name, text string, args map[string]any) (string, *msg.ToolCall) {
	if !offered(tools, name) {
		return "There is a tool for that, but it is turned off or not offered here. See Settings > Tools.", nil
	}
	if args == nil {
		args = map[string]any{}
	}
	return text, guideCall(name, args)
}

func noteOf(asked string) (name, content string) {
	name = "note.md"
	if m := guideName.FindStringSubmatchIndex(asked); m != nil {
		name = asked[m[2]:m[3]]
		asked = asked[:m[0]] + asked[m[1]:]
	}
	m := guideNote.FindStringSubmatch(asked)
	if m == nil {
		return name, ""
	}
	content = strings.TrimSpace(guideLead.ReplaceAllString(strings.TrimSpace(m[1]), ""))
	return name, strings.TrimSpace(strings.Trim(content, `"“”`))
}

// guideResults tells what the tools said, as far as the script understands it.
func guideResults(results []msg.ModelMessage) string {
	var out []string
	for _, m := range results {
		out = append(out, guideResult(m))
	}
	return strings.Join(out, "\n\n")
}

func guideResult(m msg.ModelMessage) string {
	text := textOf(m.Parts)
	var r map[string]any
	_ = json.Unmarshal([]byte(text), &r) // not an object: r stays nil and the text itself is shown
	if declined, _ := r["declined"].(bool); declined {
		return "All right, I didn't do that. Nothing was changed. That was an approval: Sentient asks before it changes something, and your no is final."
	}
	if problem, _ := r["error"].(string); problem != "" {
		return "That didn't work: " + cutText(problem, 400)
	}
	switch m.Name {
	case guideQuestion:
		return "You said yes, so it ran. It changed nothing: it was there to show you the question. Settings > Approvals & safety is where you decide what asks."
	case "current_datetime":
		return guideClock(r, text)
	case "file_list":
		return guideFiles(r, text)
	case "file_write":
		name := "the note"
		for _, k := range []string{"name", "saved", "path"} {
			if s, _ := r[k].(string); s != "" {
				name = s
				break
			}
		}
		return "Done. I saved " + name + " in the files folder. Say \"list my files\" to see it."
	case "file_read":
		if content, _ := r["content"].(string); content != "" {
			text = content
		}
		return "Here is what it says:\n\n" + cutText(text, 2000)
	}
	return "Here is what the tool returned:\n\n" + cutText(text, 1000)
}

func guideClock(r map[string]any, text string) string {
	date, _ := r["date"].(string)
	clock, _ := r["time"].(string)
	day, _ := r["weekday"].(string)
	zone, _ := r["timezone"].(string)
	if clock == "" || date == "" {
		return "The clock says: " + cutText(text, 200)
	}
	if day != "" {
		date = day + ", " + date
	}
	if zone != "" {
		clock += " (" + zone + ")"
	}
	return "It is " + clock + " on " + date + "."
}

func guideFiles(r map[string]any, text string) string {
	files, ok := r["files"].([]any)
	if !ok {
		if json.Unmarshal([]byte(text), &files) != nil {
			return "Here is what is in the files folder:\n\n" + cutText(text, 1000)
		}
	}
	if len(files) == 0 {
		return "The files folder is empty. Ask me to save a note and there will be one."
	}
	var names []string
	for _, f := range files {
		name, _ := f.(string)
		if m, ok := f.(map[string]any); ok {
			name, _ = m["name"].(string)
		}
		if name != "" {
			names = append(names, "- "+name)
		}
	}
	more := ""
	if n := len(names) - 20; n > 0 {
		names, more = names[:20], fmt.Sprintf("\n\nand %d more.", n)
	}
	return "These are in the files folder:\n\n" + strings.Join(names, "\n") + more
}
