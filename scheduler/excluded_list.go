package scheduler

import (
	"cmp"
	"strconv"
	"sync"

	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/plain"
)

// excludedFile is the name of the list of excluded rows.
const excludedFile = "excluded.csv"

// excludedHead names its columns: where the row stands, why it was excluded, the phone as it stands in the
// source, so that whoever keeps the list can find and mend the row, and as it would have been sent to, so that it
// can be found by that.
var excludedHead = []string{"row", "reason", "phone", "digits", "file"}

// An excludedList writes that list. The file is made with the first of them. It may be used by several
// goroutines.
type excludedList struct {
	make maker
	name string // "" for excludedFile
	mu   sync.Mutex
	to   tableFile
}

// add notes one row; the first failure is kept for close.
func (r *excludedList) add(x ExcludedRow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to.write(r.make, cmp.Or(r.name, excludedFile), excludedHead, []string{strconv.FormatInt(x.Row, 10), plain.Cell(x.Reason), plain.Cell(lists.Shorten(x.Phone)), x.Digits, plain.Cell(x.File)})
}

// failed is the first failure so far.
func (r *excludedList) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return diskFull(r.to.err)
}

// close keeps the file.
func (r *excludedList) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.to.close()
}

// abandon gives the file up.
func (r *excludedList) abandon() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.to.abandon()
}
