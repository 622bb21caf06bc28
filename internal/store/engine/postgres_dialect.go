package engine

import (
	"regexp"
	"strings"

	"github.com/pressly/goose/v3"
)

// PostgresDialect is that of PostgreSQL.
var PostgresDialect = Dialect{
	goose: goose.DialectPostgres,
	check: "SELECT 'ok'", // the server looks after its files (data checksums)
	time:  `to_char(to_timestamp(nullif($1, 0) / 1000000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
	marks: strings.NewReplacer(
		"{{id}}", "BIGINT PRIMARY KEY",
		"{{blob}}", "BYTEA",
		"{{clustered}}", "",
		"{{skip locked}}", "FOR UPDATE SKIP LOCKED",
		"{{checked}}", " || ''",
		"{{for update}}", "FOR UPDATE",
		"{{writer}}", "current_setting('nudgewire.writer')::bigint",
	),
	numbered: true,
}

// placeholders are those of SQLite, which takes "$1" for a name.
var placeholders = regexp.MustCompile(`\?(\d+)`)

// These mark what the schema has for one of the engines alone.
var (
	sqliteOnly   = regexp.MustCompile(`(?s)\{\{sqlite only\}\}(.*?)\{\{end\}\}`)
	postgresOnly = regexp.MustCompile(`(?s)\{\{postgres only\}\}(.*?)\{\{end\}\}`)
)

// These mark what views show of a column: a time as a text, and a phone as mask.Number has it.
var (
	timeColumn   = regexp.MustCompile(`\{\{time ([\w.]+)\}\}`)
	maskedColumn = regexp.MustCompile(`\{\{masked ([\w.]+)\}\}`)
)

const masked = `CASE WHEN length($1) < 9 THEN substr('********', 1, length($1))
	ELSE substr($1, 1, 4) || substr('******************************', 1, length($1) - 6) || substr($1, length($1) - 1, 2) END`

// Schema is a step of the schema in this engine's own words. PostgreSQL compares texts by its locale unless it is told not to; here
// they are compared byte by byte, as SQLite does.
func (d Dialect) Schema(text string) string {
	text = maskedColumn.ReplaceAllString(timeColumn.ReplaceAllString(text, d.time), masked)
	if !d.numbered {
		return d.SQL(sqliteOnly.ReplaceAllString(postgresOnly.ReplaceAllString(text, ""), "$1"))
	}
	text = postgresOnly.ReplaceAllString(sqliteOnly.ReplaceAllString(text, ""), "$1")
	return d.SQL(columnText.ReplaceAllString(text, `$1 TEXT COLLATE "C"`))
}

// columnText is a column of texts; a comment may have the word, too.
var columnText = regexp.MustCompile(`(?m)(^\s*(?:ALTER TABLE \w+ ADD COLUMN )?\w+)\s+TEXT\b`)
