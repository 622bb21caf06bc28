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
	"strings"

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
// of the others stay; no upload takes it along. waits names a run whose files are in use, "" when all is done: once
// it has ended, or is paused, the call is made again. Done twice it does no harm.
func (s *Scheduler) Forget(ctx context.Context, find Blotter) (waits string, err error) {
	open, err := s.Store.OpenRuns(ctx, "")
	if err != nil {
		return "", err
	}
	used := map[string]string{}
	for _, r := range open {
		switch r.State {
		case nudgewire.RunPlanned, nudgewire.RunBuilding, nudgewire.RunUploading:
			used[runFolder(s.Files.Root(), r)] = fmt.Sprintf("run %d of %s is %s", r.ID, r.Job, r.State.Words())
			if r.Folder != "" { // a retry sends the files of another run
				used[r.Folder] = used[runFolder(s.Files.Root(), r)]
			}
		}
	}
	paths, err := s.Files.List(ctx, "")
	for i := 0; i < len(paths) && err == nil; i++ {
		folder, _ := files.Split(paths[i])
		why := used[folder]
		switch holds, failed := s.fileHolds(ctx, paths[i], find); {
		case failed != nil:
			err = failed
		case !holds:
		case why != "":
			waits = why
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
