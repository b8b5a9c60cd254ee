package web

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

const maxURL = 8192 // bytes

// ErrPrivate says that an address belongs to this computer or a private network.
var ErrPrivate = errors.New("this address is inside a private network or on this computer, and only public web pages are opened")

// CheckURL reads an address and says whether it may be opened as far as the text tells; the host's IP addresses are checked
// when it is dialled. The fragment is dropped.
func CheckURL(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if len(raw) > maxURL {
		return nil, errors.New("this address is too long")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return nil, errors.New("this is not a web address: it should look like https://example.com/page")
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("only addresses that begin with http:// or https:// are opened")
	}
	if u.User != nil {
		return nil, errors.New("addresses with a user name or password in them are not opened")
	}
	if err := checkPort(u.Port()); err != nil {
		return nil, err
	}
	if err := checkHost(u.Hostname()); err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

func checkPort(port string) error {
	switch port {
	case "", "80", "443", "8080", "8443":
		return nil
	}
	return fmt.Errorf("the port %s is not one of the web: only 80, 443, 8080 and 8443 are opened", port)
}

func checkHost(host string) error {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" {
		return errors.New("this address has no host")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if !Public(ip) {
			return ErrPrivate
		}
		return nil
	}
	for _, name := range [...]string{"localhost", "local", "internal", "intranet", "lan", "home", "corp", "arpa"} {
		if host == name || strings.HasSuffix(host, "."+name) {
			return ErrPrivate
		}
	}
	return nil
}

// Public says whether an IP address belongs to the public internet: not private, loopback, link-local, multicast, shared
// (CGNAT), unspecified, reserved, for documentation or benchmarks, nor a cloud's metadata service; nor an IPv6 form that
// wraps such an address (IANA's special-purpose registries, RFC 6890).
func Public(ip netip.Addr) bool {
	if !ip.IsValid() || ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	if ip.Is4() {
		return !within(ip, special4)
	}
	if nat64.Contains(ip) {
		b := ip.As16()
		return Public(netip.AddrFrom4([4]byte(b[12:])))
	}
	return global6.Contains(ip) && !within(ip, special6)
}

func within(ip netip.Addr, list func() []netip.Prefix) bool {
	for _, p := range list() {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

var (
	global6 = netip.MustParsePrefix("2000::/3") // all that IANA gives out for the internet
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
)
