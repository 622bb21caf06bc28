package lists

import (
	"net"
	"net/netip"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nudgewire/nudgewire/internal/pgaddress"
)

// untrustedMySQL names the host of a database elsewhere whose address does not ask for TLS with a certificate that is
// checked, and what to add to it; "" for all others. Drivers encrypt only where the server offers it, and check
// nothing, unless they are asked to.
func untrustedMySQL(address string) (host, hint string) {
	config, err := mysql.ParseDSN(address)
	if err != nil || config.Net != "tcp" {
		return "", "" // whoever opens it says why
	}
	name, _, err := net.SplitHostPort(config.Addr)
	if err != nil || local(name) {
		return "", ""
	}
	switch config.TLSConfig {
	case "", "false", "preferred", "skip-verify":
		return name, "add tls=true to the address"
	}
	return "", ""
}

// UntrustedPostgres is untrustedMySQL for an address of PostgreSQL, whoever uses it. Of several hosts it is the first that is elsewhere
// and need not prove itself; what the environment says (PGHOST, PGSSLMODE) counts as it does for the driver.
func UntrustedPostgres(address string) (host, hint string) {
	config, err := pgaddress.Parse(address)
	if err != nil {
		return "", ""
	}
	ways := []*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}
	for _, way := range append(ways, config.Fallbacks...) {
		proves := way.TLSConfig != nil && (!way.TLSConfig.InsecureSkipVerify || way.TLSConfig.VerifyPeerCertificate != nil)
		if !proves && !strings.HasPrefix(way.Host, "/") && !local(way.Host) {
			return way.Host, "add sslmode=verify-full to the address"
		}
	}
	return "", ""
}

// local reports a host of this machine.
func local(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "" || strings.EqualFold(host, "localhost") || err == nil && a.IsLoopback()
}
