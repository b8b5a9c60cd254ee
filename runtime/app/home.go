package app

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// Home is the folder that holds everything of one engine.
type Home struct {
	Dir     string // absolute
	Default bool   // it is ~/.sentient
}

// FindHome is the folder named by SENTIENT_HOME, or ~/.sentient. userHome is the person's own folder.
func FindHome(getenv func(string) string, userHome string) (Home, error) {
	if userHome == "" && getenv("SENTIENT_HOME") == "" {
		return Home{}, errors.New("there is no home folder to keep data in. Set SENTIENT_HOME to a folder")
	}
	standard := filepath.Join(userHome, ".sentient")
	dir := getenv("SENTIENT_HOME")
	switch {
	case dir == "":
		dir = standard
	case dir == "~":
		dir = userHome
	case strings.HasPrefix(dir, "~/"):
		dir = filepath.Join(userHome, dir[2:])
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Home{}, fmt.Errorf("SENTIENT_HOME is not a usable path: %w", err)
	}
	return Home{Dir: dir, Default: sameFolder(dir, standard)}, nil
}

func sameFolder(a, b string) bool {
	if a == b {
		return true
	}
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// The places in a home folder.
func (h Home) ConfigFile() string { return filepath.Join(h.Dir, "config.yaml") }
func (h Home) Store() string      { return filepath.Join(h.Dir, "store") }
func (h Home) Search() string     { return filepath.Join(h.Dir, "search") }
func (h Home) Files() string      { return filepath.Join(h.Dir, "files") }
func (h Home) Workspace() string  { return filepath.Join(h.Dir, "workspace") }
func (h Home) Skills() string     { return filepath.Join(h.Dir, "skills") }
func (h Home) Models() string     { return filepath.Join(h.Dir, "models") }
func (h Home) Snapshots() string  { return filepath.Join(h.Dir, "snapshots") }
func (h Home) Browser() string    { return filepath.Join(h.Dir, "browser") }
func (h Home) Sandbox() string    { return filepath.Join(h.Dir, "sandbox") }
func (h Home) TLS() string        { return filepath.Join(h.Dir, "tls") }
func (h Home) Log() string        { return filepath.Join(h.Dir, "logs", "engine.log") }
func (h Home) TokenFile() string  { return filepath.Join(h.Dir, "gateway.token") }
func (h Home) Discovery() string  { return filepath.Join(h.Dir, "engine-discovery.json") }

// Prepare makes the folder and keeps others out of it (mode 700).
func (h Home) Prepare() error {
	if err := os.MkdirAll(h.Dir, 0o700); err != nil {
		return fmt.Errorf("the data folder cannot be made: %w. Check SENTIENT_HOME and the permissions", err)
	}
	info, err := os.Stat(h.Dir)
	if err != nil {
		return fmt.Errorf("the data folder cannot be used: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(h.Dir, 0o700); err != nil {
			return fmt.Errorf("the data folder is open to others and cannot be closed: %w", err)
		}
	}
	return nil
}

// Token is the gateway's token: SENTIENT_GATEWAY_TOKEN, or what gateway.token holds, which is made at the first start from 32 random
// bytes and readable by its owner only.
func (h Home) Token(getenv func(string) string) (string, error) {
	if t := strings.TrimSpace(getenv("SENTIENT_GATEWAY_TOKEN")); t != "" {
		if !tokenText(t) {
			return "", errors.New("SENTIENT_GATEWAY_TOKEN must be printable text without spaces. Choose another one")
		}
		return t, nil
	}
	data, err := os.ReadFile(h.TokenFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("gateway.token cannot be read: %w. Check its permissions", plainPathError(err))
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return h.newToken()
	}
	if !tokenText(token) {
		return "", errors.New("gateway.token is damaged. Delete it and start again to get a new one")
	}
	if info, err := os.Stat(h.TokenFile()); err == nil && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(h.TokenFile(), 0o600); err != nil {
			return "", fmt.Errorf("gateway.token is open to others and cannot be closed: %w", plainPathError(err))
		}
	}
	return token, nil
}

func (h Home) newToken() (string, error) {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails: the process ends instead
	token := hex.EncodeToString(raw)
	_ = os.Remove(h.TokenFile()) // an empty one may have other permissions
	if err := writeAtomic(h.TokenFile(), []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("gateway.token cannot be written: %w. Check the disk's space and the permissions", plainPathError(err))
	}
	return token, nil
}

func tokenText(s string) bool {
	return len(s) <= 4096 && !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f })
}

type discovery struct {
	Address string `json:"address"`
}

// Address is how programs on this computer reach a listener: one bound to every interface is reached by loopback. An address
// that only the network reaches is an error, because what is written down must be a loopback address.
func Address(bound net.Addr) (string, error) {
	ap, err := netip.ParseAddrPort(bound.String())
	if err != nil {
		return "", errors.New("the engine listens on something that has no port")
	}
	ip := ap.Addr().Unmap()
	if ip.IsUnspecified() {
		ip = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if !ip.IsLoopback() {
		return "", errors.New("the engine listens on a network address only, so programs on this computer cannot find it by themselves")
	}
	return "http://" + netip.AddrPortFrom(ip, ap.Port()).String(), nil
}

// WriteDiscovery writes down where the engine listens, and never a secret.
func (h Home) WriteDiscovery(address string) error {
	data, err := json.Marshal(discovery{address})
	if err == nil {
		err = writeAtomic(h.Discovery(), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("engine-discovery.json cannot be written: %w", plainPathError(err))
	}
	return nil
}

// RemoveDiscovery takes the file away if it still names this address; another engine's file stays.
func (h Home) RemoveDiscovery(address string) error {
	found, err := h.ReadDiscovery()
	if err != nil || found != address {
		return nil
	}
	if err := os.Remove(h.Discovery()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("engine-discovery.json cannot be removed: %w", plainPathError(err))
	}
	return nil
}

// ReadDiscovery is where the engine of this home listens, for the programs that look for it.
func (h Home) ReadDiscovery() (string, error) {
	data, err := os.ReadFile(h.Discovery())
	if err != nil {
		return "", errors.New("no engine is running in this data folder. Start it with: sentient serve")
	}
	var d discovery
	if err := json.Unmarshal(data, &d); err != nil || d.Address == "" {
		return "", errors.New("engine-discovery.json is damaged. Restart the engine")
	}
	return d.Address, nil
}
