package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/plain"
)

// SearchExcluded looks a phone up in a list of excluded rows, and calls each for those
// that it finds: by its digits, or, where that is "", by text, which is
// how it stands in the source. It reads no more than most bytes; read is how many it did, and
// whole is false when that was not all.
//
// A list may hold millions of rows, and mostly a phone is on none: so the bytes are searched
// before they are taken apart.
func SearchExcluded(ctx context.Context, in files.Store, path, digits, text string, most int64, each func(ExcludedRow) error) (read int64, whole bool, err error) {
	text = plain.Cell(text)                                // as it stands in the file
	needle, _, _ := strings.Cut(cmp.Or(digits, text), `"`) // what follows is written otherwise in the file
	read, whole, found, err := searchFile(ctx, in, path, needle, most)
	if err != nil || !found || digits+text == "" {
		return read, whole, err
	}
	enough := errors.New("enough")
	left := most
	err = ReadExcluded(ctx, in, path, func(x ExcludedRow) error {
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
func searchFile(ctx context.Context, in files.Store, path, text string, most int64) (read int64, whole, found bool, err error) {
	f, err := in.Open(ctx, path)
	if err != nil {
		folder, name := files.Split(path)
		return 0, false, false, gone(name, folder, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	if read, found, err = holds(io.LimitReader(f, most), text); err != nil {
		return read, false, found, err
	}
	_, err = io.ReadFull(f, make([]byte, 1)) // whether anything follows
	whole = errors.Is(err, io.EOF)
	if whole {
		err = nil
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

// SearchPart looks a phone up in a part, and calls each with the number among the kept rows of the
// run of every row that goes to it. It reads no more than most bytes; read is how many it did, and whole is
// false when that was not all.
//
// A part holds some hundred thousand rows: so its bytes are searched before they are taken apart.
func SearchPart(ctx context.Context, in files.Store, folder string, p *nudgewire.Part, phone nudgewire.Phone, most int64, each func(number int64)) (read int64, whole bool, err error) {
	found := false
	for _, spelled := range phones.Spellings(string(phone)) {
		n, _, here, err := searchFile(ctx, in, files.Join(folder, p.File), "\n"+spelled, most)
		read, whole, found = max(read, n), n >= p.Bytes, found || here
		if err != nil {
			return read, whole, err
		}
	}
	if !found {
		return read, whole, nil
	}
	return read, whole, ReadPart(ctx, in, folder, p, func(number int64, to string) error {
		if one, _ := nudgewire.PhoneOf(to); one == phone {
			each(number)
		}
		return nil
	})
}
