package server

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestTheCalledURLIsWhatTheSenderBelieves(t *testing.T) {
	proxy := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	tests := map[string]struct {
		rules  Rules
		peer   string
		header map[string]string
		want   string
	}{
		"from the request itself":         {Rules{}, "192.0.2.7:999", nil, "http://hooks.example.com/hooks/a?x=1"},
		"from public_url, with our path":  {Rules{PublicURL: "https://shop.example.com/"}, "192.0.2.7:999", nil, "https://shop.example.com/hooks/a?x=1"},
		"never from a proxy's headers":    {Rules{Proxies: proxy}, "10.1.2.3:999", map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "in.example.com"}, "http://hooks.example.com/hooks/a?x=1"},
		"never from a stranger's headers": {Rules{Proxies: proxy}, "192.0.2.7:999", map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Host": "in.example.com"}, "http://hooks.example.com/hooks/a?x=1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "http://hooks.example.com/hooks/a?x=1", nil)
			r.RequestURI, r.RemoteAddr = "/hooks/a?x=1", tt.peer
			r.URL.Host, r.URL.Scheme = "", ""
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			if got := calledURL(r, &tt.rules); got != tt.want {
				t.Errorf("calledURL = %s, want %s", got, tt.want)
			}
		})
	}
}

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
			if got := remote(r, proxies).String(); got != tt.want {
				t.Errorf("remote = %s, want %s", got, tt.want)
			}
		})
	}
}
