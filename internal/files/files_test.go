package files_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/internal/files/filestest"
	"github.com/nudgewire/nudgewire/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFolder(t *testing.T) {
	filestest.Run(t, func(t *testing.T) func() files.Store {
		root := filepath.Join(t.TempDir(), "runs")
		return func() files.Store { return files.InFolder(root) }
	})
}

func TestDatabase(t *testing.T) {
	filestest.Run(t, func(t *testing.T) func() files.Store {
		st := openStore(t)
		return func() files.Store { return files.InDatabase(st) }
	})
}

func TestBucket(t *testing.T) {
	filestest.Run(t, func(t *testing.T) func() files.Store {
		at := filestest.S3(t, nil)
		return func() files.Store { return inBucket(t, at) }
	})
}

func inBucket(t *testing.T, at *files.S3) *files.Bucket {
	t.Helper()
	b, err := files.InBucket(at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "n.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func TestPlacesFindTheFilesOfEachRun(t *testing.T) {
	st := openStore(t)
	folder, database, bucket := files.InFolder(filepath.Join(t.TempDir(), "runs")), files.InDatabase(st), inBucket(t, filestest.S3(t, nil))
	p := &files.Places{Store: bucket, Folder: folder, Database: database, Bucket: bucket}
	if p.Root() != bucket.Root() {
		t.Error(p.Root())
	}
	var paths []string
	for _, s := range []files.Store{folder, database, bucket} {
		path := files.Join(s.Root(), "winback/1-x/part-0001.csv")
		paths = append(paths, path)
		filestest.Write(t, p, path, path)
		if filestest.Read(t, s, path) != path || filestest.Read(t, p, path) != path {
			t.Errorf("%s is elsewhere", path)
		}
	}
	if got, err := p.List(t.Context(), ""); err != nil || !slices.Equal(got, paths) {
		t.Errorf("all: %q %v", got, err)
	}
	p.Store, p.Bucket = database, nil // the config says so now
	elsewhere, _ := files.Split(paths[2])
	if _, err := p.Open(t.Context(), paths[2]); err == nil || err.Error() != "the files of s3://files/shop/runs/winback/1-x/part-0001.csv cannot be read: the config does not name that place any more" {
		t.Error(err)
	}
	if err := p.RemoveFolder(t.Context(), elsewhere); err == nil {
		t.Error("it was removed nowhere")
	}
	for _, path := range paths[:2] {
		in, _ := files.Split(path)
		if err := p.RemoveFolder(t.Context(), in); err != nil {
			t.Error(err)
		}
	}
	if got, err := p.List(t.Context(), ""); err != nil || len(got) != 0 {
		t.Errorf("left: %q %v", got, err)
	}
}

// S3 tells of trouble by itself, and by being away.
func TestABucketInTrouble(t *testing.T) {
	var code atomic.Value
	code.Store("")
	s := inBucket(t, filestest.S3(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch code.Load() {
			case "":
				next.ServeHTTP(w, r)
				return
			case "XMinioStorageFull":
				w.WriteHeader(http.StatusInsufficientStorage)
			default:
				w.WriteHeader(http.StatusForbidden)
			}
			_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code.Load())
		})
	}))
	path := files.Join(s.Root(), "winback/1-x/part-0001.csv")
	filestest.Write(t, s, path, "phone\n1\n")
	code.Store("AccessDenied")
	_, err := s.Open(t.Context(), path)
	if away, ok := errors.AsType[*files.AwayError](err); !ok || away.Place != "s3://files/shop/runs" || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("refused: %v", err)
	}
	if _, err := s.List(t.Context(), ""); err == nil {
		t.Error("listed")
	}
	if err := files.Try(t.Context(), s); err == nil || !strings.HasPrefix(err.Error(), "write: s3://files/shop/runs: ") {
		t.Errorf("tried: %v", err)
	}
	code.Store("XMinioStorageFull")
	w, err := s.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(w, "phone\n2\n") // it may be known by now, and is for sure at the end
	if err := w.Commit(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full: %v", err)
	}
	code.Store("")
	ctx, cancel := context.WithCancel(t.Context())
	if w, err = s.Create(ctx, path); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, _ = io.WriteString(w, "phone\n3\n")
	if err := w.Commit(); err == nil {
		t.Error("it was committed after the end")
	}
	if got := filestest.Read(t, s, path); got != "phone\n1\n" {
		t.Errorf("%q", got)
	}
}

// A connection that breaks is made anew from where it was.
func TestAnObjectIsReadOnAfterABreak(t *testing.T) {
	var gets atomic.Int32
	s := inBucket(t, filestest.S3(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, ".csv") {
				next.ServeHTTP(w, r)
				return
			}
			got := httptest.NewRecorder()
			next.ServeHTTP(got, r)
			maps.Copy(w.Header(), got.Header())
			w.WriteHeader(got.Code)
			if body := got.Body.Bytes(); gets.Add(1) < 4 {
				_, _ = w.Write(body[:len(body)/2])
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write(got.Body.Bytes())
		})
	}))
	path := files.Join(s.Root(), "winback/1-x/part-0001.csv")
	text := strings.Repeat("phone,name\n", 100_000)
	filestest.Write(t, s, path, text)
	if filestest.Read(t, s, path) != text || gets.Load() != 4 {
		t.Errorf("it is another, by %d requests", gets.Load())
	}
}
