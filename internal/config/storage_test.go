package config_test

import (
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/config"
)

// Everything goes the way to the database: phones, and hashes of tokens. Where another machine is named it has to prove itself,
// also when a variable names it; the rule is the one for the sources of jobs.
func TestADatabaseElsewhereIsToProveItself(t *testing.T) {
	const folder = "/tmp"
	for address, warned := range map[string]bool{
		"postgres://u:${P}@db.example.com/x":                     true,
		"postgres://u:${P}@db.example.com/x?sslmode=prefer":      true,
		"postgresql://u:${P}@db.example.com/x?sslmode=require":   true,
		"postgres://u:${P}@db/x?sslmode=disable":                 true,
		"postgres://u:${P}@localhost,db.example.com/x":           true,
		"postgres://u:${P}@db.example.com/x?sslmode=verify-full": false,
		"postgres://u:${P}@db.example.com/x?sslmode=verify-ca":   false,
		"postgres://u:${P}@127.0.0.1/x":                          false,
		"postgres:///x?host=/run/postgresql":                     false,
		"sqlite:./n.db":                                          false,
	} {
		for _, named := range []string{address, "${DB_URL}"} {
			env := func(name string) (string, bool) {
				return map[string]string{"P": "hush", "DB_URL": strings.ReplaceAll(address, "${P}", "hush")}[name], true
			}
			_, problems := config.Parse(folder+"/config.yaml", []byte("storage: "+named+"\n"), env)
			found := false
			for _, p := range problems {
				if p.Path == "storage" {
					found = true
					if said := p.Error(); !p.Warning || strings.Contains(said, "hush") || !strings.Contains(said, "is not surely encrypted") || !strings.Contains(p.Hint, "sslmode=verify-full") {
						t.Errorf("%s: %s", address, said)
					}
				}
			}
			if found != warned {
				t.Errorf("%s as %s: warned %t, want %t", address, named, found, warned)
			}
		}
	}
}
