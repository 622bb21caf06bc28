package scheduler

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files"
)

// A Blotter takes numbers out of texts; *phones.Finder is one. Blot changes text in place and keeps its length, and
// reports whether there was a number in it.
type Blotter interface {
	Blot(text []byte) (found bool)
}

// A FileStore knows the files of parts by their bytes and hash.
type FileStore interface {
	// PartRewritten notes that a file of a run's folder was written anew, with the parts of all runs that send it
	// but those that are being uploaded.
	PartRewritten(ctx context.Context, folder, file string, bytes int64, sha256 string) error
}

// forgottenDigit stands in a part for each digit of a phone that is forgotten: no country's code begins so, and
// whoever is asked who must not be sent to says that the row was.
const forgottenDigit = "0"

// forgottenPhone stands in a dispatch of such a row.
const forgottenPhone nudgewire.Phone = "00000000000"

// isForgotten reports whether that stands in place of a phone.
func isForgotten(p nudgewire.Phone) bool { return strings.HasPrefix(string(p), forgottenDigit) }

// Forget takes what find finds out of the files of all runs. Of a row of a part nothing stays but its place, so that the places
// of the others stay; no upload takes it along. A run that is being sent gives its files up for it (gaveUp), whatever it waits for. waits
// names a run whose files are in use, "" when all is done: then the call is made again. Done twice it does no harm.
func (s *Scheduler) Forget(ctx context.Context, find Blotter) (waits string, err error) {
	open, err := s.Store.OpenRuns(ctx, "")
	if err != nil {
		return "", err
	}
	used := map[string][]*nudgewire.Run{}
	for i := range open {
		switch r := &open[i]; r.State {
		case nudgewire.RunPlanned, nudgewire.RunBuilding, nudgewire.RunUploading:
			built := runFolder(s.Files.Root(), *r)
			used[built] = append(used[built], r)
			if r.Folder != "" && r.Folder != built { // a retry sends the files of another run
				used[r.Folder] = append(used[r.Folder], r)
			}
		}
	}
	inUse := map[string]string{}          // why, by folder; "" once the files are given up
	waiting := map[nudgewire.RunID]bool{} // runs that are to stay down until the next call
	defer func() {
		for i := range open {
			if id := open[i].ID; !waiting[id] {
				s.takeUp(id)
			}
		}
	}()
	paths, err := s.Files.List(ctx, "")
	for i := 0; i < len(paths) && err == nil; i++ {
		folder, _ := files.Split(paths[i])
		holds, failed := s.fileHolds(ctx, paths[i], find)
		why, known := inUse[folder]
		if holds && failed == nil && !known {
			why, failed = s.gaveUp(ctx, used[folder])
			inUse[folder] = why
		}
		switch {
		case failed != nil:
			err = failed
		case !holds:
		case why != "":
			waits = why
			for _, r := range used[folder] {
				waiting[r.ID] = true
			}
		case files.Unfinished(paths[i]):
			s.afterwards.Lock() // a retry writes files of a run that has ended; of any other the writer has died
			err = s.Files.Remove(ctx, paths[i])
			s.afterwards.Unlock()
		default:
			err = s.forgetIn(ctx, paths[i], find)
		}
	}
	if err != nil {
		return "", fmt.Errorf("forget what stands in files of runs: %w", err)
	}
	return waits, nil
}

// A run may wait for hours or days, by its rate, its quiet hours, a halt, a service that is down. An erasure does not wait with it: the run is put
// down, as by a stop of the daemon, its files are written anew, and it is taken up again where it was.

// givesUp is how long a run has to put itself down before the erasure leaves it for its next try.
const givesUp = 3 * time.Second

// gaveUp has runs that are being sent give their files up. why says what still uses them, "" for nothing: then no process works on the runs
// until takeUp.
func (s *Scheduler) gaveUp(ctx context.Context, runs []*nudgewire.Run) (why string, err error) {
	for _, r := range runs {
		if r.State != nudgewire.RunUploading {
			return fmt.Sprintf("run %d of %s, which is %s", r.ID, r.Job, r.State.Words()), nil
		}
		until := s.Now().Add(s.Lease)
		for tried := time.Duration(0); s.putDown(r.ID, until); tried += givesUp / 30 {
			if tried >= givesUp {
				return s.sending(ctx, r)
			}
			if err := s.Sleep(ctx, givesUp/30); err != nil {
				return "", err
			}
		}
		mine, err := s.Store.ClaimRuns(ctx, s.Owner, s.Now().UTC(), until.UTC(), func(one *nudgewire.Run) bool { return one.ID == r.ID })
		if err != nil {
			return "", err
		}
		if len(mine) == 0 {
			return fmt.Sprintf("run %d of %s, which another node sends", r.ID, r.Job), nil
		}
		if leaving, err := s.fileLeaves(ctx, r); err != nil {
			return "", err
		} else if leaving { // a crash cut it off: who takes the run up settles that first
			s.takeUp(r.ID)
			return fmt.Sprintf("run %d of %s, which a stop cut off", r.ID, r.Job), nil
		}
	}
	return "", nil
}

// sending says what a run in hand does that it cannot put down.
func (s *Scheduler) sending(ctx context.Context, r *nudgewire.Run) (string, error) {
	if leaving, err := s.fileLeaves(ctx, r); err != nil || leaving {
		return fmt.Sprintf("a file of run %d of %s, which is being sent", r.ID, r.Job), err
	}
	return fmt.Sprintf("run %d of %s to put its files down", r.ID, r.Job), nil
}

// fileLeaves reports whether a file of the run is on its way, or was when its process died.
func (s *Scheduler) fileLeaves(ctx context.Context, r *nudgewire.Run) (bool, error) {
	parts, err := s.Store.Parts(ctx, r.ID)
	return slices.ContainsFunc(parts, func(p nudgewire.Part) bool { return p.State == nudgewire.PartUploading }), err
}

// putDown keeps a run from being worked on here, and reports whether it still is.
func (s *Scheduler) putDown(id nudgewire.RunID, until time.Time) (inHand bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down[id] = until
	return s.busy[id]
}

// isDown reports whether a run is not to be worked on here for now.
func (s *Scheduler) isDown(id nudgewire.RunID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Now().Before(s.down[id])
}

// takeUp has a run worked on again.
func (s *Scheduler) takeUp(id nudgewire.RunID) {
	s.mu.Lock()
	delete(s.down, id)
	s.mu.Unlock()
	s.Wake()
}

// fileHolds reports whether something is to be forgotten of a file. Of one that is not whole it may be.
func (s *Scheduler) fileHolds(ctx context.Context, path string, find Blotter) (holds bool, err error) {
	if files.Unfinished(path) {
		return true, nil
	}
	f, err := s.Files.Open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return eachLine(f, func(line []byte) error {
		holds = find.Blot(line) || holds
		return nil
	}, &holds)
}

// eachLine calls each on the lines of a file, with their ends. No number runs over the end of a line.
func eachLine(f io.Reader, each func([]byte) error, result *bool) (bool, error) {
	lines := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if err := each(line); err != nil {
				return *result, err
			}
		}
		if errors.Is(err, io.EOF) {
			return *result, nil
		}
		if err != nil {
			return *result, err
		}
	}
}

// forgetIn writes one file anew. The store knows the new bytes of a part before the file has them: a crash between the
// two leaves a file that counts as changed, and the next call makes it the same again.
func (s *Scheduler) forgetIn(ctx context.Context, path string, find Blotter) (err error) {
	folder, name := files.Split(path)
	from, err := s.Files.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := makerIn(ctx, s.Files, folder)(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Abandon()) }() // nothing to do once it is kept
	sum, buf, size := sha256.New(), bufio.NewWriterSize(to, 1<<16), counting(0)
	out := io.MultiWriter(sum, buf, &size)
	isPart := strings.HasPrefix(name, "part-") && strings.HasSuffix(name, ".csv")
	if isPart {
		err = forgetRows(from, out, find)
	} else {
		ignored := false
		_, err = eachLine(from, func(line []byte) error {
			find.Blot(line)
			_, err := out.Write(line)
			return err
		}, &ignored)
	}
	if err = errors.Join(err, buf.Flush()); err == nil {
		err = to.Sync()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, diskFull(err))
	}
	s.leaving.Lock() // no part is claimed between the two
	defer s.leaving.Unlock()
	if isPart {
		if err := s.Store.PartRewritten(ctx, folder, name, int64(size), hex.EncodeToString(sum.Sum(nil))); err != nil {
			return err
		}
	}
	return to.Commit()
}

// counting adds up the bytes that are written to it.
type counting int64

func (c *counting) Write(p []byte) (int, error) {
	*c += counting(len(p))
	return len(p), nil
}

// forgetRows passes on the rows of a part.
func forgetRows(from io.Reader, to io.Writer, find Blotter) error {
	in, out := csv.NewReader(bufio.NewReaderSize(from, 1<<16)), csv.NewWriter(to)
	in.FieldsPerRecord, in.ReuseRecord = -1, true
	for {
		row, err := in.Read()
		if errors.Is(err, io.EOF) {
			out.Flush()
			return out.Error()
		}
		if err != nil {
			return err
		}
		for i, cell := range row {
			b := []byte(cell)
			if !find.Blot(b) {
				continue
			}
			if i == 0 {
				clear(row)
				row[0] = strings.Repeat(forgottenDigit, len(cell))
				break
			}
			row[i] = string(b)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
}
