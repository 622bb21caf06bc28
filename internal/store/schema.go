package store

import (
	_ "embed" // schema.sql

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

//go:embed schema.sql
var firstSchema string

// steps lead to the schema of this version, in order. schema.sql is the first as long as nothing was released; what changes tables
// after that is a step behind it, and a released step is never edited again.
var steps = []engine.Step{{Version: 1, SQL: firstSchema}}

// Schema is the version of the data that this program writes.
func Schema() int64 { return engine.SchemaVersion(steps) }
