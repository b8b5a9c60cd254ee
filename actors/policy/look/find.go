package look

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Finding addresses, numbers, amounts and links in text. Each walks the text once from one fixed character to the next, so its
// time grows with the length alone, whatever the text is.

const (
	maxLocal = 64  // characters before the @ (RFC 5321)
	maxHost  = 253 // characters of a host name
)

// emails are the addresses in a text, as they are written.
func emails(text string) (list []string) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			return list
		}
		i += at
		start := back(text, i, maxLocal, localPart)
		end := forth(text, i+1, maxHost, hostPart)
		a := strings.Trim(text[start:end], ".-'")
		if local, host, ok := strings.Cut(a, "@"); ok && local != "" && strings.Contains(strings.Trim(host, "."), ".") {
			list = append(list, strings.TrimRight(a, ".-"))
		}
		at = i + 1
	}
}

func localPart(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".!#$%&'*+/=?^_`{|}~-", r)
}

func hostPart(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || r == '.' || r == '-'
}

// back goes left from i while is holds, at most n bytes, and gives where it stands.
func back(text string, i, n int, is func(rune) bool) int {
	for stop := max(0, i-n); i > stop; {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if !is(r) {
			break
		}
		i -= size
	}
	return i
}

func forth(text string, i, n int, is func(rune) bool) int {
	for stop := min(len(text), i+n); i < stop; {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !is(r) {
			break
		}
		i += size
	}
	return i
}

// fold is an address in the one spelling in which two are compared: small letters, nothing else. Letters that only look alike
// stay different.
func fold(address string) string {
	return strings.ToLower(strings.Trim(strings.TrimSpace(address), "."))
}

// first is the first address in a text, or the text itself.
func first(text string) string {
	if list := emails(text); len(list) > 0 {
		return list[0]
	}
	return strings.TrimSpace(text)
}

// links are the hosts a text leads to: of addresses with a scheme, of www., and of a bare host with a path.
func links(text string) (hosts []string) {
	add := func(start, end int) {
		if h := hostOf(text[start:end]); strings.Contains(h, ".") && !strings.HasSuffix(h, ".") {
			hosts = append(hosts, h)
		}
	}
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '/')
		if i < 0 {
			break
		}
		i += at
		at = i + 1
		switch {
		case i > 0 && text[i-1] == ':' && i+1 < len(text) && text[i+1] == '/':
			scheme := back(text, i-1, 20, func(r rune) bool { return unicode.IsLetter(r) })
			at = i + 2
			add(scheme, forth(text, i+2, 300, func(r rune) bool { return !unicode.IsSpace(r) && !strings.ContainsRune(`"'<>)]}/?#\`, r) }))
		case i > 0 && text[i-1] != '/':
			if start := back(text, i, maxHost, hostPart); i-start > 3 && (start == 0 || text[start-1] != '@' && text[start-1] != '/') {
				add(start, i)
			}
		}
	}
	low := strings.ToLower(text)
	for at := 0; ; {
		i := strings.Index(low[at:], "www.")
		if i < 0 {
			return hosts
		}
		i += at
		end := forth(text, i, maxHost, hostPart)
		if len(low) == len(text) {
			add(i, end)
		}
		at = max(end, i+4)
	}
}

// number is a phone number or an amount as it is written.
type number struct {
	text       string
	digits     string
	hundredths int64
}

// numerals finds the runs of digits with their separators.
func numerals(text string, each func(start, end int)) {
	for i := 0; i < len(text); {
		if text[i] < '0' || text[i] > '9' {
			i++
			continue
		}
		end := i
		for j := i; j < len(text) && j < i+40; {
			r, size := utf8.DecodeRuneInString(text[j:])
			if r >= '0' && r <= '9' {
				end = j + size
			} else if !strings.ContainsRune(".,'\u00a0\u202f ", r) || j+size >= len(text) || text[j+size] < '0' || text[j+size] > '9' {
				break
			}
			j += size
		}
		each(i, end)
		i = end
	}
}

// amount reads a number with its thousands and decimals, in any of the usual spellings, as hundredths.
func amount(s string) (hundredths int64, ok bool) {
	s = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "'", "").Replace(s)
	dot, comma := strings.LastIndexByte(s, '.'), strings.LastIndexByte(s, ',')
	decimal := max(dot, comma)
	if decimal >= 0 && (dot < 0 || comma < 0) { // one kind of separator: thousands when groups of three follow it
		if sep := s[decimal : decimal+1]; strings.Count(s, sep) > 1 || len(s)-decimal-1 == 3 && decimal <= 3 && s[0] != '0' {
			decimal = -1
		}
	}
	whole, part := s, ""
	if decimal >= 0 {
		whole, part = s[:decimal], s[decimal+1:]
	}
	for _, c := range whole {
		switch {
		case c == '.' || c == ',':
		case c < '0' || c > '9' || hundredths > 1e15:
			return 0, false
		default:
			hundredths = hundredths*10 + int64(c-'0')
		}
	}
	part = (part + "00")[:2]
	for _, c := range part {
		if c < '0' || c > '9' {
			return 0, false
		}
		hundredths = hundredths*10 + int64(c-'0')
	}
	return hundredths, true
}

var (
	symbols    = "$€£¥₹₽₩₪₺₴₦฿"
	currencies = []string{"usd", "eur", "gbp", "inr", "jpy", "cny", "chf", "cad", "aud", "dollar", "dollars", "euro", "euros", "pound", "pounds", "rupee", "rupees", "rs", "yen", "yuan", "franc", "francs", "bucks", "quid", "lakh", "crore", "bitcoin", "btc", "eth"}
)

// money finds amounts of money in a text; with any, every number is one (the person's own words name amounts without a sign).
func money(text string, any bool) (list []number) {
	numerals(text, func(start, end int) {
		v, ok := amount(text[start:end])
		if !ok {
			return
		}
		before, _ := utf8.DecodeLastRuneInString(strings.TrimRight(text[max(0, start-8):start], " \u00a0"))
		signed := strings.ContainsRune(symbols, before) && before != utf8.RuneError
		from, to := start, end
		if signed {
			from = start - len(text[:start]) + strings.LastIndex(text[:start], string(before))
		}
		rest := text[end:min(len(text), end+24)]
		if w := strings.TrimLeft(rest, " \u00a0"); w != "" {
			if r, size := utf8.DecodeRuneInString(w); strings.ContainsRune(symbols, r) {
				signed, to = true, end+len(rest)-len(w)+size
			}
		}
		unit := word(rest)
		if f := map[string]int64{"k": 1000, "thousand": 1000, "m": 1e6, "mn": 1e6, "million": 1e6, "lakh": 1e5, "lakhs": 1e5, "crore": 1e7}[unit]; f > 0 && v < 1e13/f {
			v, to = v*f, end+strings.Index(strings.ToLower(rest), unit)+len(unit)
			unit = word(text[to:min(len(text), to+24)])
		}
		for _, c := range currencies {
			if unit == c {
				signed, to = true, to+strings.Index(strings.ToLower(text[to:]), unit)+len(unit)
				break
			}
		}
		if lead := word(reverseWord(text[max(0, start-12):start])); !signed {
			for _, c := range currencies {
				if lead == c {
					signed, from = true, start-len(text[max(0, start-12):start])+strings.LastIndex(strings.ToLower(text[max(0, start-12):start]), lead)
				}
			}
		}
		if signed || any {
			list = append(list, number{text: oneLine(text[from:to], 40), hundredths: v})
		}
	})
	return list
}

// word is the word a text begins with, in small letters.
func word(s string) string {
	s = strings.TrimLeft(s, " \u00a0")
	return strings.ToLower(s[:forth(s, 0, 20, unicode.IsLetter)])
}

// reverseWord is the word a text ends with.
func reverseWord(s string) string {
	s = strings.TrimRight(s, " .\u00a0")
	return s[back(s, len(s), 20, unicode.IsLetter):]
}

// phones finds phone numbers: seven digits or more, with the signs people write between them.
func phones(text string) (list []number) {
	for i := 0; i < len(text); {
		c := text[i]
		if c != '+' && (c < '0' || c > '9') && c != '(' {
			i++
			continue
		}
		end := forth(text, i, 40, func(r rune) bool { return r >= '0' && r <= '9' || strings.ContainsRune("+-(). /\u00a0", r) })
		if d := digits(text[i:end]); len(d) >= 7 && len(d) <= 16 {
			list = append(list, number{text: oneLine(text[i:end], 40), digits: d})
		}
		i = max(end, i+1)
	}
	return list
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) }

// nameTokens are the words of a text that can be a name, in small letters.
func nameTokens(text string) (list []string) {
	for _, piece := range strings.Fields(strings.ToLower(text)) {
		if strings.ContainsAny(piece, "@/") { // an address is not a name
			continue
		}
		for _, w := range strings.FieldsFunc(piece, notLetter) {
			if len(w) >= 3 && !isCommon(w) {
				list = append(list, w)
			}
		}
	}
	return list
}

func oneLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n-1]) + "…"
	}
	return s
}
