package config

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/netguard"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// signOn checks who else signs people in to the console.
func (c *Config) signOn(k *checker) {
	if o := c.Console.OIDC; o != nil {
		c.oidc(k, o)
	}
	h := c.Console.TrustedHeader
	if h == nil {
		return
	}
	const at = "console.trusted_header"
	switch {
	case h.Name == "":
		k.bad(at, "has no name", "name the header in which the proxy says who somebody is, such as name: X-Forwarded-User")
	case !httpguts.ValidHeaderFieldName(h.Name):
		k.bad(at+".name", fmt.Sprintf("%q is no name of a header", h.Name), "write it like X-Forwarded-User")
	case slices.Contains([]string{"Authorization", "Cookie", "Host", "X-Forwarded-For", "Origin"}, http.CanonicalHeaderKey(h.Name)):
		k.bad(at+".name", h.Name+" says something else", "have the proxy write a header of its own, such as X-Forwarded-User")
	}
	if len(c.Console.TrustedProxies) == 0 {
		k.bad(at, "is believed from nobody: anybody can write a header", "name the proxy's network in console.trusted_proxies")
	}
	switch {
	case h.RoleHeader != "" && !httpguts.ValidHeaderFieldName(h.RoleHeader):
		k.bad(at+".role_header", fmt.Sprintf("%q is no name of a header", h.RoleHeader), "write it like X-Forwarded-Groups")
	case h.RoleHeader != "" && strings.EqualFold(h.RoleHeader, h.Name):
		k.bad(at+".role_header", "is the header of names", "name the one with the groups")
	case h.RoleHeader == "" && len(h.Roles) > 0:
		k.bad(at+".roles", "does nothing without role_header", "name the header with the groups, such as role_header: X-Forwarded-Groups, or use users")
	}
	k.roles(at, h.Roles, h.Users)
}

func (c *Config) oidc(k *checker, o *signin.OIDC) {
	const at = "console.oidc"
	switch {
	case o.Issuer == "":
		k.bad(at, "has no issuer", "write the provider's address, such as issuer: https://login.example.com")
	case strings.ContainsAny(o.Issuer, "?#"):
		k.bad(at+".issuer", "has more behind its path", "leave out ? and # and what follows them")
	default:
		if f := netguard.Check(o.Issuer, o.AllowPrivate); f != nil {
			k.bad(at+".issuer", f.Msg, f.Hint)
		}
	}
	if o.ClientID == "" {
		k.bad(at, "has no client_id", "write what the provider calls this console")
	}
	if k.written(at+".client_secret") && o.ClientSecret.IsZero() {
		k.bad(at+".client_secret", "is empty", "write ${NAME} and set the variable NAME for the daemon")
	}
	if c.Console.PublicURL == "" && c.Console.Listen != "" && !strings.HasPrefix(c.Console.Listen, "127.") && !strings.HasPrefix(c.Console.Listen, "localhost:") && !strings.HasPrefix(c.Console.Listen, "[::1]:") {
		k.bad(at, "needs console.public_url: the provider sends people back to that address", "set public_url to the address that the console's users know")
	}
	if _, all := o.Users[signin.Everybody]; all {
		k.warn("anybody-signs-in", at+".users", "lets in everybody who has an account at the provider", "name people or groups, unless only yours have one there")
	}
	k.roles(at, o.Roles, o.Users)
}

// roles checks who gets which role.
func (k *checker) roles(at string, roles, users map[string]access.Role) {
	if len(roles) == 0 && len(users) == 0 {
		k.bad(at, "gives nobody a role, so nobody could sign in", `add roles: {GROUP: operator} or users: {ann@example.com: admin}`)
	}
	for key, all := range map[string]map[string]access.Role{"roles": roles, "users": users} {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if len(all[name].Scopes()) == 0 {
				k.bad(at+"."+key, fmt.Sprintf("%q is no role", string(all[name])), "write viewer, operator or admin")
			}
		}
	}
}
