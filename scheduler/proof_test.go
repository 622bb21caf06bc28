package scheduler

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/secret"
)

func TestDatabasesElsewhereAreToProveThemselves(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://u:p@db.example.com/crm":                     "db.example.com",
		"postgres://u:p@db.example.com/crm?sslmode=prefer":      "db.example.com",
		"postgres://u:p@db.example.com/crm?sslmode=require":     "db.example.com",
		"postgres://u:p@db.example.com/crm?sslmode=disable":     "db.example.com",
		"postgres://u:p@db.example.com/crm?sslmode=verify-full": "",
		"postgres://u:p@db.example.com/crm?sslmode=verify-ca":   "",
		"postgres://u:p@localhost/crm":                          "",
		"postgres://u:p@127.0.0.1/crm":                          "",
		"host=/run/postgresql dbname=crm":                       "",
	} {
		if got, _ := unproven(Origin{Postgres: secret.New(address)}); got != want {
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
		if got, _ := unproven(Origin{MySQL: secret.New(address)}); got != want {
			t.Errorf("%s: %q", address, got)
		}
	}
}

func TestCellsForSpreadsheetsAreNoFormulas(t *testing.T) {
	for text, want := range map[string]string{
		`=HYPERLINK("http://x","y")`: `'=HYPERLINK("http://x","y")`, "@SUM(1+1)": "'@SUM(1+1)", "-2+3": "'-2+3", "+1+cmd|' /C calc'!A0": "'+1+cmd|' /C calc'!A0",
		"\t=1+1": "'\t=1+1", "\x1b[31mred": "[31mred", "\r=1": "'=1", "+44 (0)7700-900123": "+44 (0)7700-900123", "-5": "-5", "--1": "'--1", "Ann": "Ann", "": "", "a=b": "a=b",
	} {
		if got := SafeCell(text); got != want {
			t.Errorf("SafeCell(%q) = %q, want %q", text, got, want)
		}
	}
}
