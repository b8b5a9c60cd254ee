package policy

import (
	"fmt"

	"sentient/actors/msg"
)

// Surface is where a call comes from. It decides who can be asked, and what a surface may do at most.
type Surface int

const (
	Window    Surface = iota // a chat in the window
	Voice                    // a spoken chat
	Channel                  // a paired chat in a messaging app
	API                      // a turn of the OpenAI-compatible API: asked in the window
	MCPApp                   // a turn of another app through MCP: asked in the window
	Task                     // a task run: it pauses and asks
	Worker                   // one of a swarm
	Helper                   // a subagent
	Script                   // a tool call of running code
	Brief                    // a daily or evening brief
	Proactive                // a look-up of proactivity
	surfaces
)

var surfaceNames = [surfaces]string{"window", "voice", "channel", "api", "mcp app", "task", "worker", "helper", "script", "brief", "proactive"}

func (s Surface) String() string { return surfaceNames[s] }

// asks: a person can be asked, now or when they come.
func (s Surface) asks() bool { return s <= Task }

// chat: "Allow for this chat" means something there.
func (s Surface) chat() bool { return s == Window || s == Voice || s == Channel }

// HasWords: the person's own words of the turn are known there.
func (s Surface) HasWords() bool { return s.chat() }

// foreign: another program speaks, not the person.
func (s Surface) foreign() bool { return s == API || s == MCPApp }

// ChatSurface is the surface of a chat on a channel.
func ChatSurface(channel string) Surface {
	switch channel {
	case "voice", "phone", "glasses":
		return Voice
	case "telegram", "discord", "whatsapp":
		return Channel
	case "api":
		return API
	case "mcp":
		return MCPApp
	}
	return Window
}

// outOfReach is what a surface never does, whatever the rules and modes say (sections 10 and 11).
func (f Facts) outOfReach() string {
	switch f.Surface {
	case Helper:
		if f.Risk >= msg.RiskSend {
			return helperRefusal(f.Tool)
		}
	case Script:
		return f.scriptRefusal()
	}
	return ""
}

func helperRefusal(tool string) string {
	return fmt.Sprintf("Not done: %s needs the user's approval, and a helper can't ask for it. Say so in your summary, so that it can be done in the chat.", tool)
}

// scriptRefusal: a script reads, and writes inside the engine; more only in mode off, and never a purchase, the home, or what
// a rule asks about (section 11).
func (f Facts) scriptRefusal() string {
	reads := f.Risk == msg.RiskRead || f.Internal && f.Risk == msg.RiskWrite
	switch {
	case f.purchase() || f.OpensHome() || f.Rule == RuleAsk || f.Rule == RuleIfAsked || !reads && f.Mode != ModeOff:
		return fmt.Sprintf("A script can't use %s here. Call it directly instead, so that the user can be asked.", f.Tool)
	}
	return ""
}

// cannotAsk is the refusal where a yes is needed and nobody can give one.
func (f Facts) cannotAsk(r Ruling) Ruling {
	no := Ruling{Do: Refuse, Held: true}
	switch {
	case r.Untrusted != "":
		no.Refusal = fmt.Sprintf("Not done: this run read content from %s, so %s needs the user's OK first. Nobody can be asked here: go on without it, and say that it was not done.", f.Untrusted, f.Tool)
	case r.Warning != "":
		no.Refusal = fmt.Sprintf("Not done: a second look found a problem, so %s needs the user's OK first. Nobody can be asked here: go on without it, and say that it was not done.", f.Tool)
	case f.Surface == Helper:
		no.Refusal = helperRefusal(f.Tool)
	case f.Surface == Script:
		no.Refusal = fmt.Sprintf("A script can't use %s here. Call it directly instead, so that the user can be asked.", f.Tool)
	case r.Rule == RuleIfAsked:
		no.EndsRun = f.Surface == Worker
		no.Refusal = fmt.Sprintf("%s is set to \"Only if I asked\", which only the user's own chat message can ask for, and this work can't stop to ask. Change it in Settings > Approvals & safety.", f.subject())
	case r.Rule == RuleAsk:
		no.EndsRun = f.Surface == Worker
		no.Refusal = fmt.Sprintf("%s is set to Ask, and this work can't stop to ask. Change it in Settings > Approvals & safety.", f.subject())
	default:
		no.EndsRun = f.Surface == Worker && (f.OpensHome() || f.purchase())
		no.Refusal = fmt.Sprintf("Not done: %s needs the user's OK, and this work can't stop to ask.", f.Tool)
	}
	return no
}
