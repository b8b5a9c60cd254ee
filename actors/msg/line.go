package msg

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine makes text safe to show beside a question, in at most n characters: no line breaks, controls or marks that turn the
// reading direction.
func OneLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return Clip(strings.Join(strings.Fields(s), " "), n)
}

// Clip cuts to n characters, the last of them a mark that something is missing.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
