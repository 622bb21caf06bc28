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
	"slices"
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
	family nudgewire.RunID // whose messages do not count; 0 for all count
	phones map[uint64]struct{}
}

// mostSnapshots is one for each run at a time, one for a forecast and one for a retry.
const mostSnapshots = 4

// Excluded implements scheduler.Excluder.
func (x *excluder) Excluded(ctx context.Context, phones []nudgewire.Phone, within time.Duration, now time.Time) ([]string, error) {
	return x.excluded(ctx, phones, snapshot{now: now, within: within})
}

// ExcludedAgain is Excluded for rows that go again. What their own run sent, and its retries, is no
// reason against them: a message that failed must not keep itself from being repeated.
func (x *excluder) ExcludedAgain(ctx context.Context, phones []nudgewire.Phone, within time.Duration, now time.Time, of nudgewire.RunID) ([]string, error) {
	return x.excluded(ctx, phones, snapshot{now: now, within: within, family: of})
}

func (x *excluder) excluded(ctx context.Context, phones []nudgewire.Phone, at snapshot) ([]string, error) {
	blocked, err := x.store.Blocked(ctx, phones)
	if err != nil {
		return nil, err
	}
	var messaged map[uint64]struct{}
	if at.within > 0 {
		if messaged, err = x.messaged(ctx, at); err != nil {
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
			reasons[i] = "was messaged within " + units.Duration(at.within).String()
		}
	}
	return reasons, nil
}

func (x *excluder) messaged(ctx context.Context, at snapshot) (map[uint64]struct{}, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.seen {
		if s.now.Equal(at.now) && s.within == at.within && s.family == at.family {
			return s.phones, nil
		}
	}
	var own []nudgewire.RunID
	if at.family != 0 {
		var err error
		if own, err = x.store.Family(ctx, at.family); err != nil {
			return nil, err
		}
	}
	phones, since := map[uint64]struct{}{}, at.now.Add(-at.within)
	err := x.store.MessagedSince(ctx, since, own, func(p nudgewire.Phone) { phones[digits(p)] = struct{}{} })
	if err == nil {
		err = x.store.PartsSince(ctx, since, func(folder string, p nudgewire.Part) error {
			if slices.Contains(own, p.RunID) {
				return nil
			}
			return phonesOf(filepath.Join(folder, p.File), func(phone nudgewire.Phone) { phones[digits(phone)] = struct{}{} })
		})
	}
	if err != nil {
		return nil, err
	}
	if len(x.seen) == mostSnapshots {
		x.seen = append(x.seen[:0], x.seen[1:]...)
	}
	at.phones = phones
	x.seen = append(x.seen, at)
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
