package words

import (
	"strconv"
	"strings"
	"testing"
)

// A rule is found at either end of a long text, and the middle costs nothing.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("lorem ipsum dolor sit amet, ", 50_000)
	for _, text := range []string{"Never delete my emails. " + long, long + ". Never delete my emails."} {
		if _, ok := StandingRule(text); !ok {
			t.Error("not found")
		}
	}
	if _, ok := StandingRule(long + ". Never delete my emails. " + long); ok {
		t.Error("the middle of a pasted text was taken for a rule")
	}
}

// Work grows with the length of a text, not faster: what is allocated is counted, because time differs from machine to machine.
func TestWorkIsLinear(t *testing.T) {
	for _, part := range []string{"email Priya, ", "a and b ", "don't send it. ", "\"hi there\" ", "' ", "\n\n", "if she, ", "the note, ", "send it: ", "x", "’", "> a\n", "ask me ", "in on at "} {
		cost := func(n int) float64 {
			text := strings.Repeat(part, n)
			return testing.AllocsPerRun(1, func() {
				var r reading
				for _, s := range sentences(text) {
					r.sentence(s)
				}
			})
		}
		if one, four := cost(500), cost(2000); four > 5*one+100 {
			t.Errorf("%q: %.0f, then %.0f", part, one, four)
		}
	}
}

// A text too long to be typed is read at its ends, so a megabyte costs no more than a page.
func TestLongMessages(t *testing.T) {
	long := strings.Repeat("lorem ipsum dolor sit amet, ", 50_000)
	if !AskedFor([]string{"email Priya. " + long}, gmailSend) || !AskedFor([]string{long + ". Email Priya."}, gmailSend) || AskedFor([]string{long + ". Email Priya. " + long}, gmailSend) {
		t.Error("the ends count, and the middle does not")
	}
	if AskedFor([]string{"email Priya. " + long + ". But ask me first."}, gmailSend) {
		t.Error("the end did not hold it")
	}
}

func BenchmarkLong(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000} {
		text := strings.Repeat("please look at this, and email nobody. ", n)
		b.Run(strconv.Itoa(len(text)), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				AskedFor([]string{text}, gmailSend)
			}
		})
	}
}
