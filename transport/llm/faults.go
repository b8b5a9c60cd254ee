package llm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"sentient/actors/msg"
)

// failure is what went wrong before it has words. Text, when set, is the sentence; otherwise the fault's own is used.
type failure struct {
	fault  msg.ModelFault
	text   string
	raw    string // for the log only
	status int
}

func (f *failure) Error() string { return string(f.fault) }

// apiError is the part of a provider's error answer that we understand, whatever its shape.
type apiError struct {
	message, kind, code string
	status              int
}

func (a apiError) all() string { return strings.ToLower(a.message + "\n" + a.kind + "\n" + a.code) }

// readError understands {"error": {...}}, {"error": "..."}, {"message": ...}, {"detail": ...} and a list of one of these.
func readError(status int, body []byte) apiError {
	a := apiError{status: status}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(body, &top) != nil {
		a.message = strings.TrimSpace(string(body))
		return a
	}
	a.take(top)
	var inner map[string]json.RawMessage
	if json.Unmarshal(top["error"], &inner) == nil && inner != nil {
		a.take(inner)
	} else if s := plain(top["error"]); s != "" {
		a.message = s
	}
	if a.message == "" {
		a.message = strings.TrimSpace(string(body))
	}
	return a
}

func (a *apiError) take(m map[string]json.RawMessage) {
	for _, k := range []string{"detail", "message"} {
		if s := plain(m[k]); s != "" {
			a.message = s
		} else if len(m[k]) > 0 && m[k][0] != 'n' && a.message == "" {
			a.message = string(m[k])
		}
	}
	if s := plain(m["type"]); s != "" {
		a.kind = s
	}
	if s := plain(m["status"]); s != "" {
		a.kind += " " + s
	}
	if s := plain(m["code"]); s != "" {
		a.code = s
	}
	var n int
	if json.Unmarshal(m["code"], &n) == nil && n >= 400 && n < 600 {
		a.status = n
	}
}

func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return strings.TrimSpace(s)
}

// kindStatus gives an error that arrives inside a stream the status it would have had before it.
var kindStatus = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
	"not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "server_error": 500,
	"timeout_error": 504, "overloaded_error": 529,
}

var (
	saysNoTools    = regexp.MustCompile(`(does not|doesn't|not|no endpoints found that) support(ed)? ?(by this model)? ?(with )?(tool|function)|tool(s| use| calling| choice)? (is|are) not (supported|enabled)|function calling is not (supported|enabled)|support tool use`)
	saysCodingOnly = regexp.MustCompile(`only (available|usable|allowed|intended|be used)[^.]{0,40}coding|(restricted|limited|reserved) (to|for) coding|coding[- ](agents?|tools?|clients?) only`)
	saysTooLong    = regexp.MustCompile(`context[_ ](length|window|size)|maximum context|prompt is too long|(input|prompt|request|message)[^.]{0,20} too (long|large)|too many (input )?tokens|max(imum)? (input )?tokens? exceeded`)
	saysCredits    = regexp.MustCompile(`insufficient[_ ](quota|credits?|balance|funds)|credit balance|out of credits|no credits|billing[_ ]hard|any credits|requires more credits|exceeded your current quota, please check your plan and billing`)
	saysKey        = regexp.MustCompile(`api[ _-]?key (is |was )?(not valid|invalid|expired|missing|required|incorrect|disabled|revoked)|(invalid|incorrect|missing|no|unknown|expired)[^.]{0,12} api[ _-]?key|api_key_invalid|invalid x-api-key|authentication[_ ](error|failed)|invalid_api_key|user not found|no auth credentials|unauthorized`)
	saysMissing    = regexp.MustCompile(`model[_ ]not[_ ]found|model[^.\n]{0,160}(not found|does not exist|doesn't exist|not exist|is not available|has been (deprecated|retired|decommissioned))|(unknown|no such|invalid) model|not a valid model|no endpoints found|try pulling it|models/[^ ]+ is not found`)
	saysBusy       = regexp.MustCompile(`overloaded|over capacity|at capacity|temporarily unavailable|service unavailable|server is busy|try again later`)
)

// classify decides the kind of a provider's error. The text goes first where a status means several things.
func classify(p *provider, a apiError) msg.ModelFault {
	if a.status == 200 || a.status == 0 {
		a.status = kindStatus[strings.TrimSpace(a.kind)]
		if a.status == 0 {
			a.status = kindStatus[a.code]
		}
	}
	text := a.all()
	refused := a.status < 500 // a refusal says why; a crash may say anything
	switch {
	case saysNoTools.MatchString(text):
		return msg.FaultNoTools
	case saysCodingOnly.MatchString(text):
		return msg.FaultCodingOnly
	case a.status == 401, refused && saysKey.MatchString(text):
		return msg.FaultKey
	case a.status == 402, refused && saysCredits.MatchString(text) && !(p.id == "gemini" && a.status == 429): // Gemini's rate limit speaks of billing
		return msg.FaultCredits
	case a.status == 429, strings.Contains(text, "rate_limit"), strings.Contains(text, "resource_exhausted"):
		return msg.FaultRate
	case a.status == 413, saysTooLong.MatchString(text):
		return msg.FaultTooLong
	case a.status == 404, refused && saysMissing.MatchString(text):
		return msg.FaultMissing
	case a.status == 408, a.status == 504:
		return msg.FaultTimeout
	case a.status == 500 && p.local && a.message != "":
		return msg.FaultOther // a local runtime says what is wrong, such as too little memory
	case a.status >= 500, saysBusy.MatchString(text):
		return msg.FaultUnavailable
	}
	return msg.FaultOther
}

// fromAnswer turns an error answer, or an error inside a stream, into a failure.
func (e endpoint) fromAnswer(status int, body []byte) *failure {
	a := readError(status, body)
	f := &failure{fault: classify(e.provider, a), raw: string(body), status: a.status}
	if f.fault == msg.FaultOther {
		f.text = otherText(e, a)
	}
	if e.provider.signIn {
		planFailure(f, a)
	}
	if f.fault == msg.FaultRate && e.provider.id == "openrouter" {
		f.text = openRouterRate(e, a)
	}
	return f
}

// otherText keeps the provider's own words, as one bounded line.
func otherText(e endpoint, a apiError) string {
	text := strings.Join(strings.Fields(a.message), " ")
	if text == "" || strings.HasPrefix(text, "<") {
		return fmt.Sprintf("%s refused the request (%d). Try again, or pick another model in Settings > Models.", e.provider.label, a.status)
	}
	return cutText(text, 500)
}

func openRouterRate(e endpoint, a apiError) string {
	free := strings.HasSuffix(e.name, ":free") || strings.Contains(a.all(), "free-models")
	switch {
	case free && strings.Contains(a.all(), "per-day"):
		return "OpenRouter's free models have reached today's limit. Add credits on openrouter.ai, wait until tomorrow, or pick another model in Settings > Models."
	case free:
		return "OpenRouter's free models have reached this minute's limit. Wait a minute, add credits on openrouter.ai, or pick another model in Settings > Models."
	}
	return ""
}

const another = ", or pick another model in Settings > Models."

// sentence is the plain text of a failure: what is wrong, and what to do.
func (e endpoint) sentence(f *failure, timeout time.Duration) string {
	if f.text != "" {
		return f.text
	}
	if e.provider == nil {
		return fmt.Sprintf("\"%s\" is not a model Sentient knows how to reach. Pick a model in Settings > Models.", cutText(e.full, 80))
	}
	who, name := runtimeName(e.provider), DisplayName(e.full)
	switch f.fault {
	case msg.FaultKey:
		return e.keySentence(f)
	case msg.FaultCredits:
		if e.provider.creditsAt == "" {
			return who + " says there are no credits left. Add credits" + another
		}
		return who + " says there are no credits left. Add credits on " + e.provider.creditsAt + another
	case msg.FaultMissing:
		if e.provider.speaks == speaksOllama {
			return name + " is not downloaded in Ollama. Download it in Settings > Models, or pick another model there."
		}
		return who + " has no model named " + cutText(e.name, 80) + ". Pick another model in Settings > Models."
	case msg.FaultRate:
		return who + " limits how often it can be asked, and the limit is reached. Wait a minute" + another
	case msg.FaultUnavailable:
		return who + " is overloaded or down right now. Try again in a few minutes" + another
	case msg.FaultUnreachable:
		return e.unreachableSentence()
	case msg.FaultTimeout:
		return fmt.Sprintf("%s did not answer for %d seconds. Try again%s", who, int(timeout.Seconds()), another)
	case msg.FaultCut:
		return "The reply from " + who + " broke off before it was finished. Try again" + another
	case msg.FaultNoTools:
		return name + " can't use tools. Pick a model that can in Settings > Models."
	case msg.FaultCodingOnly:
		return who + " keeps " + name + " for coding tools. Pick another model in Settings > Models."
	case msg.FaultTooLong:
		return "This conversation is too long for " + name + ". Start a new chat, or pick a model that reads more in Settings > Models."
	case msg.FaultLocalOnly:
		return "Local only is on, and " + name + " does not run on this computer. Pick a local model, or turn Local only off in Settings > Models."
	case msg.FaultCancelled:
		return "Stopped."
	}
	return who + " could not answer. Try again" + another
}

func (e endpoint) keySentence(f *failure) string {
	who := runtimeName(e.provider)
	switch {
	case e.provider.signIn:
		return "Sign in with ChatGPT under Settings > Models > Use a plan you already have" + another
	case e.key == "" && f.status == 0:
		return who + " has no API key yet. Add one in Settings > Models."
	case e.key == "":
		return who + " asks for an API key. Add one in Settings > Models."
	}
	return who + " did not accept the API key. Check it, or add a new one, in Settings > Models."
}

func (e endpoint) unreachableSentence() string {
	if e.provider.local {
		return fmt.Sprintf("%s is not answering at %s. Start it%s", runtimeName(e.provider), shownBase(e.base), another)
	}
	return e.provider.label + " can't be reached. Check the internet connection" + another
}

func runtimeName(p *provider) string {
	if p.signIn {
		return "ChatGPT"
	}
	if p.speaks == speaksOllama {
		return "Ollama"
	}
	return p.label
}

// shownBase is an address without what may be secret in it.
func shownBase(base string) string {
	if scheme, rest, ok := strings.Cut(base, "://"); ok {
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			rest = rest[at+1:]
		}
		return scheme + "://" + rest
	}
	return base
}

func claudeCodeText(s Settings) string {
	if s.ClaudeCode {
		return "Claude through your Claude Code is not available in this version. Pick another model in Settings > Models."
	}
	return "Claude through your Claude Code is turned off. Turn it on, or pick another model, in Settings > Models."
}

// modelError gives a failure its words. Nothing of the key survives in either text.
func (e endpoint) modelError(f *failure, timeout time.Duration, said bool) *msg.ModelError {
	return &msg.ModelError{Fault: f.fault, Model: e.full, Message: e.scrub(e.sentence(f, timeout)), Raw: cutText(e.scrub(f.raw), 2000), Said: said}
}

func (e endpoint) scrub(s string) string {
	if len(e.key) < 6 {
		return s
	}
	return strings.ReplaceAll(s, e.key, "[key]")
}

// cutText is s in at most n bytes of whole runes.
func cutText(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
