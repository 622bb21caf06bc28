package lists

import (
	"slices"

	"github.com/nudgewire/nudgewire/internal/units"
)

// A kind is one of the places that rows come from.
type kind struct {
	key      string // of Origin, which names it
	named    func(o *Origin) bool
	database bool // it needs a query
	check    func(c *checker, o *Origin)
	open     func(o Origin, folder string) (Source, error) // check has looked at it; relative paths start at folder
}

// kinds are all, in the order in which people read of them. To add one: its keys in Origin (origin.go, where the doc of Job.Source names all of
// them), a line here, what is checked of it before it is read (check.go), and its own file; then "make generate". A place with files needs a
// finder only (s3.go, sftp.go).
var kinds = []kind{
	{key: "csv", named: func(o *Origin) bool { return o.CSV != "" }, check: (*checker).files, open: openCSV},
	{key: "xlsx", named: func(o *Origin) bool { return o.XLSX != "" }, check: (*checker).files, open: openXLSX},
	{key: "sheet", named: func(o *Origin) bool { return o.Sheet != "" }, open: openSheet},
	{key: "postgres", named: func(o *Origin) bool { return !o.Postgres.IsZero() }, database: true, check: (*checker).postgres, open: openPostgres},
	{key: "mysql", named: func(o *Origin) bool { return !o.MySQL.IsZero() }, database: true, check: (*checker).mysql, open: openMySQL},
	{key: "sqlite", named: func(o *Origin) bool { return o.SQLite != "" }, database: true, open: openSQLite},
	{key: "http", named: func(o *Origin) bool { return o.HTTP != nil }, check: (*checker).web, open: openHTTP},
	{key: "s3", named: func(o *Origin) bool { return o.S3 != nil }, check: (*checker).bucket, open: openS3},
	{key: "sftp", named: func(o *Origin) bool { return o.SFTP != nil }, check: (*checker).server, open: openSFTP},
	{key: "contacts", named: func(o *Origin) bool { return o.Contacts != "" }, open: openContacts},
}

// kindsNamed are those that o names.
func (o *Origin) kindsNamed() []kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return !k.named(o) })
}

// keysOf names kinds for people.
func keysOf(all []kind) string {
	var keys []string
	for _, k := range all {
		keys = append(keys, k.key)
	}
	return units.Enumerate(keys)
}
