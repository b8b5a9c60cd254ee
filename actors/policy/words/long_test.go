package words

import (
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

// The time for a text grows with its length, not faster.
func BenchmarkLong(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		text := strings.Repeat("please look at this, and email nobody. ", n)
		b.Run(strings.Repeat("0", len(text)/100_000)+"k", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				AskedFor([]string{text}, Tool{Name: "gmail_send", App: "Gmail", Risk: 2})
			}
		})
	}
}
