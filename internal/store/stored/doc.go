// Package stored says how nouns stand in rows: which columns a message, a decision, a run and a part of a run have, in which order they are read,
// and how what a message sends, and what an event contains, are written there. It asks no database: whoever reads or writes rows uses it.
//
//   - messages.go, decisions.go, runs.go, parts.go: columns, and a row as the noun that it is.
//   - sends.go: what a message sends, as the JSON by which claims find it.
//   - events.go: what an event contains, packed.
package stored
