package look

import (
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// link is where a text leads: the host alone, and the whole address without its scheme and fragment.
type link struct{ host, whole string }

const maxLink = 2000 // bytes of a link that are read

// links are the links of a text: addresses with a scheme, of www., and a bare host with a path. Each goes from one fixed
// character to the next, so the time grows with the length alone.
func links(text string) (list []link) {
	add := func(start, end int, dotted bool) {
		if end-start > 2 && (!dotted || strings.IndexByte(text[start:end], '.') > 0) {
			if l := readLink(text[start:end]); l.host != "" {
				list = append(list, l)
			}
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
		case strings.HasPrefix(text[i:], "//") && (i == 0 || text[i-1] != '/'):
			end := forth(text, i+2, maxLink, linkPart)
			add(i+2, end, i == 0 || text[i-1] != ':')
			at = max(end, i+2)
		case i > 0 && text[i-1] != '/' && text[i-1] != ':':
			if start := back(text, i, maxHost, hostPart); i-start > 3 && (start == 0 || text[start-1] != '@') {
				end := forth(text, i, maxLink, linkPart)
				add(start, end, true)
				at = max(end, at)
			}
		}
	}
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '.')
		if i < 0 {
			return list
		}
		i += at
		at = i + 1
		if i >= 3 && strings.EqualFold(text[i-3:i], "www") && (i == 3 || text[i-4] != '/') {
			end := forth(text, i, maxHost, hostPart)
			add(i-3, end, true)
			at = max(end, at)
		}
	}
}

func linkPart(r rune) bool {
	return r > ' ' && !strings.ContainsRune("\"'<>)]}`", r) && (r < 0x80 || !unicode.IsSpace(r))
}

// readLink reads a link without its scheme.
func readLink(s string) link {
	s, _, _ = strings.Cut(s, "#")
	end := strings.IndexAny(s, `/?\`)
	if end < 0 {
		end = len(s)
	}
	authority, path := s[:end], strings.TrimRight(s[end:], "/.,;:!?*_")
	authority = authority[strings.LastIndexByte(authority, '@')+1:]
	if !strings.HasPrefix(authority, "[") {
		authority, _, _ = strings.Cut(authority, ":")
	}
	h := host(authority)
	if h == "" {
		return link{}
	}
	return link{h, h + path}
}

// host is a host's name in the one spelling in which two are compared: ASCII (punycode), small letters, without "www.".
func host(name string) string {
	if strings.IndexByte(name, '%') >= 0 {
		if s, err := url.PathUnescape(name); err == nil {
			name = plain(s)
		}
	}
	if name != "" && !(isAlnum(name[0]) && isAlnum(name[len(name)-1])) {
		name = strings.Trim(name, ".*_,;!-")
	}
	if !ascii(name) {
		if s, err := idna.Lookup.ToASCII(name); err == nil {
			name = s
		}
	}
	return strings.TrimPrefix(strings.ToLower(name), "www.")
}

// domains are the host names in a text, also where they are no links; mail says that an @ stands before one.
func domains(text string, each func(host string, mail bool)) {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '.')
		if i < 0 {
			return
		}
		i += at
		start := max(at, back(text, i, maxHost, hostPart))
		end := forth(text, i, maxHost, hostPart)
		at = max(end, i+1)
		name := strings.Trim(text[start:end], ".-")
		dot := strings.LastIndexByte(name, '.')
		if dot <= 0 || forth(name, dot+1, maxHost, func(r rune) bool { return unicode.IsLetter(r) || r == '-' || r >= '0' && r <= '9' }) != len(name) || !unicode.IsLetter(rune(name[dot+1])) && name[dot+1] < 0x80 || len(name)-dot < 3 {
			continue
		}
		each(host(name), start > 0 && text[start-1] == '@')
	}
}

// domain is the part of an address's domain that somebody registers.
func domain(address string) string {
	_, name, _ := strings.Cut(fold(address), "@")
	name = host(name)
	if d, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil {
		return d
	}
	return name
}

// everybodys: the domain gives addresses to anyone, so two at it are strangers.
func everybodys(domain string) bool {
	name, _, _ := strings.Cut(domain, ".")
	switch name {
	case "gmail", "googlemail", "outlook", "hotmail", "live", "msn", "yahoo", "ymail", "icloud", "me", "mac", "aol", "gmx", "web", "mail", "proton", "protonmail", "pm",
		"zoho", "yandex", "qq", "163", "126", "naver", "fastmail", "hey", "tutanota", "rediffmail", "hushmail", "mailinator":
		return true
	}
	return false
}
