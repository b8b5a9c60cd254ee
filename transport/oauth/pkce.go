package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// Random is 32 random bytes in URL-safe letters: a state, a nonce or a PKCE verifier (43 characters, RFC 7636, 4.1).
func Random() string {
	var b [32]byte
	rand.Read(b[:]) // never fails since Go 1.24
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Challenge is the S256 challenge of a verifier (RFC 7636, 4.2).
func Challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
