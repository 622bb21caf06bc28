// Package sqlite knows a file of SQLite from outside: the driver and what its errors mean (codes.go), who has the data open
// (lock.go), whether the file is where and what it was (guard.go), whether its log lost commits (log.go, fault.go), and who reads
// it (readers.go). It runs no statement and knows no table.
package sqlite
