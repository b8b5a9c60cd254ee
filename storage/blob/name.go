package blob

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The folders with a meaning of their own. Files elsewhere are the person's and the assistant's.
const (
	Uploads    = "uploads"
	Screens    = "screens"
	Selections = "selections"
	Outputs    = "outputs"
	Downloads  = "downloads"
)

const (
	tempDir      = ".tmp" // unfinished saves; never listed, emptied at Open
	maxPartBytes = 255    // of one folder or file name, the limit of common file systems
	maxNameBytes = 2048   // of the whole relative name
)

// ErrName says that a name cannot be used. The wrapping error says why.
var ErrName = errors.New("this file name cannot be used")

// CheckName says whether name can be the name of a file in the folder: relative, with forward slashes, valid UTF-8, without
// "." and ".." parts, and usable on every system the files may be copied to.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrName)
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: it is not valid text (UTF-8)", ErrName)
	case len(name) > maxNameBytes:
		return fmt.Errorf("%w: it is longer than %d bytes", ErrName, maxNameBytes)
	case strings.HasPrefix(name, "/"):
		return fmt.Errorf("%w: give a name inside the files folder, without a leading slash", ErrName)
	}
	for part := range strings.SplitSeq(name, "/") {
		if err := checkPart(part); err != nil {
			return err
		}
	}
	if first, _, _ := strings.Cut(name, "/"); first == tempDir {
		return fmt.Errorf("%w: the folder %s is kept for unfinished saves", ErrName, tempDir)
	}
	return nil
}

func checkPart(part string) error {
	switch {
	case part == "":
		return fmt.Errorf("%w: a part of it is empty", ErrName)
	case part == "." || part == "..":
		return fmt.Errorf("%w: it may not lead to another folder with %q", ErrName, part)
	case len(part) > maxPartBytes:
		return fmt.Errorf("%w: a part of it is longer than %d bytes", ErrName, maxPartBytes)
	case strings.ContainsFunc(part, badRune):
		return fmt.Errorf(`%w: it has a character that file names cannot have (control characters, < > : " | ? * and \)`, ErrName)
	case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
		return fmt.Errorf("%w: a part of it ends with a dot or a space", ErrName)
	case reserved(part):
		return fmt.Errorf("%w: %q is the name of a device on Windows", ErrName, part)
	}
	return nil
}

func badRune(r rune) bool {
	return unicode.IsControl(r) || strings.ContainsRune(`<>:"|?*\`, r)
}

// reserved knows the device names of Windows, which it finds in "NUL", "nul.txt" and "Nul .a.b" alike.
func reserved(part string) bool {
	base, _, _ := strings.Cut(part, ".")
	switch base = strings.ToUpper(strings.TrimRight(base, " ")); base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	rest, ok := strings.CutPrefix(base, "COM")
	if !ok {
		rest, ok = strings.CutPrefix(base, "LPT")
	}
	return ok && len([]rune(rest)) == 1 && strings.ContainsAny(rest, "0123456789¹²³")
}

// cleanBase makes a usable file name of what a client called its file: the last part of a path, bad characters replaced,
// short enough to get a suffix.
func cleanBase(client string) string {
	client = strings.ToValidUTF8(client, "_")
	client = client[strings.LastIndexAny(client, `/\`)+1:]
	client = strings.Map(func(r rune) rune {
		if badRune(r) {
			return '_'
		}
		return r
	}, client)
	client = strings.TrimRight(strings.TrimSpace(client), ". ")
	if strings.Trim(client, ".") == "" {
		client = "file"
	}
	if reserved(client) || client == tempDir {
		client = "_" + client
	}
	stem, ext := splitExt(client)
	const room = 24 // for " (123456)" or a random part
	if len(ext) > 32 {
		stem, ext = client, ""
	}
	return strings.TrimRight(cutBytes(stem, maxPartBytes-room-len(ext)), ". ") + ext
}

// splitExt splits before the last dot; a leading dot does not start an extension.
func splitExt(base string) (stem, ext string) {
	ext = path.Ext(base)
	if ext == base || ext == "." {
		return base, ""
	}
	return strings.TrimSuffix(base, ext), ext
}

func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// IncognitoDir is the folder of an incognito chat's long tool results. The session id must be plain.
func IncognitoDir(session string) (string, error) {
	ok := session != "" && len(session) <= 128 && !strings.ContainsFunc(session, func(r rune) bool {
		return !(r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	if !ok {
		return "", fmt.Errorf("%w: a chat's id has only letters, digits, - and _", ErrName)
	}
	return Outputs + "/" + incognitoPrefix + session, nil
}

const incognitoPrefix = "incognito-"

// IncognitoSession is the id of the incognito chat that a name's file belongs to, if it belongs to one.
func IncognitoSession(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, Outputs+"/"+incognitoPrefix)
	if !ok {
		return "", false
	}
	session, _, _ := strings.Cut(rest, "/")
	return session, session != ""
}
