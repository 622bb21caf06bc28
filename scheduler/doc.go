// Package scheduler sends campaigns by the clock: a job's hour comes, its source is read row
// by row, the rows become CSV files of at most ten million bytes, and each file is uploaded
// once.
//
// The order protects the people on the list. A run's identity is its job and the local time
// on the wall, so that the hour which autumn repeats fires once. Nothing is uploaded before
// the whole source was read without an error and its rows are stored. A part is cut from them,
// in memory, when its turn comes: its rows, bytes and hash are stored with its claim, before
// its first byte leaves; one whose answer was lost is in doubt and stays so until a person decides.
//
// Package internal/lists reads the rows. This package keeps no message: rows that are delivered one by
// one are handed to the store as messages, and package sender takes them from there. It does not
// judge whether a phone lives.
//
// Read in this order: job.go and job_compile.go (the keys in YAML), clock.go (when it fires),
// scheduler.go (Run, Tick and what a person says), run.go (one run from its list to its end),
// run_build.go (rows become parts), part_cut.go (who may get a part now, and its file), part_write.go, part_deliver.go (upload, hand-over, canary), retry.go and retry_rows.go. store.go has
// what the package needs of the store.
//
// Before here: package expressions, for the language of columns. After here: apiclient, or package
// sender.
package scheduler
