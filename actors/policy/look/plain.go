package look

import (
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// plain is a text as an eye reads it: nothing that is not seen, wide and styled letters as the usual ones, the digits of every
// alphabet as 0 to 9. Letters of other alphabets that only look alike stay what they are.
func plain(s string) string {
	i := 0
	for i < len(s) && (s[i] >= ' ' && s[i] < 0x7f || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	if i == len(s) {
		return s
	}
	s = strings.Map(seen, strings.ToValidUTF8(s, " "))
	if !norm.NFKC.IsNormalString(s) {
		s = norm.NFKC.String(s)
	}
	return s
}

func seen(r rune) rune {
	switch {
	case r < 0x7f && r >= ' ' || r == '\n' || r == '\t' || r == '\r':
		return r
	case r < 0xa0 || r == 0xad:
		return -1
	case r < 0x34f || r >= 0x370 && r < 0x600 || r >= 0x4e00 && r < 0xa000:
		return r // no invisible letters and no digits are among them
	case r >= 0xff01 && r <= 0xff5e:
		return r - 0xfee0
	case r == '。' || r == '｡':
		return '.'
	case unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return -1
	case unicode.Is(unicode.Nd, r):
		return digit(r)
	}
	return r
}

// digit is a decimal digit as 0 to 9: each alphabet's ten stand in order, and a range holds whole tens.
func digit(r rune) rune {
	for _, x := range unicode.Nd.R16 {
		if rune(x.Lo) <= r && r <= rune(x.Hi) {
			return '0' + (r-rune(x.Lo))%10
		}
	}
	for _, x := range unicode.Nd.R32 {
		if rune(x.Lo) <= r && r <= rune(x.Hi) {
			return '0' + (r-rune(x.Lo))%10
		}
	}
	return r
}

var (
	spoken = strings.NewReplacer(" [at] ", "@", " (at) ", "@", "[at]", "@", "(at)", "@", " at ", "@", " AT ", "@",
		" [dot] ", ".", " (dot) ", ".", "[dot]", ".", "(dot)", ".", " dot ", ".", " DOT ", ".", " Dot ", ".")
	spaced = strings.NewReplacer(" @ ", "@", " @", "@", "@ ", "@", " . ", ".")
)

// unmasked is a text with addresses that are written so that code would not find them ("arjun [at] example [dot] com"); ok when
// there may be any.
func unmasked(s string) (text string, ok bool) {
	text = s
	if strings.Contains(text, "&#") || strings.Contains(text, "&commat") || strings.Contains(text, "&period") {
		text = plain(html.UnescapeString(text))
	}
	if strings.Contains(text, "%40") {
		text = strings.ReplaceAll(text, "%40", "@")
	}
	if strings.Contains(text, "dot") || strings.Contains(text, "Dot") || strings.Contains(text, "DOT") {
		text = spoken.Replace(text)
	}
	if strings.Contains(text, " @") || strings.Contains(text, "@ ") {
		text = spaced.Replace(text)
	}
	return text, text != s
}

// fold is an address in the one spelling in which two are compared: small letters, nothing else. Letters that only look alike
// stay different, also those whose small letter is one of ASCII (the Kelvin sign).
func fold(address string) string {
	address = strings.Trim(strings.TrimSpace(address), ".")
	return strings.Map(func(r rune) rune {
		if low := unicode.ToLower(r); r < utf8.RuneSelf || low >= utf8.RuneSelf {
			return low
		}
		return r
	}, address)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// wordsOf are the words of an argument's name, in small letters: toRecipients and TO-RECIPIENTS are to, recipients.
func wordsOf(key string) (list []string) {
	start, runes := 0, []rune(key)
	flush := func(end int) {
		if end > start {
			list = append(list, strings.ToLower(string(runes[start:end])))
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush(i)
			start = i + 1
		case i > start && unicode.IsUpper(r) && unicode.IsLower(runes[i-1]):
			flush(i)
			start = i
		}
	}
	flush(len(runes))
	return list
}

func anyOf(ws, of []string) bool {
	return slices.ContainsFunc(ws, func(w string) bool { return slices.Contains(of, w) })
}
