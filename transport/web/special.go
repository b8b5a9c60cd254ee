package web

import (
	"net/netip"
	"sync"
)

// special4 are the IPv4 ranges that are not the public internet.
var special4 = prefixes(
	"0.0.0.0/8",      // this network
	"10.0.0.0/8",     // private
	"100.64.0.0/10",  // shared (CGNAT); a cloud's metadata service too
	"127.0.0.0/8",    // loopback
	"169.254.0.0/16", // link-local; the clouds' metadata service
	"172.16.0.0/12",  // private
	"192.0.0.0/24",   // protocol assignments; a cloud's metadata service too
	"192.0.2.0/24",   // documentation
	"192.88.99.0/24", // former 6to4 relays
	"192.168.0.0/16", // private
	"198.18.0.0/15",  // benchmarks
	"198.51.100.0/24",
	"203.0.113.0/24",
	"168.63.129.16/32", // a cloud's host service, in public space
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
)

// special6 are the ranges inside 2000::/3 that are not the public internet.
var special6 = prefixes(
	"2001::/23",     // protocol assignments, Teredo among them, which wraps IPv4
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4, which wraps IPv4
	"3fff::/20",     // documentation
)

func prefixes(list ...string) func() []netip.Prefix {
	return sync.OnceValue(func() []netip.Prefix {
		out := make([]netip.Prefix, len(list))
		for i, s := range list {
			out[i] = netip.MustParsePrefix(s)
		}
		return out
	})
}
