package config

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

func TestTheConsolesListener(t *testing.T) {
	tests := map[string]struct{ line, path, want string }{
		"this machine":        {line: `console: {listen: "127.0.0.1:8484"}`},
		"IPv6":                {line: `console: {listen: "[::1]:8484"}`},
		"by name":             {line: `console: {listen: "localhost:8484"}`},
		"nothing":             {line: `console: {}`},
		"behind a proxy":      {line: `console: {listen: ":8484", public_url: "https://n.example.com/", trusted_proxies: [10.0.0.1]}`},
		"all addresses":       {`console: {listen: ":8484"}`, "console.listen", ":8484 is open to other machines and speaks in the clear"},
		"a private network":   {`console: {listen: "10.0.0.7:8484"}`, "console.listen", "10.0.0.7:8484 is open to other machines and speaks in the clear"},
		"a name of others":    {`console: {listen: "shop.example:8484"}`, "console.listen", "is open to other machines"},
		"the port of hooks":   {`console: {listen: "127.0.0.1:8080"}`, "console.listen", "has the port of server.listen"},
		"a proxy alone":       {`console: {listen: ":8484", trusted_proxies: [10.0.0.1]}`, "console.trusted_proxies", "needs console.public_url"},
		"no port":             {`console: {listen: "127.0.0.1"}`, "console.listen", "is not an address with a port"},
		"no listener":         {`console: {public_url: "https://n.example.com"}`, "console.public_url", "does nothing without console.listen"},
		"TLS without files":   {`console: {listen: ":8484", tls: {}}`, "console.tls", "has no certificate"},
		"TLS by a lost file":  {`console: {listen: ":8484", tls: {cert: a.crt, key: a.key}}`, "console.tls.cert", "certificate:"},
		"a misspelt key":      {`console: {lisen: "127.0.0.1:8484"}`, "console.lisen", "unknown key"},
		"a provider":          {line: `console: {listen: "127.0.0.1:0", oidc: {issuer: "https://login.example.com", client_id: n, client_secret: "${API_KEY}", roles: {ops: operator}}}`},
		"no issuer":           {`console: {listen: "127.0.0.1:0", oidc: {client_id: n, roles: {ops: operator}}}`, "console.oidc", "has no issuer"},
		"no client":           {`console: {listen: "127.0.0.1:0", oidc: {issuer: "https://login.example.com", roles: {ops: operator}}}`, "console.oidc", "has no client_id"},
		"an issuer in here":   {`console: {listen: "127.0.0.1:0", oidc: {issuer: "https://10.0.0.7", client_id: n, roles: {ops: operator}}}`, "console.oidc.issuer", "leads into a private network"},
		"in the clear":        {`console: {listen: "127.0.0.1:0", oidc: {issuer: "http://login.example.com", client_id: n, roles: {ops: operator}}}`, "console.oidc.issuer", "begins with http://"},
		"nobody has a role":   {`console: {listen: "127.0.0.1:0", oidc: {issuer: "https://login.example.com", client_id: n}}`, "console.oidc", "gives nobody a role"},
		"a role of nobody":    {`console: {listen: "127.0.0.1:0", oidc: {issuer: "https://login.example.com", client_id: n, users: {ann@example.com: boss}}}`, "console.oidc.users", `"boss" is no role`},
		"the way back":        {`console: {listen: ":8484", tls: {acme: {domains: [n.example.com], email: a@example.com}}, oidc: {issuer: "https://login.example.com", client_id: n, roles: {ops: operator}}}`, "console.oidc", "needs console.public_url"},
		"a header":            {line: `console: {listen: "127.0.0.1:0", public_url: "https://n.example.com", trusted_proxies: [127.0.0.1], trusted_header: {name: X-Forwarded-User, users: {ann: admin}}}`},
		"from nobody":         {`console: {listen: "127.0.0.1:0", trusted_header: {name: X-Forwarded-User, users: {ann: admin}}}`, "console.trusted_header", "is believed from nobody"},
		"no header":           {`console: {listen: "127.0.0.1:0", public_url: "https://n.example.com", trusted_proxies: [127.0.0.1], trusted_header: {users: {ann: admin}}}`, "console.trusted_header", "has no name"},
		"a bent header":       {`console: {listen: "127.0.0.1:0", public_url: "https://n.example.com", trusted_proxies: [127.0.0.1], trusted_header: {name: "X User", users: {ann: admin}}}`, "console.trusted_header.name", "is no name of a header"},
		"another's header":    {`console: {listen: "127.0.0.1:0", public_url: "https://n.example.com", trusted_proxies: [127.0.0.1], trusted_header: {name: x-forwarded-for, users: {ann: admin}}}`, "console.trusted_header.name", "says something else"},
		"roles of no header":  {`console: {listen: "127.0.0.1:0", public_url: "https://n.example.com", trusted_proxies: [127.0.0.1], trusted_header: {name: X-User, roles: {ops: admin}}}`, "console.trusted_header.roles", "does nothing without role_header"},
		"a port of no server": {line: `console: {listen: "127.0.0.1:0"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, problems := Parse("config.yaml", []byte(base+tt.line+"\n"), environ)
			var about yamlpos.Problems
			for _, p := range problems {
				if strings.HasPrefix(p.Path, "console") {
					about = append(about, p)
				}
			}
			if tt.want == "" {
				if len(about) > 0 {
					t.Errorf("a good listener is a problem: %v", about)
				}
				if o := c.Console.OIDC; o != nil && o.RoleClaim != "groups" {
					t.Errorf("role_claim is %q", o.RoleClaim)
				}
				if strings.HasSuffix(c.Console.PublicURL, "/") {
					t.Errorf("public_url is %q", c.Console.PublicURL)
				}
				return
			}
			if len(about) != 1 || about[0].Path != tt.path || !strings.Contains(about[0].Msg, tt.want) || about[0].Warning {
				t.Errorf("problems %v, want one at %s with %q", about, tt.path, tt.want)
			}
		})
	}
}
