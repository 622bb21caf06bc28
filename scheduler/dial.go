package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// ErrPrivate is a source whose address leads into this machine or its private network. The
// config may be written by people who should not reach what stands there.
var ErrPrivate = errors.New("leads into a private network; set allow_private if that is meant")

// The networks that the standard library does not count as private, and that no list on the
// internet lives in.
var alsoPrivate = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared by providers
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), // benchmarks
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"),   // IPv4 behind a translator
	netip.MustParsePrefix("64:ff9b:1::/48"), // the same, local
	netip.MustParsePrefix("2002::/16"),      // IPv4 inside IPv6
}

// private reports whether an address is none of the public internet.
func private(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsValid() || a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified() || a.IsMulticast() || a.IsInterfaceLocalMulticast() {
		return true
	}
	for _, p := range alsoPrivate {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// dialer connects to public addresses only, unless told otherwise. It looks at the address
// that is dialled, after the name was resolved: a name that points inside is no way around.
func dialer(allowPrivate bool) *net.Dialer {
	d := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	if !allowPrivate {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil || private(at.Addr()) {
				return fmt.Errorf("%s %w", address, ErrPrivate)
			}
			return nil
		}
	}
	return d
}

// transport is for one reading. It goes by no proxy: behind one, nobody could tell where the
// address leads.
func transport(allowPrivate bool) *http.Transport {
	d := dialer(allowPrivate)
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return d.DialContext(ctx, network, address)
		},
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          4,
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   15 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute,
		ExpectContinueTimeout: time.Second,
	}
}
