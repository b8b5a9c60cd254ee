package llm

import "unicode"

// CountTokens estimates how many tokens a text is. It is a count by kind of character, made to lie within a fifth of OpenAI's
// o200k vocabulary on ordinary prose, code and JSON in the languages that the tests try; it costs no memory and about 5 ns a
// byte. The real vocabulary takes 13 MB from its first use on, which a meter is not worth.
func CountTokens(text string) int {
	var n float64
	var run int // letters of the word so far
	var digits int
	end := func() {
		if run > 0 {
			n += wordTokens(run)
			run = 0
		}
		if digits > 0 {
			n += float64((digits + 2) / 3)
			digits = 0
		}
	}
	var last rune
	for _, r := range text {
		switch {
		case r < 0x80 && (r|0x20 >= 'a' && r|0x20 <= 'z'):
			if digits > 0 || run > 0 && r <= 'Z' && last >= 'a' && last <= 'z' {
				end() // camelCase
			}
			run++
		case r >= '0' && r <= '9':
			if run > 0 {
				end()
			}
			digits++
		default:
			end()
			n += otherRune(r, last)
		}
		last = r
	}
	end()
	if n > 0 && n < 1 {
		return 1
	}
	return int(n + 0.5)
}

// wordTokens: short words are one token, long ones a piece for about every seven letters more.
func wordTokens(letters int) float64 {
	if letters <= 6 {
		return 1
	}
	return 1 + float64(letters-6)/8
}

func otherRune(r, last rune) float64 {
	switch {
	case r == ' ':
		if last == ' ' {
			return 0.08 // indentation is one token, however deep
		}
		return 0
	case r == '\n', r == '\t', r == '\r':
		if last == r {
			return 0.1
		}
		return 0.6
	case r < 0x80:
		if last == r || last < 0x80 && last > ' ' && !unicode.IsLetter(last) && !unicode.IsDigit(last) {
			return 0.25 // punctuation comes in clusters
		}
		return 0.85
	case r < 0x250:
		return 0.75 // Latin with marks breaks a word
	case r < 0x530:
		return 0.3 // Greek, Cyrillic
	case r < 0x1100:
		return 0.42 // Hebrew, Arabic, the scripts of India
	case r < 0x2E80:
		return 0.9
	case r < 0xA000:
		return 0.75 // Chinese, Japanese
	case r >= 0xAC00 && r < 0xD7B0:
		return 0.7 // Korean
	}
	return 1.8 // emoji and the like
}
