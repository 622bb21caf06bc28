// Package place says where the data lives, and whether it may be used there: of a file by what stands beside it, of a database on a server by
// its counters. instance.go has which data a file is, that it was restored, or that a restoration was cut off; moved.go that it was moved to
// another engine, or did not arrive from there; server.go opens a database to be moved.
package place
