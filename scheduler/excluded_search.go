package scheduler

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nudgewire/nudgewire"
)

// SearchExcluded looks a phone up in a list of excluded rows, and calls each for those
// that it finds: by digits, the phone as it would have been sent to, or, where that is "", by text, which is
// how it stands in the source. It reads no more than most bytes; read is how many it did, and
// whole is false when that was not all.
//
// A list may hold millions of rows, and mostly a phone is on none: so the bytes are searched
// before they are taken apart.
func SearchExcluded(path, digits, text string, most int64, each func(ExcludedRow) error) (read int64, whole bool, err error) {
	text = SafeCell(text)                                  // as it stands in the file
	needle, _, _ := strings.Cut(cmp.Or(digits, text), `"`) // what follows is written otherwise in the file
	read, whole, found, err := searchFile(path, needle, most)
	if err != nil || !found || digits+text == "" {
		return read, whole, err
	}
	enough := errors.New("enough")
	left := most
	err = ReadExcluded(path, func(x ExcludedRow) error {
		if left -= int64(len(x.Reason) + len(x.Phone) + len(x.Digits) + len(x.File)); left < 0 {
			return enough
		}
		if digits != "" && x.Digits != digits || digits == "" && strings.TrimSpace(x.Phone) != text {
			return nil
		}
		return each(x)
	})
	if errors.Is(err, enough) {
		return read, false, nil
	}
	return read, whole, err
}

// searchFile reports whether text stands somewhere in the first bytes of a file, at most so many.
func searchFile(path, text string, most int64) (read int64, whole, found bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false, false, gone(filepath.Base(path), filepath.Dir(path), err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err == nil {
		read, found, err = holds(io.LimitReader(f, most), text)
		whole = err == nil && read >= info.Size()
	}
	return read, whole, found, err
}

// holds reports whether text stands somewhere in what r reads.
func holds(r io.Reader, text string) (read int64, found bool, err error) {
	buf := make([]byte, 1<<20)
	kept := 0 // bytes of the end of the last block: text may begin there
	for {
		n, err := r.Read(buf[kept:])
		read += int64(n)
		block := buf[:kept+n]
		found = found || bytes.Contains(block, []byte(text))
		if errors.Is(err, io.EOF) {
			return read, found, nil
		}
		if err != nil {
			return read, found, err
		}
		kept = copy(buf, block[len(block)-min(len(block), max(0, len(text)-1)):])
	}
}

// SearchPart looks a phone up in a part on disk, and calls each with the number among the kept rows of the
// run of every row that goes to it. It reads no more than most bytes; read is how many it did, and whole is
// false when that was not all.
//
// A part holds some hundred thousand rows: so its bytes are searched before they are taken apart.
func SearchPart(folder string, p *nudgewire.Part, phone nudgewire.Phone, most int64, each func(number int64)) (read int64, whole bool, err error) {
	read, _, found, err := searchFile(filepath.Join(folder, p.File), "\n"+string(phone), most)
	whole = read >= p.Bytes
	if err != nil || !found {
		return read, whole, err
	}
	return read, whole, ReadPart(folder, p, func(number int64, one nudgewire.Phone) error {
		if one == phone {
			each(number)
		}
		return nil
	})
}
