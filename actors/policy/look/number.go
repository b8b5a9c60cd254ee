package look

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// number is a phone number or an amount as it is written.
type number struct {
	text          string
	digits        string
	international bool // the digits begin with the country's code
	hundredths    int64
}

const mostHundredths = int64(1e17) // what is more counts as this much

// numerals finds the runs of digits with their separators.
func numerals(text string, each func(start, end int)) {
	for i := 0; i < len(text); {
		if text[i] < '0' || text[i] > '9' {
			i++
			continue
		}
		end := numeral(text, i)
		each(i, end)
		i = end
	}
}

// numeral gives the end of the number that begins at i, at most 60 bytes of it. A space or an apostrophe belongs to it between
// thousands only, so that two numbers stay two.
func numeral(text string, i int) int {
	end, group := i, 0 // group: digits since the last separator
	for stop := min(len(text), i+60); end < stop; {
		if c := text[end]; c >= '0' && c <= '9' {
			end++
			group++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[end:])
		next := text[end+size : min(len(text), end+size+4)]
		digits := forth(next, 0, len(next), func(r rune) bool { return r >= '0' && r <= '9' })
		switch {
		case (r == '.' || r == ',') && digits > 0:
		case (r == ' ' || r == '\'' || r == '’' || r == '_') && digits == 3 && group <= 3:
		default:
			return end
		}
		end += size
		group = 0
	}
	return end
}

// amount reads a number with its thousands and decimals, in any of the usual spellings, as hundredths.
func amount(s string) int64 {
	dot, comma := strings.LastIndexByte(s, '.'), strings.LastIndexByte(s, ',')
	decimal := max(dot, comma)
	if decimal >= 0 && (dot < 0 || comma < 0) { // one kind of separator: thousands when groups of three follow it
		if sep := s[decimal : decimal+1]; strings.Count(s, sep) > 1 || len(s)-decimal-1 == 3 && decimal <= 3 && s[0] != '0' {
			decimal = -1
		}
	}
	v, after := int64(0), -1
	for i := range len(s) {
		if i == decimal {
			after = 0
		}
		if s[i] < '0' || s[i] > '9' || after == 2 {
			continue
		}
		if v = v*10 + int64(s[i]-'0'); v >= mostHundredths {
			return mostHundredths
		}
		if after >= 0 {
			after++
		}
	}
	for after = max(after, 0); after < 2; after++ {
		v = times(v, 10)
	}
	return min(v, mostHundredths)
}

var currencies = setOf(`usd eur gbp inr jpy cny rmb chf cad aud nzd sek nok dkk pln czk huf ron try brl mxn zar sgd hkd krw thb idr myr php vnd aed sar ils ngn kes egp pkr bdt uah rub clp cop
	usdt usdc btc eth sol xrp doge bitcoin ether dollar dollars euro euros pound pounds sterling rupee rupees rs yen yuan renminbi franc francs bucks quid peso pesos real reais krona kronor krone kroner kr
	zloty won baht rand rands dirham dirhams riyal riyals shekel shekels lira liras ruble rubles cents`)

// multiplier is what a word behind a number makes of it.
func multiplier(w string) int64 {
	switch w {
	case "k", "thousand", "grand":
		return 1e3
	case "lakh", "lakhs":
		return 1e5
	case "m", "mn", "mio", "million", "millions":
		return 1e6
	case "crore", "crores":
		return 1e7
	case "bn", "billion", "billions":
		return 1e9
	}
	return 1
}

func times(v, n int64) int64 {
	if v > mostHundredths/n {
		return mostHundredths
	}
	return v * n
}

// money finds amounts of money in a text; with all, every number is one (the person's own words name amounts without a sign).
func money(text string, all bool) (list []number) {
	numerals(text, func(start, end int) {
		from, to := before(text, start), end
		w, at := wordAt(text, end)
		v := amount(text[start:end])
		if m := multiplier(w); m > 1 {
			v, to = times(v, m), at
			w, at = wordAt(text, at)
		}
		signed := from < start
		if w != "" && currency(w) {
			signed, to = true, at
		} else if i := skipMarks(text, to); i < len(text) {
			if r, size := utf8.DecodeRuneInString(text[i:]); unicode.Is(unicode.Sc, r) {
				signed, to = true, i+size
			}
		}
		if signed || all {
			list = append(list, number{text: text[from:to], hundredths: v})
		}
	})
	return list
}

func currency(w string) bool { return len(w) < 11 && currencies[w] }

// skipMarks goes over what may stand between an amount and its sign.
func skipMarks(text string, i int) int {
	for n := 0; n < 4 && i < len(text) && strings.IndexByte(" *_~-/`", text[i]) >= 0; n++ {
		i++
	}
	return i
}

// before gives where the sign or the currency before a number begins, or start when there is none.
func before(text string, start int) int {
	i := start
	for n := 0; n < 4 && i > 0 && strings.IndexByte(" *_~-(.`", text[i-1]) >= 0; n++ {
		i--
	}
	r, size := utf8.DecodeLastRuneInString(text[:i])
	if unicode.Is(unicode.Sc, r) {
		return i - size
	}
	if size == 1 && letter(text[i-1]) {
		if w := back(text, i, 12, isLetter); currency(strings.ToLower(text[w:i])) {
			return w
		}
	}
	return start
}

func letter(c byte) bool      { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isLetter(r rune) bool    { return r < utf8.RuneSelf && letter(byte(r)) }
func isAlnum(c byte) bool     { return letter(c) || isDigit(c) }
func isDigit(c byte) bool     { return c >= '0' && c <= '9' }
func isDigitRune(r rune) bool { return r >= '0' && r <= '9' }

// wordAt is the word that follows in a text, in small letters, and where it ends.
func wordAt(text string, i int) (string, int) {
	i = skipMarks(text, i)
	if i >= len(text) || !letter(text[i]) {
		return "", i
	}
	end := forth(text, i, 12, isLetter)
	return strings.ToLower(text[i:end]), end
}

// phones finds phone numbers of at least so many digits, with the signs people write between them. One of too many digits is
// given too: nobody gave it.
func phones(text string, least int) (list []number) {
	for i := 0; i < len(text); {
		if c := text[i]; !isDigit(c) && c != '+' && c != '(' {
			i++
			continue
		}
		end := i + 1
		for end < len(text) && end < i+60 && text[end] != '+' {
			r, size := utf8.DecodeRuneInString(text[end:])
			if !isDigitRune(r) && !strings.ContainsRune("-(). /‐‑–", r) {
				break
			}
			end += size
		}
		if n := phone(text[i:end]); len(n.digits) >= least {
			list = append(list, n)
		}
		i = end
	}
	return list
}

func phone(text string) number {
	n := number{text: strings.TrimSpace(text), international: strings.HasPrefix(strings.TrimLeft(text, "( "), "+")}
	if n.digits = digits(text); !n.international && strings.HasPrefix(n.digits, "00") {
		n.digits, n.international = n.digits[2:], true
	}
	if n.international {
		n.digits = digits(strings.Replace(text, "(0)", "", 1))
		n.digits = strings.TrimPrefix(n.digits, "00")
	}
	return n
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if isDigitRune(r) {
			return r
		}
		return -1
	}, s)
}
