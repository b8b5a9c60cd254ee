package tool

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A-875: the maximum, at most the share of the context at 3 characters a token, never below 1500.
func TestResultLimit(t *testing.T) {
	for _, c := range []struct {
		max   int
		share float64
		ctx   int
		want  int
	}{{16000, 0.25, 8192, 6144}, {16000, 0.25, 200_000, 16000}, {16000, 0.25, 0, 16000}, {0, 0, 8192, 6144}, {1000, 0.25, 0, 1500}, {16000, 0.05, 4096, 1500}, {500_000, 1, 8192, 24576}} {
		if got := ResultLimit(c.max, c.share, c.ctx); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// A longer result is cut, with a note that says where its full text is saved and from where to read on.
func TestFitCuts(t *testing.T) {
	f := Fit(map[string]any{"a<": strings.Repeat("é", 100)}, 20, "outputs/tool-c1.txt", nil)
	if f.Body != `{"a<":"`+strings.Repeat("é", 13) || !f.Cut || f.Shown != 20 || utf8.RuneCountInString(f.Full) != 109 {
		t.Fatalf("%+v", f)
	}
	want := `[Result cut: this is only the first 20 of 109 characters. The full result is saved as files/outputs/tool-c1.txt (109 characters). ` +
		`Read on with file_read(name="outputs/tool-c1.txt", offset=20); each part gives the next_offset to continue from.]`
	if f.Note != want || f.Content() != f.Body+"\n"+want {
		t.Fatalf("%s", f.Note)
	}
	f = Fit("short\xff", 20, "x", nil)
	if f.Content() != "short\uFFFD" || f.Cut || f.Note != "" || f.Shown != 6 {
		t.Fatalf("%+v", f)
	}
}

func TestFitShortens(t *testing.T) {
	long := strings.Repeat("x", 100)
	short := func(s any, ok bool) func(any) (any, bool) { return func(any) (any, bool) { return s, ok } }
	tail := ` The full result is saved as files/n (100 characters). Read on with file_read(name="n", offset=0); each part gives the next_offset to continue from.]`
	f := Fit(long, 20, "n", short("main", true))
	if f.Body != "main" || f.Cut || f.Shown != 0 || f.Full != long || f.Note != "[Result shortened from 100 characters to its main parts."+tail {
		t.Fatalf("%+v", f)
	}
	f = Fit(long, 20, "n", short(strings.Repeat("y", 50), true))
	if f.Body != strings.Repeat("y", 20) || !f.Cut || f.Shown != 0 || f.Note != "[Result shortened from 100 characters to its main parts and cut after the first 20 of those."+tail {
		t.Fatalf("%+v", f)
	}
	for _, bad := range []func(any) (any, bool){short("main", false), short(long+long, true), func(any) (any, bool) { panic(1) }} {
		if f := Fit(long, 20, "n", bad); !strings.HasPrefix(f.Note, "[Result cut: ") || f.Shown != 20 {
			t.Fatalf("%+v", f)
		}
	}
}

var offset = regexp.MustCompile(`offset=(\d+)\)`)

func TestReadingOnMissesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(1, 40).Draw(t, "limit")
		f := Fit(text, limit, "n", nil)
		at := utf8.RuneCountInString(f.Full)
		if f.Cut {
			at, _ = strconv.Atoi(offset.FindStringSubmatch(f.Note)[1])
		}
		if f.Body+string([]rune(f.Full)[at:]) != f.Full || utf8.RuneCountInString(f.Body) > limit {
			t.Fatalf("%+v", f)
		}
	})
}

func TestOutputName(t *testing.T) {
	if n := OutputName("call_1", ""); n != "outputs/tool-call_1.txt" {
		t.Error(n)
	}
	if n := OutputName("call_1", "s1"); n != "outputs/incognito-s1/tool-call_1.txt" {
		t.Error(n)
	}
	seen := map[string]string{}
	for _, id := range []string{"", "a/b", "a_b", "a.b", "../../x", strings.Repeat("x", 300), strings.Repeat("x", 301)} {
		n := OutputName(id, "")
		if other, dup := seen[n]; dup {
			t.Errorf("%q and %q share %s", id, other, n)
		}
		if seen[n] = id; strings.Count(n, "/") != 1 || strings.Contains(n, "..") || len(n) > 150 {
			t.Errorf("%q gave %s", id, n)
		}
	}
}

func ExampleFit() {
	fmt.Println(Fit("a short result", 16000, "outputs/tool-1.txt", nil).Content())
	// Output: a short result
}
