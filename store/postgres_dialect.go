package store

import (
	"regexp"
	"strings"

	"github.com/pressly/goose/v3"
)

var postgresDialect = dialect{
	goose: goose.DialectPostgres,
	check: "SELECT 'ok'", // the server looks after its files (data checksums)
	marks: strings.NewReplacer(
		"{{id}}", "BIGINT PRIMARY KEY",
		"{{blob}}", "BYTEA",
		"{{clustered}}", "",
		"{{skip locked}}", "FOR UPDATE SKIP LOCKED",
		"{{checked}}", " || ''",
		"{{in any bucket}}", "WHERE",
		"{{for update}}", "FOR UPDATE",
	),
	numbered: true,
}

// placeholders are those of SQLite, which takes "$1" for a name.
var placeholders = regexp.MustCompile(`\?(\d+)`)

// only marks what a migration has for PostgreSQL alone.
var only = regexp.MustCompile(`(?s)\{\{postgres only\}\}(.*?)\{\{end\}\}`)

// schema is a migration in this engine's own words. PostgreSQL compares texts by its locale unless it is told not to; here
// they are compared byte by byte, as SQLite does.
func (d dialect) schema(text string) string {
	if !d.numbered {
		return d.sql(only.ReplaceAllString(text, ""))
	}
	return d.sql(columnText.ReplaceAllString(only.ReplaceAllString(text, "$1"), `$1 TEXT COLLATE "C"`))
}

// columnText is a column of texts; a comment may have the word, too.
var columnText = regexp.MustCompile(`(?m)(^\s*(?:ALTER TABLE \w+ ADD COLUMN )?\w+)\s+TEXT\b`)
