package look

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sentient/actors/msg"
)

// Finding addresses. In evidence an address is what stands around an @; in a call it is the whole of what the tool will take as
// one, so that nothing can be added to an address the person gave.

const (
	maxLocal = 64  // bytes before the @ (RFC 5321)
	maxHost  = 253 // bytes of a host name
)

// emails are the addresses in a text: as they are written, and without marks before them, which may be part of the address but more
// often are how a text is written (**sam@example.com**).
func emails(text string) (list []string) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			return list
		}
		i += at
		start := back(text, i, maxLocal, localPart)
		end := forth(text, i+1, maxHost, hostPart)
		at = i + 1
		for end > at && (text[end-1] == '.' || text[end-1] == '-') {
			end--
		}
		if start == i || strings.IndexByte(text[at:end], '.') <= 0 {
			continue
		}
		list = append(list, text[start:end])
		bare := start
		for bare < i && localASCII[text[bare]&0x7f] && text[bare] < utf8.RuneSelf && !isAlnum(text[bare]) {
			bare++
		}
		if bare > start && bare < i {
			list = append(list, text[bare:end])
		}
	}
}

func localPart(r rune) bool {
	if r < utf8.RuneSelf {
		return localASCII[r]
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

var localASCII = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = isAlnum(byte(c)) || strings.IndexByte(".!#$%&'*+/=?^_`{|}~-", byte(c)) >= 0
	}
	return t
}()

func hostPart(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
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

// target is somebody a call goes to. An odd one is not spelled as addresses are: nothing that the person gave is the same.
type target struct {
	address    string
	odd        bool
	start, end int // where it stands in the plain text
}

// targets are the addresses in an argument that holds recipients. Whatever has an @ and can't be read as an address is an odd one.
func targets(value string) (list []target) {
	text := plain(value)
	var raw map[string]bool // what really stands there, when that is not what an eye reads
	if text != value {
		raw = map[string]bool{}
		for _, w := range strings.FieldsFunc(value, func(r rune) bool { return !addressPart(r) }) {
			raw[fold(strings.Trim(w, "'"))] = true
		}
	}
	const enough = 20 // odd ones: the first asks already
	odd := 0
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			return list
		}
		i += at
		start, end := max(at, back(text, i, len(text), addressPart)), forth(text, i+1, len(text), addressPart)
		a := strings.TrimRight(text[start:end], ".")
		if len(a) > 2 && a[0] == '\'' && a[len(a)-1] == '\'' {
			a = a[1 : len(a)-1]
		}
		local, host, _ := strings.Cut(a, "@")
		switch at = max(end, i+1); {
		case regular(local, localPart) && regular(host, hostPart) && strings.IndexByte(host, '.') > 0 && len(local) <= maxLocal && len(host) <= maxHost:
			list = append(list, target{a, raw != nil && !raw[fold(a)], start, end})
		case local == "" && lonely(text, start) || host == "" && strings.IndexByte(text[i+1:min(len(text), i+300)], '.') < 0 && !strings.HasPrefix(text[i+1:], "["):
			// a handle (@arjun), or an @ in a sentence
		case odd < enough:
			odd++
			list = append(list, target{msg.OneLine(item(text, start, end), 120), true, start, end})
		}
	}
}

func addressPart(r rune) bool {
	return !unicode.IsSpace(r) && !strings.ContainsRune(",;<>()[]{}\":|\\`", r)
}

func regular(s string, is func(rune) bool) bool {
	return s != "" && s[0] != '.' && s[0] != '-' && !strings.Contains(s, "..") && forth(s, 0, len(s), is) == len(s)
}

// lonely: nothing stands before i in its item of a list.
func lonely(text string, i int) bool {
	before := strings.TrimRight(text[:i], " \t")
	return before == "" || strings.HasSuffix(before, ",") || strings.HasSuffix(before, ";") || strings.HasSuffix(before, "\n")
}

// item is what stands around a place between the separators of a list, at most 60 bytes to each side.
func item(text string, start, end int) string {
	from, to := max(0, start-60), min(len(text), end+60)
	if i := strings.LastIndexAny(text[from:start], ",;\n"); i >= 0 {
		from += i + 1
	}
	if i := strings.IndexAny(text[end:to], ",;\n"); i >= 0 {
		to = end + i
	}
	return strings.ToValidUTF8(text[from:to], "")
}

// addressList: the text is nothing but addresses, with or without names before them in <>.
func addressList(text string) bool {
	if strings.IndexByte(text, '@') < 0 || len(text) > 10_000 {
		return false
	}
	for _, it := range strings.FieldsFunc(plain(text), func(r rune) bool { return r == ',' || r == ';' || r == '\n' || r == '\r' }) {
		it = strings.TrimSpace(it)
		if i := strings.LastIndexByte(it, '<'); i >= 0 && strings.HasSuffix(it, ">") {
			it = it[i+1 : len(it)-1]
		}
		if it != "" && (strings.ContainsFunc(it, unicode.IsSpace) || strings.IndexByte(it, '@') <= 0) {
			return false
		}
	}
	return true
}

// mailboxes are the addresses that a header line names, without those that stand in a name (`"sam@example.com" <x@evil.example>`
// goes to the second).
func mailboxes(header string) (list []target) {
	quoted, angle, start := false, false, 0
	take := func(it string) {
		if i := strings.LastIndexByte(it, '<'); i >= 0 {
			it, _, _ = strings.Cut(it[i+1:], ">")
		}
		list = append(list, targets(it)...)
	}
	for i := range len(header) {
		switch c := header[i]; {
		case c == '"' && !angle:
			quoted = !quoted
		case c == '<' && !quoted:
			angle = true
		case c == '>' && !quoted:
			angle = false
		case (c == ',' || c == ';' || c == '\n') && !quoted && !angle:
			take(header[start:i])
			start = i + 1
		}
	}
	take(header[start:])
	return list
}

// bare is a header's first address, or its text.
func bare(header string) string {
	if list := mailboxes(header); len(list) > 0 {
		return list[0].address
	}
	return strings.TrimSpace(header)
}
