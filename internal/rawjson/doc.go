// Package rawjson reads and writes JSON as text, without building values: one pass checks a text and finds the fields that are wanted (Program), and what was found stays a part of
// that text.
//
// Read in this order: scan.go (the grammar), program.go (many paths in one pass), text.go (what a
// value says, its elements and members, and strings written as JSON).
//
// All but Check and Program.Run take JSON that was checked.
package rawjson
