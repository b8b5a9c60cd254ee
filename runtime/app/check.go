package app

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // a computer without zone files still knows every zone
	"unicode"
	"unicode/utf8"
)

// ModelRoles are the seven roles a model can be chosen for.
func ModelRoles() []string {
	return []string{"primary", "fast", "planner", "executor", "embedding", "vision", "voice"}
}

// named says whether s has 1 to max characters, the first a letter, digit or one of first, the others also one of rest.
func named(s string, max int, first, rest string) bool {
	for i, r := range s {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !plain && !strings.ContainsRune(first, r) && (i == 0 || !strings.ContainsRune(rest, r)) {
			return false
		}
	}
	return s != "" && len(s) <= max
}

// checkText checks text by the name of its format; "" means it is fine. The sentence never repeats the text.
func checkText(format, s string) string {
	if s == "" {
		return checkEmpty(format)
	}
	ok, msg := true, ""
	switch format {
	case "required":
		ok, msg = strings.TrimSpace(s) != "", "This must not be empty."
	case "model":
		ok, msg = modelName(s), `Write a model as "provider/model", such as openai/gpt-5.`
	case "timezone":
		ok, msg = timezone(s), `Use "auto" or the name of a time zone, such as Europe/Berlin.`
	case "language":
		ok, msg = languageCode(s), "Use a language code such as en or pt-BR."
	case "clock":
		ok, msg = clock(s), "Write a time as HH:MM, such as 03:00."
	case "hours":
		from, to, cut := strings.Cut(s, "-")
		ok, msg = cut && clock(strings.TrimSpace(from)) && clock(strings.TrimSpace(to)), "Write two times as HH:MM-HH:MM, such as 22:00-07:00, or leave it empty."
	case "country":
		ok, msg = len(s) == 2 && letters(s), "Use the two letters of a country, such as DE, or leave it empty."
	case "url":
		ok, msg = webAddress(s), "Write an address that starts with http:// or https://, without a user name or password."
	case "env":
		ok, msg = named(s, 128, "_", "") && (s[0] < '0' || s[0] > '9'), "Write the name of an environment variable, never the key itself."
	case "header":
		ok, msg = named(s, 128, "!#$%&'*+.^_`|~-", ""), "Write the name of a header, never its value."
	case "kept":
		ok, msg = false, "Values are kept in the keychain. Leave this empty and set the value in Settings > Apps."
	case "abspath":
		ok, msg = filepath.IsAbs(s), "Write the whole path of the folder, or leave it empty."
	case "command":
		ok, msg = strings.TrimSpace(s) != "" && !strings.ContainsAny(s, "|&;<>`$\n\r"), "Write the beginning of one command, without | & ; < > ` or $."
	case "scope":
		ok, msg = memoryScope(s), "Use personal, work or the name of a project (at most 40 characters)."
	case "role":
		ok, msg = slices.Contains(ModelRoles(), s), "Choose one of: "+strings.Join(ModelRoles(), ", ")+"."
	}
	if ok {
		return ""
	}
	return msg
}

func checkEmpty(format string) string {
	switch format {
	case "required", "model", "timezone", "language", "clock", "command", "scope", "role", "header":
		return "This must not be empty."
	}
	return ""
}

// checkKey checks the key of a map entry by the name of its kind.
func checkKey(kind, key string) string {
	switch kind {
	case "role":
		if !slices.Contains(ModelRoles(), key) {
			return "There is no such role. Choose one of: " + strings.Join(ModelRoles(), ", ") + "."
		}
	case "rule":
		if key == "" {
			return "A rule needs the name of a tool or an app."
		}
	case "env":
		return checkTextKey("env", key)
	case "preset":
		if n := utf8.RuneCountInString(key); n < 1 || n > 40 || strings.TrimSpace(key) == "" || strings.ContainsAny(key, `/\`) {
			return "A preset's name has 1 to 40 characters and no slashes."
		}
	case "profile":
		if !named(key, 40, "-", "") || strings.ToLower(key) != key {
			return "A profile's name has up to 40 lower-case letters, digits and dashes."
		}
	case "name":
		if !named(key, 64, "", "._-") {
			return "This name has up to 64 letters, digits, dots, dashes and underscores, and starts with a letter or digit."
		}
	}
	return ""
}

func checkTextKey(format, key string) string {
	if key == "" {
		return "This must not be empty."
	}
	return checkText(format, key)
}

func letters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}

// languageCode is the part of BCP-47 that people use: a language of two or three letters and subtags of two to eight.
func languageCode(s string) bool {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '-' || r == '_' })
	for i, p := range parts {
		if low, high := 2, 8; len(p) < low || len(p) > high || i == 0 && (len(p) > 3 || !letters(p)) || !named(p, high, "", "") {
			return false
		}
	}
	return len(parts) > 0 && len(strings.Join(parts, "-")) == len(s)
}

func modelName(s string) bool {
	provider, model, ok := strings.Cut(s, "/")
	return ok && provider != "" && model != "" && !strings.ContainsFunc(s, unicode.IsSpace)
}

func timezone(s string) bool {
	if s == "auto" {
		return true
	}
	if s == "Local" || strings.Contains(s, "..") {
		return false
	}
	_, err := time.LoadLocation(s)
	return err == nil
}

func clock(s string) bool {
	if len(s) != 5 {
		return false
	}
	_, err := time.Parse("15:04", s)
	return err == nil
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil
}

// memoryScope: always holds for every chat, so it cannot be picked for one (section 7).
func memoryScope(s string) bool {
	t := strings.TrimSpace(s)
	return t != "" && utf8.RuneCountInString(t) <= 40 && !strings.EqualFold(t, "always")
}

// endpoint writes a DevTools address out in full: 9333 and 127.0.0.1:9333 become http://127.0.0.1:9333 (section 12).
func endpoint(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), "/")
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n < 1<<16 {
		return "http://127.0.0.1:" + s
	}
	if s != "" && !strings.Contains(s, "://") {
		return "http://" + s
	}
	return s
}

func loopbackEndpoint(s string) bool {
	u, err := url.Parse(s)
	if err != nil || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) || u.User != nil {
		return false
	}
	return isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
