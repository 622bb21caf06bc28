package listeners

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestTheSendersAddressIsTheLastThatNoTrustedProxyAdded(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	tests := map[string]struct {
		peer, forwarded, want string
	}{
		"no proxy":                        {"192.0.2.7:1", "", "192.0.2.7"},
		"one trusted proxy":               {"10.0.0.1:1", "203.0.113.9", "203.0.113.9"},
		"two trusted proxies":             {"10.0.0.1:1", "203.0.113.9, 10.0.0.2", "203.0.113.9"},
		"what the sender claims is not":   {"10.0.0.1:1", "198.51.100.1, 203.0.113.9", "203.0.113.9"},
		"a stranger cannot forward":       {"192.0.2.7:1", "203.0.113.9", "192.0.2.7"},
		"nonsense ends the chain":         {"10.0.0.1:1", "203.0.113.9, what", "10.0.0.1"},
		"an IPv4 address in IPv6 is IPv4": {"[::ffff:192.0.2.7]:1", "", "192.0.2.7"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/hooks/a", nil)
			r.RemoteAddr = tt.peer
			if tt.forwarded != "" {
				r.Header.Set("X-Forwarded-For", tt.forwarded)
			}
			if got := Remote(r, proxies).String(); got != tt.want {
				t.Errorf("remote = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestABlockIsOneNetwork(t *testing.T) {
	for one, same := range map[string]string{"2001:db8::1": "2001:db8::ffff:1", "192.0.2.7": "192.0.2.7"} {
		if AddressBlock(netip.MustParseAddr(one)) != AddressBlock(netip.MustParseAddr(same)) {
			t.Errorf("%s and %s are two blocks", one, same)
		}
	}
	if AddressBlock(netip.MustParseAddr("2001:db8:0:1::1")) == AddressBlock(netip.MustParseAddr("2001:db8:0:2::1")) {
		t.Error("two networks are one block")
	}
}
