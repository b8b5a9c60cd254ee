package search_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentient/storage/search"
)

// TestPurge: after a purge no file of the index holds a word of a deleted document.
func TestPurge(t *testing.T) {
	for _, docs := range []int{40, 3000} {
		t.Run(fmt.Sprint(docs), func(t *testing.T) {
			dir := t.TempDir()
			s := &source{}
			x := index(t, dir, s)
			r := rand.New(rand.NewPCG(3, 3))
			var gone, kept []string
			for i := range docs {
				word := randomWord(r)
				session := fmt.Sprint("s", i%20)
				if i%20 == 7 {
					gone = append(gone, word)
				} else {
					kept = append(kept, word)
				}
				s.add(doc(fmt.Sprint("m", i), session, "hello again "+word))
				if i%(docs/4) == 0 {
					if err := x.Update(context.Background()); err != nil {
						t.Fatal(err)
					}
				}
			}
			expect(t, x, kept[1], "m1")
			if len(holds(dir, gone)) == 0 {
				t.Fatal("the test does not find the words where they must be")
			}
			s.do(search.Change{DeleteSession: "s7"})
			for range 2 { // the second has nothing to do and must say so
				if err := x.Purge(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			if left := holds(dir, gone); len(left) > 0 {
				t.Errorf("still in %q", left)
			}
			expect(t, x, gone[0])
			expect(t, x, kept[1], "m1")
		})
	}
}

func randomWord(r *rand.Rand) string {
	b := make([]byte, 20)
	for i := range b {
		b[i] = 'a' + byte(r.IntN(26))
	}
	return string(b)
}

// holds says which files hold one of the words, or its tail: a dictionary shares beginnings.
func holds(dir string, words []string) (files []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil
		}
		for _, w := range words {
			if bytes.Contains(b, []byte(w)) || bytes.Contains(b, []byte(w[4:])) {
				files = append(files, path)
				break
			}
		}
		return nil
	})
	return files
}

func TestSnippet(t *testing.T) {
	long := strings.Repeat("filler words go here ", 40)
	for _, test := range []struct {
		text  string
		terms []string
		width int
		want  string
	}{
		{"short text", []string{"text"}, 80, "short text"},
		{"no match\n at  all", []string{"x"}, 80, "no match at all"},
		{"", []string{"x"}, 80, ""},
		{long + "the Needle is here " + long, []string{"needle"}, 30, "…the Needle is here filler…"},
		{"alpha " + long + "beta gamma " + long, []string{"alpha", "beta", "gamma"}, 30, "…here beta gamma filler words…"},
		{strings.Repeat("x", 500), []string{"x"}, 10, strings.Repeat("x", 10) + "…"},
		{long + "at the Needle", []string{"needle"}, 30, "…words go here at the Needle"},
		{"a \xff b", []string{"b"}, 10, "a \uFFFD b"},
	} {
		if got := search.Snippet(test.text, test.terms, test.width); got != test.want {
			t.Errorf("%.30q %q: %q, want %q", test.text, test.terms, got, test.want)
		}
	}
}

func FuzzSnippet(f *testing.F) {
	f.Add("some text with a needle", "needle", 10)
	f.Add("ÄÖÜ \xff東京", "東", 1)
	f.Add("", "", 0)
	f.Fuzz(func(t *testing.T, text, term string, width int) {
		width = width & 0xFF
		got := search.Snippet(text, []string{strings.ToLower(term)}, width)
		if n := len([]rune(got)); n > width+2 || strings.ToValidUTF8(got, "") != got {
			t.Errorf("%q, %q, %d: %q", text, term, width, got)
		}
	})
}
