package preview

import (
	"encoding/json"
	"slices"
	"strings"

	"sentient/actors/msg"
)

// words of a tool's name, in small letters: gmail_send_email, GmailSendEmail and GMAIL-SEND-EMAIL are gmail, send, email.
func words(name string) []string {
	var list []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			list = append(list, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case r == '_' || r == '-' || r == '.' || r == ' ' || r == '/':
			flush()
			continue
		case i > 0 && r >= 'A' && r <= 'Z' && runes[i-1] >= 'a' && runes[i-1] <= 'z':
			flush()
		}
		word.WriteRune(r)
	}
	flush()
	return list
}

var (
	sendVerbs    = []string{"send", "reply", "forward", "post", "publish", "comment", "tweet", "respond", "share"}
	deleteVerbs  = []string{"delete", "remove", "erase", "destroy", "purge"}
	trashVerbs   = []string{"trash", "recycle", "soft"}
	restoreVerbs = []string{"restore", "untrash", "recover", "undelete", "unarchive"}
	postWords    = []string{"post", "publish", "tweet", "comment", "social", "blog", "status"}
	messageWords = []string{"message", "messages", "chat", "dm", "sms", "text", "slack", "discord", "telegram", "whatsapp", "thread", "channel"}
	mailWords    = []string{"mail", "email", "emails", "gmail", "imap", "outlook", "smtp"}
)

func has(ws []string, of []string) bool {
	return slices.ContainsFunc(ws, func(w string) bool { return slices.Contains(of, w) })
}

// Kind is what a call is to a person: email, message, post, delete, trash or action; "" for a look-up.
func Kind(name string, risk msg.Risk) string {
	if risk == msg.RiskRead {
		return ""
	}
	ws := words(name)
	switch {
	case isTrash(ws):
		return Trash
	case has(ws, deleteVerbs):
		return Delete
	case has(ws, restoreVerbs) || !has(ws, sendVerbs):
		return Action
	case has(ws, mailWords):
		return Email
	case has(ws, messageWords) && !has(ws, []string{"tweet", "publish", "comment"}):
		return Message
	case has(ws, postWords):
		return Post
	}
	return Message
}

// isTrash: the name moves something to the trash. What deletes from the trash, empties or lists it does not.
func isTrash(ws []string) bool {
	if has(ws, []string{"untrash", "empty", "restore", "list", "get", "search", "clear", "from"}) {
		return false
	}
	for i, w := range ws {
		switch {
		case w == "soft" && i+1 < len(ws) && slices.Contains(deleteVerbs, ws[i+1]):
			return true
		case (w == "trash" || w == "recycle") && (!has(ws, deleteVerbs) || i > 0 && ws[i-1] == "to"):
			return true
		}
	}
	return false
}

// Waits says whether a call waits in an undo window: an email, message or post with a send verb in its name, of risk write or
// send, not internal. A purchase never does.
func Waits(name string, risk msg.Risk, internal bool, label string) bool {
	if internal || risk != msg.RiskWrite && risk != msg.RiskSend || label == "Purchase" {
		return false
	}
	switch Kind(name, risk) {
	case Email, Message, Post:
		return true
	}
	return false
}

// Sibling is another tool of the same app.
type Sibling struct {
	Name       string
	Parameters json.RawMessage // its JSON Schema
	Hidden     bool            // by a rule
}

// TrashFor finds the tool that moves the same thing to the trash that name deletes for good, and that takes the call's
// arguments.
func TrashFor(name string, args map[string]any, siblings []Sibling) (trash string, ok bool) {
	mine := words(name)
	if !has(mine, deleteVerbs) || isTrash(mine) {
		return "", false
	}
	return counterpart(objects(mine, deleteVerbs), args, siblings, isTrash, trashVerbs)
}

// WayBack finds the tool that brings back what name moved to the trash.
func WayBack(name string, siblings []Sibling, args map[string]any) (restore string, ok bool) {
	mine := words(name)
	if !isTrash(mine) {
		return "", false
	}
	return counterpart(objects(mine, trashVerbs), args, siblings, func(ws []string) bool { return has(ws, restoreVerbs) }, restoreVerbs)
}

func counterpart(object []string, args map[string]any, siblings []Sibling, is func([]string) bool, verbs []string) (string, bool) {
	for _, s := range siblings {
		ws := words(s.Name)
		if !s.Hidden && is(ws) && slices.Equal(objects(ws, verbs), object) && takes(s.Parameters, args) {
			return s.Name, true
		}
	}
	return "", false
}

// objects are the words of a name that say what it acts on, sorted, in the singular.
func objects(ws, verbs []string) []string {
	list := []string{}
	for _, w := range ws {
		if slices.Contains(verbs, w) || slices.Contains([]string{"delete", "to", "from", "move", "permanently", "the", "a", "an", "by", "id"}, w) {
			continue
		}
		list = append(list, strings.TrimSuffix(w, "s"))
	}
	slices.Sort(list)
	return list
}

// takes says whether a schema knows every argument of the call, each of the kind it is, and needs no other.
func takes(schema json.RawMessage, args map[string]any) bool {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	for k, v := range args {
		if p, ok := s.Properties[k]; !ok || !fits(p.Type, v) {
			return false
		}
	}
	for _, r := range s.Required {
		if _, ok := args[r]; !ok {
			return false
		}
	}
	return true
}

// fits says whether a value is of a JSON Schema type, a name or a list of names; another kind of type is not judged.
func fits(kind, v any) bool {
	switch kind := kind.(type) {
	case []any:
		return len(kind) == 0 || slices.ContainsFunc(kind, func(k any) bool { return fits(k, v) })
	case string:
		switch v.(type) {
		case nil:
			return kind == "null"
		case string:
			return kind == "string"
		case bool:
			return kind == "boolean"
		case float64:
			return kind == "number" || kind == "integer"
		case []any:
			return kind == "array"
		case map[string]any:
			return kind == "object"
		}
	}
	return true
}
