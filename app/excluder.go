package app

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/store"
)

// An excluder knows whom a campaign leaves out: blocked contacts, and those who were messaged
// of late, message by message or by a file that was uploaded.
//
// Who was messaged is gathered once for a run, as numbers: a question for each row would walk
// history for each row.
type excluder struct {
	store *store.Store

	mu   sync.Mutex
	seen []snapshot
}

// A snapshot is who was messaged within some time before a run.
type snapshot struct {
	now    time.Time
	within time.Duration
	phones map[uint64]struct{}
}

// mostSnapshots is one for each run at a time, and one for a forecast.
const mostSnapshots = 3

// Excluded implements scheduler.Excluder.
func (x *excluder) Excluded(ctx context.Context, phones []nudgewire.Phone, within time.Duration, now time.Time) ([]string, error) {
	blocked, err := x.store.Blocked(ctx, phones)
	if err != nil {
		return nil, err
	}
	var messaged map[uint64]struct{}
	if within > 0 {
		if messaged, err = x.messaged(ctx, within, now); err != nil {
			return nil, err
		}
	}
	reasons := make([]string, len(phones))
	for i, p := range phones {
		if blocked[p] {
			reasons[i] = "is blocked"
			continue
		}
		if _, ok := messaged[digits(p)]; ok {
			reasons[i] = "was messaged within " + units.Duration(within).String()
		}
	}
	return reasons, nil
}

func (x *excluder) messaged(ctx context.Context, within time.Duration, now time.Time) (map[uint64]struct{}, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.seen {
		if s.now.Equal(now) && s.within == within {
			return s.phones, nil
		}
	}
	phones, since := map[uint64]struct{}{}, now.Add(-within)
	err := x.store.MessagedSince(ctx, since, func(p nudgewire.Phone) { phones[digits(p)] = struct{}{} })
	if err == nil {
		err = x.store.PartsSince(ctx, since, func(folder string, p nudgewire.Part) error {
			return phonesOf(filepath.Join(folder, p.File), func(phone nudgewire.Phone) { phones[digits(phone)] = struct{}{} })
		})
	}
	if err != nil {
		return nil, err
	}
	if len(x.seen) == mostSnapshots {
		x.seen = append(x.seen[:0], x.seen[1:]...)
	}
	x.seen = append(x.seen, snapshot{now, within, phones})
	return phones, nil
}

// digits is a phone as a number: 15 digits at the most.
func digits(p nudgewire.Phone) uint64 {
	n, err := strconv.ParseUint("1"+string(p), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// phonesOf calls each for the phones of a part on disk. A file that somebody removed tells
// nothing: who cleans up old lists means to forget them.
func phonesOf(path string, each func(nudgewire.Phone)) (err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := csv.NewReader(bufio.NewReaderSize(f, 1<<16))
	r.ReuseRecord = true
	for header := true; ; header = false {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if !header {
			each(nudgewire.Phone(row[0]))
		}
	}
}
