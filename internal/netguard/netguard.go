// Package netguard tells addresses of the public internet from those of private and special
// networks, and dials the public ones only.
//
// The name of a host says nothing about where it leads, because its owner decides that. So the
// guard looks at the address that a connection is about to be made to, after the name was resolved.
package netguard

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ErrPrivate is an address inside this machine, its network, or a network that leads nowhere.
var ErrPrivate = errors.New("leads into a private network; set allow_private: true if that is meant")

// special are the networks that are no place of the public internet, beside IPv6 outside of
// 2000::/3 (see Public). The numbers are those of RFCs.
var special = prefixes(
	"0.0.0.0/8",        // 791: this network
	"10.0.0.0/8",       // 1918: private
	"100.64.0.0/10",    // 6598: shared by providers; also used inside of clouds
	"127.0.0.0/8",      // 1122: loopback
	"168.63.129.16/32", // none: the host of a virtual machine in Azure
	"169.254.0.0/16",   // 3927: link-local; the metadata of clouds
	"172.16.0.0/12",    // 1918: private
	"192.0.0.0/24",     // 6890: protocols
	"192.0.2.0/24",     // 5737: documentation
	"192.88.99.0/24",   // 7526: relays of 6to4, no longer used
	"192.168.0.0/16",   // 1918: private
	"198.18.0.0/15",    // 2544: benchmarks
	"198.51.100.0/24",  // 5737: documentation
	"203.0.113.0/24",   // 5737: documentation
	"224.0.0.0/4",      // 5771: multicast
	"240.0.0.0/4",      // 1112: reserved; and broadcast, 919
	"2001::/23",        // 2928: protocols
	"2001:db8::/32",    // 3849: documentation
	"3fff::/20",        // 9637: documentation
)

// public6 is what of IPv6 was given to the internet (RFC 4291). Outside of it are loopback and
// ::a.b.c.d (4291), translators inside a network (64:ff9b:1::/48, 8215), discard (100::/64, 6666),
// segment routing (5f00::/16, 9602), private (fc00::/7, 4193), link-local (fe80::/10, 4291), what
// was site-local (fec0::/10, 3879) and multicast (ff00::/8, 4291).
var public6 = netip.MustParsePrefix("2000::/3")

// Forms of IPv6 that lead to an IPv4 address inside them, which then is the one to judge.
var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96") // 6052: the last four bytes
	sixToFour = netip.MustParsePrefix("2002::/16")    // 3056: bytes 2 to 5
	teredo    = netip.MustParsePrefix("2001::/32")    // 4380: server in bytes 4 to 7, client in the last four, inverted
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// Public reports whether an address is one of the public internet. An invalid one is not.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		b := a.As16()
		four := func(at int, flip byte) bool {
			return Public(netip.AddrFrom4([4]byte{b[at] ^ flip, b[at+1] ^ flip, b[at+2] ^ flip, b[at+3] ^ flip}))
		}
		switch {
		case nat64.Contains(a):
			return four(12, 0)
		case sixToFour.Contains(a):
			return four(2, 0)
		case teredo.Contains(a):
			return four(4, 0) && four(12, 0xff)
		case !public6.Contains(a):
			return false
		}
	}
	return a.IsValid() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

// localNames are the ends of names that no server of the internet answers to: RFC 6761, 6762,
// 8375, ICANN's .internal, and what home networks and offices use.
var localNames = []string{"localhost", "localdomain", "local", "internal", "intranet", "private", "corp", "home", "lan", "home.arpa", "invalid"}

// PublicHost reports whether the host of an address, without a port, can be one of the public
// internet as far as its text tells: nothing is resolved. It may be a name or an IP address, with
// or without brackets.
func PublicHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return Public(a)
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	// Browsers read 127.1, 2130706433 and 0x7f.1 as addresses; no name ends with a number.
	if last == host || last == "" || '0' <= last[0] && last[0] <= '9' && strings.Trim(last, "0123456789abcdefx") == "" {
		return false
	}
	return !slices.ContainsFunc(localNames, func(end string) bool { return host == end || strings.HasSuffix(host, "."+end) })
}

// Dialer connects to public addresses only, unless allowPrivate is set; timeout is that of one
// connection. The error for another address is ErrPrivate.
func Dialer(timeout time.Duration, allowPrivate bool) *net.Dialer {
	d := &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}
	if !allowPrivate {
		d.Control = publicOnly
	}
	return d
}

// mostHead bounds the head of an answer in bytes, for each request.
const mostHead = 64 << 10

// Transport connects as Dialer does; timeout is that of one connection, and of its TLS. It uses no proxy: that would be asked by
// name, and the guard would look at the proxy's address. A head of more than 64 KB is an error.
func Transport(timeout time.Duration, allowPrivate bool) *http.Transport {
	return &http.Transport{
		DialContext: Dialer(timeout, allowPrivate).DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: timeout,
		IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: mostHead,
	}
}

// NoRedirect is a CheckRedirect of http.Client: a redirect is the answer.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// publicOnly is a Control of net.Dialer: address is the one that was resolved.
func publicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !Public(at.Addr()) {
		return ErrPrivate // the dialler puts the address in front of it
	}
	return nil
}
