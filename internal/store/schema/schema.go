// Package schema has the tables of the data, and the steps that lead to them.
package schema

import (
	_ "embed" // schema.sql

	"github.com/nudgewire/nudgewire/internal/store/engine"
)

//go:embed schema.sql
var first string

// Steps lead to the schema of this version, in order. schema.sql is the first as long as nothing was released; what changes tables
// after that is a step behind it, and a released step is never edited again.
var Steps = []engine.Step{{Version: 1, SQL: first}}

// Version is that of the data that this program writes.
func Version() int64 { return engine.SchemaVersion(Steps) }
