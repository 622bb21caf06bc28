package listeners

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// peer is the address at the other end of the connection.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap()
}

// Remote is the sender's address: the last one in X-Forwarded-For that a trusted proxy did
// not add itself, else the peer's. Earlier entries are the sender's own claim.
func Remote(r *http.Request, proxies []netip.Prefix) netip.Addr {
	at := peer(r)
	if !trusted(at, proxies) {
		return at
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && trusted(at, proxies); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		at = next.Unmap()
	}
	return at
}

func trusted(addr netip.Addr, proxies []netip.Prefix) bool {
	for _, p := range proxies {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// AddressBlock is who shares a share with an address: of IPv6 the whole /64, which any one machine
// may have to itself.
func AddressBlock(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a
	}
	return p.Addr()
}

func addrPort(c net.Conn) netip.AddrPort {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		at := tcp.AddrPort()
		return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	}
	return netip.AddrPort{}
}
