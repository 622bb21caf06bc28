// Package peers answers what a transaction asks wherever the answer depends on who else writes to the data: which numbers are free, who holds a
// key, whose claims still count. coordinator.go has the questions, single.go the answers of a process that is alone, many.go those of one
// beside others. The keys by which rows are found again are in keys.go, what a start reads of them in load.go, and when they go in sweep.go.
package peers
