// Package scheduler sends campaigns by the clock: a job's hour comes, its source is read row
// by row, the rows become CSV files of at most ten million bytes, and each file is uploaded
// once.
//
// The order protects the people on the list. A run's identity is its job and the local time
// on the wall, so that the hour which autumn repeats fires once. Nothing is uploaded before
// the whole source was read without an error, every part lies on disk, and the store knows
// each part's rows, bytes and hash. A part is claimed in the store before its first byte
// leaves; one whose answer was lost is in doubt and stays so until a person decides.
//
// Package internal/lists reads the rows. This package keeps no message: rows that are delivered one by
// one are handed to the store as dispatches, and package sender takes them from there. It does not
// judge whether a phone lives.
//
// Before here: package triggers, for the language of templates. After here: apiclient, or
// package sender.
package scheduler
