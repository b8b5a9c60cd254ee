package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"strings"

	"golang.org/x/text/cases"
)

// defaultService is the keychain service of the default data folder.
const defaultService = "sentient"

// Service is the keychain service of a data folder (section 3, A-326, A-327). The default folder (~/.sentient) uses "sentient"; any other
// uses "sentient-" and the first 12 hex digits of the SHA-256 of its resolved, case-folded path. namespace, when not empty, decides
// instead: only "default", in any case, shares the default folder's entries.
func Service(home, defaultHome, namespace string) string {
	if namespace != "" {
		return named(namespace)
	}
	path := fold(home)
	if path == fold(defaultHome) {
		return defaultService
	}
	return defaultService + "-" + digest(path)
}

func named(word string) string {
	if strings.EqualFold(word, "default") {
		return defaultService
	}
	slug := slugOf(word)
	if slug == "" || slug == "default" {
		return defaultService + "-x" + digest(word)
	}
	return defaultService + "-" + slug
}

// slugOf is lower case; each run of other characters than letters and digits becomes one dash, none at the ends.
func slugOf(s string) string {
	parts := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(parts, "-")
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:12]
}

// fold is a path as it counts: absolute, with links resolved as far as it exists, and without regard to case.
func fold(path string) string {
	if path == "" {
		return ""
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return cases.Fold().String(resolve(filepath.Clean(path)))
}

func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}
