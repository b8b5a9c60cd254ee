package secret

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
	"golang.org/x/crypto/scrypt"
)

// The file is an age file whose file key is wrapped by a 32-byte key of ours (ChaCha20-Poly1305), either the one in the key file or one
// made from SENTIENT_SECRETS_KEY by scrypt. The stanza says which, so a wrong key can be explained.
const (
	stanzaFile   = "sentient-keyfile"
	stanzaPhrase = "sentient-phrase"
	saltBytes    = 16
	// scrypt with these needs 16 MB and about 50 ms, once per process, and only where SENTIENT_SECRETS_KEY is set.
	scryptN, scryptR, scryptP = 1 << 14, 8, 1
)

// lock wraps and unwraps the file key. It is an age.Recipient and an age.Identity.
type lock struct {
	phrase string // SENTIENT_SECRETS_KEY; "" when key is used
	key    []byte // from the key file
	salt   []byte // of phrase
	made   []byte // from phrase and salt
}

var (
	errOtherKind = errors.New("another kind of key")
	errWrongKey  = errors.New("wrong key")
)

func (l *lock) derive(salt []byte) ([]byte, error) {
	if l.made != nil && bytes.Equal(salt, l.salt) {
		return l.made, nil
	}
	key, err := scrypt.Key([]byte(l.phrase), salt, scryptN, scryptR, scryptP, chacha20poly1305.KeySize)
	if err == nil {
		l.salt, l.made = bytes.Clone(salt), key
	}
	return key, err
}

// Wrap is age.Recipient.
func (l *lock) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	stanza, key := &age.Stanza{Type: stanzaFile}, l.key
	if l.phrase != "" {
		salt := l.salt
		if salt == nil {
			salt = random(saltBytes)
		}
		var err error
		if key, err = l.derive(salt); err != nil {
			return nil, err
		}
		stanza.Type, stanza.Args = stanzaPhrase, []string{hex.EncodeToString(salt)}
	}
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, err
	}
	nonce := random(aead.NonceSize())
	stanza.Body = aead.Seal(nonce, nonce, fileKey, []byte(stanza.Type))
	return []*age.Stanza{stanza}, nil
}

// Unwrap is age.Identity.
func (l *lock) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	for _, s := range stanzas {
		key := l.key
		switch {
		case s.Type == stanzaPhrase && l.phrase != "" && len(s.Args) == 1:
			salt, err := hex.DecodeString(s.Args[0])
			if err != nil || len(salt) != saltBytes {
				return nil, errWrongKey
			}
			if key, err = l.derive(salt); err != nil {
				return nil, err
			}
		case s.Type == stanzaFile && l.phrase == "":
		case s.Type == stanzaPhrase || s.Type == stanzaFile:
			return nil, errOtherKind
		default:
			continue
		}
		aead, err := chacha20poly1305.NewX(key)
		if err != nil {
			return nil, err
		}
		if len(s.Body) < aead.NonceSize() {
			return nil, errWrongKey
		}
		fileKey, err := aead.Open(nil, s.Body[:aead.NonceSize()], s.Body[aead.NonceSize():], []byte(s.Type))
		if err != nil {
			return nil, errWrongKey
		}
		return fileKey, nil
	}
	return nil, age.ErrIncorrectIdentity
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: the process ends instead
	return b
}

func (l *lock) seal(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := age.Encrypt(&out, l)
	if err != nil {
		return nil, errors.New("the secrets could not be encrypted")
	}
	if _, err := w.Write(plain); err != nil {
		return nil, errors.New("the secrets could not be encrypted")
	}
	if err := w.Close(); err != nil {
		return nil, errors.New("the secrets could not be encrypted")
	}
	return out.Bytes(), nil
}

// open decrypts; every error says what to do and that the file is kept.
func (l *lock) open(sealed []byte) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), l)
	switch {
	case errors.Is(err, errOtherKind) && l.phrase != "":
		return nil, errors.New("secrets.enc was written with its key file, not with SENTIENT_SECRETS_KEY. Unset SENTIENT_SECRETS_KEY; the file was kept")
	case errors.Is(err, errOtherKind):
		return nil, errors.New("secrets.enc was written with SENTIENT_SECRETS_KEY, which is not set. Set it again; the file was kept")
	case errors.Is(err, errWrongKey) && l.phrase != "":
		return nil, errors.New("SENTIENT_SECRETS_KEY does not open secrets.enc. Set the one it was written with; the file was kept")
	case errors.Is(err, errWrongKey):
		return nil, errors.New("secrets.key does not open secrets.enc. Put back the key file that belongs to it; the file was kept")
	case err != nil:
		return nil, errDamaged
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxFile))
	if err != nil {
		return nil, errDamaged
	}
	return plain, nil
}

var errDamaged = errors.New("secrets.enc is damaged and was kept. Restore it from a copy, or move it away and enter the keys again")

// readLock finds the key. create makes a key file when there is none.
func readLock(phrase, path string, create bool) (*lock, error) {
	if phrase != "" {
		return &lock{phrase: phrase}, nil
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		key := random(chacha20poly1305.KeySize)
		if err := writeAtomic(path, []byte(hex.EncodeToString(key)+"\n")); err != nil {
			return nil, fmt.Errorf("the key of the secrets file could not be written: %w", plainPathError(err))
		}
		return &lock{key: key}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("secrets.enc is there but its key is not. Put secrets.key back or set SENTIENT_SECRETS_KEY; the file was kept")
	case err != nil:
		return nil, fmt.Errorf("secrets.key cannot be read: %w", plainPathError(err))
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != chacha20poly1305.KeySize {
		return nil, errors.New("secrets.key is damaged. Put back the key file that belongs to secrets.enc")
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(path, 0o600); err != nil {
			return nil, fmt.Errorf("secrets.key is open to others and cannot be closed: %w", plainPathError(err))
		}
	}
	return &lock{key: key}, nil
}
