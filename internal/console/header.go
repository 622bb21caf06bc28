package console

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// A SignOn is what the config in use says about who else signs people in.
type SignOn struct {
	Base    string // address of the console
	OIDC    *signin.OIDC
	Header  *signin.TrustedHeader
	Proxies []netip.Prefix // that Header is believed from
}

// byHeader is who a proxy says somebody is. It is believed only where the connection itself comes from a proxy of the config: a header is
// written by anybody.
func (c *Console) byHeader(r *http.Request) (who access.Who, ok bool) {
	on := c.SignOn()
	if on.Header == nil {
		return who, false
	}
	names := r.Header.Values(on.Header.Name)
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if len(names) != 1 || strings.TrimSpace(names[0]) == "" || err != nil {
		return who, false
	}
	from := peer.Addr().Unmap().WithZone("")
	if !slices.ContainsFunc(on.Proxies, func(p netip.Prefix) bool { return p.Contains(from) }) {
		return who, false
	}
	var groups []string
	if on.Header.RoleHeader != "" {
		for _, line := range r.Header.Values(on.Header.RoleHeader) {
			for one := range strings.SplitSeq(line, ",") {
				groups = append(groups, strings.TrimSpace(one))
			}
		}
	}
	name := strings.TrimSpace(names[0])
	who, err = c.Door.Known(r.Context(), signin.Person{
		Name: name, Source: signin.SourceHeader, Subject: strings.ToLower(name), Role: signin.RoleFor(on.Header.Users, on.Header.Roles, []string{name}, groups),
	})
	if err != nil {
		c.Log.Debug("whom a proxy signed in is nobody here", zap.Error(err))
		return who, false
	}
	return who, true
}
