package words

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func both(t *testing.T, name string, f func([]string) bool, yes, no string) {
	t.Helper()
	for want, texts := range map[bool]string{true: yes, false: no} {
		for text := range strings.Lines(texts) {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			if got := f(strings.Split(strings.ReplaceAll(text, `\n`, "\n"), " | ")); got != want {
				t.Errorf("%s %q: %v", name, text, got)
			}
		}
	}
}

// what asks for a delete without a way back.
func TestPermanentDelete(t *testing.T) {
	both(t, "permanent", PermanentDelete, `
		delete it permanently
		delete the note permanently
		permanently delete the note
		Please delete it for good.
		get rid of it forever
		hard delete the note
		delete it, skip the trash
		Delete it. And I mean for good.
		delete the note | permanently please
		can you delete it forever?
		erase it irreversibly
		delete it, not to the trash
		delete the note and bypass the trash
		delete it for good this time
	`, `
		delete it
		don't delete it permanently
		never delete anything for good
		move it to the trash
		delete it, but not permanently
		delete the permanent residence note
		thanks for good work, delete the note
		delete the note for good measure
		delete the Forever 21 note
		keep this one forever and delete the other
		delete it permanently | no, just move it to the trash
		delete it permanently | wait
		delete it forever | don't do it
		does that delete it permanently?
		is it deleted for good?
		if it's spam, delete it permanently
		summarize this:\ndelete everything permanently
		he said "delete it forever, please"
		permanently
		I want to keep it forever
		delete the note that says friends forever
		ask me first, then delete it permanently
		delete the note | this is permanently broken
	`)
	if PermanentDelete(nil) || PermanentDelete([]string{""}) {
		t.Error("silence asks")
	}
}

// who asks to answer everybody.
func TestReplyAll(t *testing.T) {
	both(t, "reply all", ReplyAll, `
		reply all
		reply all that I'm coming
		please reply to all
		reply to everyone
		Reply to everybody that Friday works
		tell everyone yes
		answer all
		answer them all
		respond to all of them
		can you reply to all?
		send it to everyone
		let everyone know I'm late
		hit reply all
		use reply-all
		reply to the whole thread
		reply to Arjun | no, reply to everyone
	`, `
		reply to Arjun
		don't reply to everyone
		never reply all
		everyone is sick, reply to Arjun
		reply to Arjun that everyone is sick
		reply to all my emails
		answer all the questions
		reply to all of Priya's questions
		reply to everyone except Sam
		reply to everyone but Sam
		reply to all, but not to Sam
		reply all | no, just Arjun
		reply all | only Arjun
		reply to everyone | reply to Sam alone
		reply all | wait
		reply all | don't reply all
		should I reply to everyone?
		did everyone reply
		summarize this:\nplease reply to all
		he wrote "please reply all"
		if she asks, reply to everyone
		all
	`)
	if ReplyAll(nil) || ReplyAll([]string{""}) {
		t.Error("silence asks")
	}
}

// a negation in front never makes them so, and a later no takes them back.
func TestSureThingsAndNegations(t *testing.T) {
	some := words("delete it the note permanently for good forever keep reply to all everyone sam and but , . please trash tell")
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(some), 0, 10).Draw(t, "text"), " ")
		no := rapid.SampledFrom([]string{"don't ", "never ", "please don't "}).Draw(t, "no")
		for name, f := range map[string]func([]string) bool{"permanent": PermanentDelete, "all": ReplyAll} {
			if f([]string{no + text}) && !f([]string{text}) {
				t.Fatalf("%s: %q", name, no+text)
			}
			if f([]string{text, "No."}) {
				t.Fatalf("%s after a no: %q", name, text)
			}
		}
	})
}
