package enricher

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// errPrivate refuses an address that only machines near us can reach. The name of a host says
// nothing about it, because its owner says where it leads, so the address is looked at that
// the connection is about to be made to.
var errPrivate = errors.New("its address is private or loopback, and the connector does not have allow_private: true")

// reserved are the networks that netip.Addr has no word for and that lead to nobody's API.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared by carriers; also used inside of clouds
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001:db8::/32"),
}

// Forms of IPv6 address that lead to an IPv4 address inside them.
var (
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
)

// public reports whether addr may be asked by anybody anywhere.
func public(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		b := addr.As16()
		switch {
		case nat64.Contains(addr):
			return public(netip.AddrFrom4([4]byte(b[12:16])))
		case sixToFour.Contains(addr):
			return public(netip.AddrFrom4([4]byte(b[2:6])))
		}
	}
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

// publicOnly is a Control of net.Dialer: address is the one that was resolved.
func publicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !public(at.Addr()) {
		return errPrivate
	}
	return nil
}

// transport dials by the rule. It uses no proxy: that would be asked by name, and the guard
// would look at the proxy's address.
func transport(timeout time.Duration, private bool) *http.Transport {
	d := &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}
	if !private {
		d.Control = publicOnly
	}
	return &http.Transport{
		DialContext: d.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: 32, MaxIdleConnsPerHost: 8,
		IdleConnTimeout: time.Minute, TLSHandshakeTimeout: timeout, MaxResponseHeaderBytes: 64 << 10,
	}
}
