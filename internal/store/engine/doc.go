// Package engine knows SQLite and PostgreSQL, and no table of ours but the keys (postgres_keys.go) and the place of the data (postgres_place.go). It runs statements that are written once for both, in transactions of one
// writer and in reads of many, and says in words what is wrong with a file or a server.
//
// Read in this order:
//
//  1. statement.go, dialect.go: how a statement is written, and what differs between the engines.
//  2. tx.go: a transaction; connection.go: what it asks of the connection that it runs on; sqlite.go and postgres.go are the two there are.
//  3. pool.go, row.go, select.go: how rows are read and lists asked for.
//  4. dsn.go, sqlite_connect.go, postgres_connect.go: from an address to connections; migrate.go: to the schema that the program knows.
//  5. sqlite_checkpoint.go, sqlite_rewrite.go: how the log of SQLite gets into its file, and what was removed out of it.
//  6. postgres_sets.go: many executions of a statement as one; postgres_keys.go: locks on hashes, and what these lead to;
//     postgres_place.go: which server and database a connection has led to.
//  7. errors.go, advice.go: what a caller can decide on, and what a person can do.
//
// A file from outside (its lock, its log, whether it is whole) is the matter of package sqlite below.
package engine
