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
	"strconv"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files"
)

// eachRow calls each for the rows of a CSV file behind its header, and writes what it reads to sum. A
// row holds until the next.
func eachRow(ctx context.Context, in files.Store, path string, sum io.Writer, each func(row []string) error) error {
	folder, name := files.Split(path)
	f, err := in.Open(ctx, path)
	if err != nil {
		return gone(name, folder, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	rows := csv.NewReader(bufio.NewReaderSize(io.TeeReader(f, sum), 1<<16))
	rows.ReuseRecord = true
	for header := true; ; header = false {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF) && !header:
			return nil
		case err != nil:
			return fmt.Errorf("read %s: %w", name, err)
		case header:
			continue
		}
		if err := each(row); err != nil {
			return err
		}
	}
}

// ReadPart calls each for the rows of a part's file, with their numbers among the kept rows of the
// run and the digits that they are sent to. A file that is gone, or is not the one that was built, is an error in words; what was
// read of it until then was given to each.
func ReadPart(ctx context.Context, in files.Store, folder string, p *nudgewire.Part, each func(number int64, to string) error) error {
	sum, number := sha256.New(), p.First-1
	err := eachRow(ctx, in, files.Join(folder, p.File), sum, func(row []string) error {
		number++
		return each(number, row[0])
	})
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != p.SHA256 {
		err = fmt.Errorf("%s was changed on disk after it was built", p.File)
	}
	return err
}

// An ExcludedRow is a row that a run excluded.
type ExcludedRow struct {
	nudgewire.Position
	Reason string
	Phone  string // as it stands in the source
	Digits string // whose it is; "" where it is no phone
}

// ExcludedFiles are the paths of the lists of rows that a run excluded: that of its building, and one for
// each part that lost rows since. None where it excluded nothing, or keeps no files. The lists may be
// removed by now.
func ExcludedFiles(r *nudgewire.Run, parts []nudgewire.Part) (paths []string) {
	late := int64(0)
	for i := range parts {
		if late += parts[i].Excluded; parts[i].Excluded > 0 {
			paths = append(paths, excludedFileOf(r.Folder, &parts[i]))
		}
	}
	if r.Folder == "" || r.Tally.ExcludedRows() <= late {
		return paths
	}
	name := excludedFile
	if r.RetryOf != 0 {
		name = ofSlot(excludedFile, r.Slot)
	}
	return append([]string{files.Join(r.Folder, name)}, paths...)
}

// excludedFileOf is the path of the list of rows that a part has lost since it was built.
func excludedFileOf(folder string, p *nudgewire.Part) string {
	return files.Join(folder, ofRetry(excludedFile, p.File))
}

// ReadExcluded calls each for the rows that a run excluded, in the order in which it met them. path
// is one of ExcludedFiles.
func ReadExcluded(ctx context.Context, in files.Store, path string, each func(ExcludedRow) error) error {
	return eachRow(ctx, in, path, io.Discard, func(row []string) error {
		if len(row) == len(excludedHead) {
			if number, err := strconv.ParseInt(row[0], 10, 64); err == nil {
				return each(ExcludedRow{nudgewire.Position{Row: number, File: row[4]}, row[1], row[2], row[3]})
			}
		}
		_, name := files.Split(path)
		return fmt.Errorf("%s was changed on disk after it was built", name)
	})
}

func gone(file, folder string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &goneError{file, folder}
	}
	return fmt.Errorf("read %s: %w", file, err)
}

// A goneError says that a file was removed.
type goneError struct{ file, folder string }

func (e *goneError) Error() string { return e.file + " is gone from " + e.folder }

func (*goneError) Is(target error) bool { return target == fs.ErrNotExist }

// PhonesOf calls each for the phones of a part. Of a file that somebody removed it calls
// nothing: who cleans up old lists means to forget them.
func PhonesOf(ctx context.Context, in files.Store, path string, each func(nudgewire.Phone)) error {
	err := eachRow(ctx, in, path, io.Discard, func(row []string) error {
		phone, _ := nudgewire.PhoneOf(row[0])
		each(phone)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
