package scheduler

import (
	"bufio"
	"encoding/csv"
	"errors"
	"strconv"
	"sync"
)

// rejectsFile is the name of the list of rows that were left out.
const rejectsFile = "rejects.csv"

// rejects is the list of rows that were left out: number, reason, and the phone as it stands
// in the source, so that whoever keeps the list can find and mend the row. The file is made
// with the first of them. It may be used by several goroutines.
type rejects struct {
	folder folder
	mu     sync.Mutex
	at     sink
	buf    *bufio.Writer
	csv    *csv.Writer
	err    error
}

// add notes one row; the first failure is kept for close.
func (r *rejects) add(row int64, reason, phone string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	if r.at == nil {
		f, err := r.folder.create(rejectsFile)
		if err != nil {
			r.err = err
			return
		}
		r.at = f
		r.buf = bufio.NewWriterSize(f, 64<<10)
		r.csv = csv.NewWriter(r.buf)
		r.err = r.csv.Write([]string{"row", "reason", "phone"})
	}
	if r.err == nil {
		r.err = r.csv.Write([]string{strconv.FormatInt(row, 10), reason, clean(phone)})
	}
}

// failed is the first failure so far.
func (r *rejects) failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return diskFull(r.err)
}

// close makes the file durable.
func (r *rejects) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at == nil {
		return diskFull(r.err)
	}
	r.csv.Flush()
	err := r.err
	if err == nil {
		err = r.csv.Error()
	}
	if err == nil {
		err = r.buf.Flush()
	}
	if err == nil {
		err = r.at.Sync()
	}
	err = errors.Join(err, r.at.Close())
	r.at = nil
	return diskFull(err)
}
