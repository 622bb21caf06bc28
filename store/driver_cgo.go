//go:build cgo

package store

import _ "github.com/mattn/go-sqlite3" // registers "sqlite3": SQLite itself, compiled in
