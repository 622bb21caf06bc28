// Package backup puts the data of a daemon into one file and back: the database as it is at one moment, the files that runs
// still need, what lies ready for contacts who asked for their data, and the key by which forgotten contacts are known again.
//
// The file is a tar archive compressed by zstd, so other programs can open it. Its last entry, manifest.json, lists
// the others with their SHA-256: a file without it was cut off. Nothing in it is encrypted.
//
// Read in this order: archive.go (the format), make.go, check.go, restore.go, last.go (what is known of the last backup),
// schedule.go. That data was restored, and what that means for messages, is for package store (restoration.go).
package backup
