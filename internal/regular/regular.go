// Package regular opens the files that a config names: lists, secrets, includes, days of holidays, certificates.
//
// Such a name may lead to anything. Only a regular file is opened: a pipe would wait for somebody who writes, a device may have no
// end, and what lies in /proc tells of this very process. A share that hangs holds up nobody for longer than their context: whoever
// opens or reads is left behind then, and lets go of the file when it comes back.
package regular

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// What is refused, for errors.Is.
var (
	ErrFolder   = errors.New("is a folder")
	ErrNoFile   = errors.New("is no regular file") // but a pipe, a device, a socket, or something of the system's such as /proc
	ErrLeadsOut = errors.New("is a link that leads out of its folder")
	ErrTooLarge = errors.New("is larger than it may be")
)

// Patience is how long a file may take to be read whole where nobody's context bounds it.
const Patience = 5 * time.Second

// ErrHangs is a disk or share that does not answer.
var ErrHangs = fmt.Errorf("nothing came of it for %d seconds", Patience/time.Second)

// Bounded is a context for a file that nobody's context bounds. It ends with ErrHangs.
func Bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.Background(), Patience, ErrHangs)
}

// step is how much is read at a time.
const step = 64 << 10

// handle is what of *os.File is used here.
type handle interface {
	io.ReadCloser
	Stat() (fs.FileInfo, error)
}

// A File is a regular file that is open for reading, as long as its context lasts.
type File struct {
	ctx  context.Context // of all reading, from Open to Close
	from handle
	buf  []byte
	have []byte // read from the file and not by the caller
	err  error  // what the file ended with
	gone bool   // left behind: somebody else closes it
}

// Open opens the file at a path. ctx bounds the opening and the reading. Errors: those of package os, ErrFolder, ErrNoFile, and the
// cause of ctx.
func Open(ctx context.Context, path string) (*File, error) {
	return open(ctx, func() (handle, error) { return look(path, os.Stat, os.OpenFile) })
}

// OpenIn is Open for a file of a folder, whose links may not lead out of it; else the error is ErrLeadsOut.
func OpenIn(ctx context.Context, folder *os.Root, name string) (*File, error) {
	return open(ctx, func() (handle, error) {
		f, err := look(name, folder.Stat, folder.OpenFile)
		if err != nil && leadsOut(folder.Name(), name) {
			return nil, fmt.Errorf("%s %w", name, ErrLeadsOut)
		}
		return f, err
	})
}

// Read is all of the file at a path, which may have as many bytes as most; else the error is ErrTooLarge.
func Read(ctx context.Context, path string, most int64) ([]byte, error) {
	f, err := Open(ctx, path)
	return all(f, err, most)
}

// ReadSmall is Read for a file of at most a megabyte, such as certificates, where nobody's context bounds it.
func ReadSmall(path string) ([]byte, error) {
	ctx, done := Bounded()
	defer done()
	text, err := Read(ctx, path, 1<<20)
	if errors.Is(err, ErrNoFile) || errors.Is(err, ErrFolder) || errors.Is(err, ErrTooLarge) {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return text, err
}

// ReadIn is Read for a file of a folder, as in OpenIn.
func ReadIn(ctx context.Context, folder *os.Root, name string, most int64) ([]byte, error) {
	f, err := OpenIn(ctx, folder, name)
	return all(f, err, most)
}

func all(f *File, err error, most int64) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only: nothing can be lost by a bad close
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, ErrTooLarge
	}
	return text, err
}

// Stamps tell files from what they were: when they were changed, their size and what they are. A file of a share that does not answer
// before ctx ends is as one that is gone.
func Stamps(ctx context.Context, paths ...string) string {
	var out strings.Builder
	for _, path := range paths {
		if info, err := Do(ctx, func() (fs.FileInfo, error) { return os.Stat(path) }); err != nil {
			fmt.Fprintln(&out, path, "is gone")
		} else {
			fmt.Fprintln(&out, path, info.ModTime(), info.Size(), info.Mode())
		}
	}
	return out.String()
}

// Do runs what may hang, such as a look into a folder, and leaves it behind when ctx ends.
func Do[T any](ctx context.Context, run func() (T, error)) (T, error) {
	return leave(ctx, run, func(T) {})
}

// leave runs what may hang. When ctx ends it is left behind, and drop gets what it comes back with.
func leave[T any](ctx context.Context, run func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done, left := make(chan result), make(chan struct{})
	go func() {
		value, err := run()
		select {
		case done <- result{value, err}:
		case <-left:
			if err == nil {
				drop(value)
			}
		}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		close(left)
		var none T
		return none, context.Cause(ctx)
	}
}

func open(ctx context.Context, do func() (handle, error)) (*File, error) {
	from, err := leave(ctx, do, func(f handle) { _ = f.Close() })
	if err != nil {
		return nil, err
	}
	return &File{ctx: ctx, from: from}, nil
}

// leased is how long somebody may take to give up a lease of a file that is to be opened (fcntl(2), F_SETLEASE), as file servers have.
const leased = 10 * time.Second

// look opens what is a regular file, before it is opened and afterwards: some devices do something when they are opened.
func look(name string, stat func(string) (fs.FileInfo, error), open func(string, int, fs.FileMode) (*os.File, error)) (handle, error) {
	info, err := stat(name)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Op = "open" // which is what was meant
	}
	if err == nil {
		err = regular(info)
	}
	if err != nil {
		return nil, err
	}
	var f *os.File
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		f, err = open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.EAGAIN) || time.Since(began) > leased {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = regular(info)
	}
	if err == nil && ofTheSystem(f) {
		err = ErrNoFile
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return ErrFolder
	case !info.Mode().IsRegular():
		return ErrNoFile
	}
	return nil
}

// leadsOut reports whether a name below the folder means something outside of it. os.Root refuses it with an error that has no type.
func leadsOut(folder, name string) bool {
	in, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	to, err := filepath.EvalSymlinks(filepath.Join(folder, filepath.FromSlash(name)))
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(in, to)
	return err != nil || !filepath.IsLocal(rel)
}

// Read reads on. Its error is the cause of the context once that ended.
func (f *File) Read(p []byte) (int, error) {
	if len(f.have) == 0 && f.err == nil {
		if f.buf == nil {
			f.buf = make([]byte, step)
		}
		n, err := leave(f.ctx, func() (int, error) {
			n, err := f.from.Read(f.buf)
			if n > 0 && errors.Is(err, io.EOF) {
				err = nil // it comes again
			}
			return n, err
		}, func(int) {})
		if f.ctx.Err() != nil {
			// Whoever reads may still be at it; its buffer is its own from now on.
			f.leaveBehind()
			return 0, f.err
		}
		f.have, f.err = f.buf[:n], err
	}
	n := copy(p, f.have)
	f.have = f.have[n:]
	if n == 0 {
		return 0, f.err
	}
	return n, nil
}

func (f *File) leaveBehind() {
	f.err, f.have = context.Cause(f.ctx), nil
	if !f.gone {
		f.gone = true
		go func() { _ = f.from.Close() }() // it waits for who reads
	}
}

// Stat is what is known of the file.
func (f *File) Stat() (fs.FileInfo, error) { return Do(f.ctx, f.from.Stat) }

// Close lets go of the file; nobody waits for a share that hangs.
func (f *File) Close() error {
	if f.gone {
		return nil
	}
	f.gone = true
	_, err := Do(f.ctx, func() (struct{}, error) { return struct{}{}, f.from.Close() })
	if f.ctx.Err() == nil {
		return err
	}
	return nil
}
