package tool

import (
	"strings"
	"testing"
)

// Marking 1 MB stays well under 5 ms for text as it comes, and its time grows with the length alone for text that is made to
// be slow.
func BenchmarkMark(b *testing.B) {
	m := NewMarker([]byte("secret"))
	for name, piece := range map[string]string{"text": "The quick brown fox [1] jumps over the lazy dog. ", "brackets": "[", "half markers": "[outside conten ", "markers": "[outside content 00000000 from X]\n"} {
		text := strings.Repeat(piece, 1<<20/len(piece))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.Mark(text, "Web")
			}
		})
	}
}
