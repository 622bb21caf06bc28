package lists

import (
	"net"
	"net/netip"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// untrusted names the host of a database elsewhere whose address does not ask for TLS with a certificate that is
// checked, and what to add to it; "" for all other sources. Drivers encrypt only where the server offers it, and check
// nothing, unless they are asked to.
func untrusted(o *Origin) (host, hint string) {
	switch {
	case !o.Postgres.IsZero():
		config, err := pgx.ParseConfig(o.Postgres.Reveal())
		if err != nil || strings.HasPrefix(config.Host, "/") || local(config.Host) {
			return "", ""
		}
		trusted := config.TLSConfig != nil && (!config.TLSConfig.InsecureSkipVerify || config.TLSConfig.VerifyPeerCertificate != nil)
		for _, other := range config.Fallbacks {
			trusted = trusted && other.TLSConfig != nil
		}
		if !trusted {
			return config.Host, "add sslmode=verify-full to the address"
		}
	case !o.MySQL.IsZero():
		config, err := mysql.ParseDSN(o.MySQL.Reveal())
		if err != nil || config.Net != "tcp" {
			return "", ""
		}
		name, _, err := net.SplitHostPort(config.Addr)
		if err != nil || local(name) {
			return "", ""
		}
		switch config.TLSConfig {
		case "", "false", "preferred", "skip-verify":
			return name, "add tls=true to the address"
		}
	}
	return "", ""
}

// local reports a host of this machine.
func local(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "" || strings.EqualFold(host, "localhost") || err == nil && a.IsLoopback()
}
