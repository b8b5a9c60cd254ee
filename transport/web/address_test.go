package web

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestPublic(t *testing.T) {
	private := map[string][]string{
		"unspecified":   {"0.0.0.0", "0.1.2.3", "::"},
		"private":       {"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fc00::1", "fd12::1"},
		"loopback":      {"127.0.0.1", "127.255.0.9", "::1"},
		"link-local":    {"169.254.1.1", "fe80::1", "fe80::1%eth0"},
		"site-local":    {"fec0::1"},
		"metadata":      {"169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"},
		"shared":        {"100.64.0.1", "100.127.255.255"},
		"multicast":     {"224.0.0.1", "239.255.255.255", "ff02::1"},
		"reserved":      {"240.0.0.1", "255.255.255.255", "192.0.0.8", "100::1", "5f00::1"},
		"documentation": {"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"},
		"benchmark":     {"198.18.0.1", "198.19.255.255", "2001:2::1"},
		"mapped":        {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe"},
		"compatible":    {"::127.0.0.1", "::8.8.8.8"},
		"nat64":         {"64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808"},
		"6to4, teredo":  {"2002:7f00:1::1", "2002:808:808::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2"},
	}
	for class, list := range private {
		for _, s := range list {
			if Public(netip.MustParseAddr(s)) {
				t.Errorf("%s: %s", class, s)
			}
		}
	}
	for _, s := range []string{"8.8.8.8", "93.184.216.34", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "2606:4700::1111", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808"} {
		if !Public(netip.MustParseAddr(s)) {
			t.Errorf("%s is public", s)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address at all")
	}
}

func TestCheckURL(t *testing.T) {
	for in, want := range map[string]string{
		" https://example.com/a?b=c#d ": "https://example.com/a?b=c", "http://EXAMPLE.com:8080": "http://EXAMPLE.com:8080", "https://8.8.8.8/": "https://8.8.8.8/",
		"https://[2606:4700::1111]:8443/": "https://[2606:4700::1111]:8443/", "HTTP://example.com:80/": "http://example.com:80/",
	} {
		if u, err := CheckURL(in); err != nil || u.String() != want {
			t.Errorf("%s: %v %v", in, u, err)
		}
	}
	for _, in := range []string{"", "example.com", "ftp://example.com", "file:///etc/passwd", "javascript:alert(1)", "https:example.com", "https://", "https:///x", "https://me:pw@example.com/",
		"https://example.com:22/", "https://example.com:0/", "https://exa mple.com/", "https://example.com/" + strings.Repeat("a", maxURL), "http://[::1", "gopher://x", "//example.com"} {
		if u, err := CheckURL(in); err == nil {
			t.Errorf("%.60s gave %v", in, u)
		}
	}
	for _, in := range []string{"http://localhost/", "http://LOCALHOST./", "http://a.localhost:8080", "http://printer.local", "http://metadata.google.internal/", "http://127.0.0.1/", "http://[::1]/",
		"http://[::ffff:169.254.169.254]/", "http://10.0.0.1:8080/", "http://0.0.0.0/", "http://[fe80::1%25eth0]/"} {
		if _, err := CheckURL(in); !errors.Is(err, ErrPrivate) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://example.com", "http://127.0.0.1", "http://[::ffff:7f00:1]", "http://0x7f.1", "http://a@b", "http://[fe80::1%25en0]:80/", "https://例え.jp", "http:\\\\x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := CheckURL(raw)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Hostname() == "" || checkPort(u.Port()) != nil {
			t.Fatalf("%q gave %v", raw, u)
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !Public(ip) {
			t.Fatalf("%q leads to %v", raw, ip)
		}
		again, err := CheckURL(u.String())
		if err != nil || again.Hostname() != u.Hostname() {
			t.Fatalf("%q is read differently the second time: %v %v", raw, again, err)
		}
	})
}
