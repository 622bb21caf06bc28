package lists

import (
	"testing"
)

func TestDatabasesElsewhereAreToProveThemselves(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://u:p@db.example.com/crm":                          "db.example.com",
		"postgres://u:p@db.example.com/crm?sslmode=prefer":           "db.example.com",
		"postgres://u:p@db.example.com/crm?sslmode=require":          "db.example.com",
		"postgres://u:p@db.example.com/crm?sslmode=disable":          "db.example.com",
		"postgres://u:p@db.example.com/crm?sslmode=verify-full":      "",
		"postgres://u:p@db.example.com/crm?sslmode=verify-ca":        "",
		"postgres://u:p@localhost/crm":                               "",
		"postgres://u:p@127.0.0.1/crm":                               "",
		"host=/run/postgresql dbname=crm":                            "",
		"postgres://u:p@localhost,db.example.com/crm":                "db.example.com", // it is asked where the first does not answer
		"postgres://u:p@a.example,b.example/crm?sslmode=verify-full": "",
	} {
		if got, _ := UntrustedPostgres(address); got != want {
			t.Errorf("%s: %q", address, got)
		}
	}
	for address, want := range map[string]string{
		"u:p@tcp(db.example.com:3306)/crm":                 "db.example.com",
		"u:p@tcp(db.example.com:3306)/crm?tls=preferred":   "db.example.com",
		"u:p@tcp(db.example.com:3306)/crm?tls=skip-verify": "db.example.com",
		"u:p@tcp(db.example.com:3306)/crm?tls=true":        "",
		"u:p@tcp(127.0.0.1:3306)/crm":                      "",
		"u:p@tcp([::1]:3306)/crm":                          "",
		"u:p@unix(/run/mysqld.sock)/crm":                   "",
	} {
		if got, _ := untrustedMySQL(address); got != want {
			t.Errorf("%s: %q", address, got)
		}
	}
}
