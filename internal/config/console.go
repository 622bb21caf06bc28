package config

import (
	"net"
	"net/netip"
	"strings"

	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// Console is the listener for people and programs.
type Console struct {
	Listen         string   `yaml:"listen" example:"127.0.0.1:8484" doc:"Address and port of the console and of the HTTP API. Unless set: none. Other than on 127.0.0.1 it needs tls or trusted_proxies. See docs/api.md."`
	PublicURL      string   `yaml:"public_url" validate:"http_url" example:"https://nudgewire.example.com" doc:"The address that its users know, where a proxy stands before it."`
	TrustedProxies Networks `yaml:"trusted_proxies" example:"[127.0.0.1/8]" doc:"Networks of the proxies that speak https before it, and whose X-Forwarded-For is believed. Needs public_url."`

	OIDC          *signin.OIDC          `yaml:"oidc" doc:"A provider of identities (OpenID Connect) that signs people in, too. Its address for the way back is /sign-in/oidc/callback below public_url. See docs/sign-in.md."`
	TrustedHeader *signin.TrustedHeader `yaml:"trusted_header" doc:"A proxy under trusted_proxies that signs people in and says in a header who they are."`

	TLS *certificates.TLS `yaml:"tls" doc:"Speak https, where no proxy does it. See docs/door.md."`
}

// console checks the listener for people and programs.
func (c *Config) console(k *checker) {
	o := &c.Console
	o.TLS = c.tls(k, tlsDoor{"console", o.TLS, o.PublicURL})
	if k.written("console.public_url") && k.url("console.public_url", o.PublicURL) != nil {
		o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	}
	if len(o.TrustedProxies) > 0 && !k.written("console.public_url") {
		k.bad("console.trusted_proxies", "needs console.public_url: behind a proxy nothing else says which address is the console's", "set public_url to the address that its users know")
	}
	c.signOn(k)
	if o.Listen == "" {
		for _, key := range []string{"console.public_url", "console.trusted_proxies", "console.tls"} {
			if k.written(key) {
				k.bad(key, "does nothing without console.listen", "set console.listen, such as 127.0.0.1:8484")
				return
			}
		}
		return
	}
	if err := listenAddress(o.Listen); err != nil {
		k.bad("console.listen", err.Error(), "write 127.0.0.1:8484 behind a proxy on this machine, or the address of a network with tls")
		return
	}
	host, port, _ := net.SplitHostPort(o.Listen)
	for other, address := range map[string]string{"server.listen": c.Server.Listen, "metrics.listen": c.Metrics.Listen} {
		if _, taken, _ := net.SplitHostPort(address); port != "0" && port == taken {
			k.bad("console.listen", "has the port of "+other+", and strangers must not meet it", "write another port, such as 127.0.0.1:8484")
			return
		}
	}
	a, err := netip.ParseAddr(host)
	if alone := host == "localhost" || err == nil && a.IsLoopback(); !alone && o.TLS == nil && len(o.TrustedProxies) == 0 {
		k.bad("console.listen", o.Listen+" is open to other machines and speaks in the clear: whoever is on the way reads tokens and customers' data",
			"set console.tls, or name the proxy that speaks https in console.trusted_proxies, or listen on 127.0.0.1")
	}
}
