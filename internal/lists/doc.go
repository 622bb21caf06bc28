// Package lists reads lists of contacts row by row: files on this machine, in a bucket or on a
// server, answers of a web address, results of a query. It never writes to where a list comes from.
//
// A list is read whole or not at all: one that breaks off, changes while it is read, is in two
// encodings, or goes beyond its bounds ends with an error that says what to do. Memory does not grow
// with the list.
//
// Read in this order: source.go (Source and Rows), origin.go (the keys in YAML), check.go (what is
// wrong with them), files.go and pattern.go (where files are found and what they are), s3.go, sftp.go, sheet.go, csv.go and charset.go,
// xlsx.go and workbook.go, sql.go and postgres.go, http.go with paging.go and json.go.
package lists
