package webhooks

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
