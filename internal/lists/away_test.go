package lists

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/minio/minio-go/v7"

	"github.com/nudgewire/nudgewire/internal/netguard"
)

func TestWhatEndsByItself(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: &os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}}
	for _, tt := range []struct {
		err  error
		away bool
	}{
		{nil, false},
		{ErrChanged, true},
		{&os.PathError{Op: "open", Path: "list.csv", Err: syscall.ENOENT}, true},
		{&noFileError{"no file has such a name"}, true},
		{refused, true},
		{&strangeError{refused, "refused"}, true},
		{&net.OpError{Op: "dial", Net: "tcp", Err: netguard.ErrPrivate}, false},
		{&net.DNSError{Err: "no such host", Name: "lists.example.com", IsNotFound: true}, true},
		{&strangeError{io.EOF, "EOF"}, true},
		{io.ErrUnexpectedEOF, true},
		{&awayError{&wordError{"nothing came for 1m", "run it again"}}, true},
		{&os.PathError{Op: "read", Path: "list.csv", Err: syscall.ESTALE}, true},
		{&os.PathError{Op: "read", Path: "list.csv", Err: syscall.EIO}, true},
		{&os.PathError{Op: "open", Path: "list.csv", Err: syscall.EACCES}, false},
		{&os.PathError{Op: "write", Path: "part-0001.csv", Err: syscall.ENOSPC}, false},
		{&statusError{code: http.StatusNotFound}, true},
		{&statusError{code: http.StatusTooManyRequests}, true},
		{&statusError{code: http.StatusServiceUnavailable}, true},
		{&statusError{code: http.StatusBadRequest}, false},
		{&statusError{code: http.StatusGone}, false},
		{&wordError{"the server answered 401 Unauthorized", "check bearer"}, false},
		{minio.ErrorResponse{StatusCode: http.StatusNotFound, Code: "NoSuchKey"}, true},
		{minio.ErrorResponse{StatusCode: http.StatusForbidden, Code: "AccessDenied"}, false},
		{&databaseError{"the database is starting up", &pgconn.PgError{Code: "57P03"}}, true},
		{&databaseError{"too many connections", &pgconn.PgError{Code: "53300"}}, true},
		{&databaseError{"no such table", &pgconn.PgError{Code: "42P01"}}, false},
		{&databaseError{"password", &pgconn.PgError{Code: "28P01"}}, false},
		{x509.UnknownAuthorityError{}, false},
		{ErrEmpty, false},
		{ErrTooLarge, false},
		{errors.New("is no workbook that can be read"), false},
	} {
		for _, err := range []error{tt.err, within("CSV list.csv", tt.err)} {
			if got := Away(err); got != tt.away {
				t.Errorf("%T %v: %v, want %v", tt.err, err, got, tt.away)
			}
		}
	}
}

// The sources themselves, not only their errors.
func TestSourcesThatAreAway(t *testing.T) {
	folder := t.TempDir()
	answers := map[string]http.HandlerFunc{
		"/404": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"/401": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"/cut": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/csv")
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "phone\n447700900123\n")
		},
		"/half": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `[{"phone":"447700900123"},`)
		},
		"/page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answers[r.URL.Path](w, r) }))
	t.Cleanup(server.Close)
	web := func(path string) Origin { return Origin{HTTP: &HTTP{URL: server.URL + path, AllowPrivate: true}} }
	for name, tt := range map[string]struct {
		origin Origin
		away   bool
	}{
		"a file that is not there":           {Origin{CSV: "list.csv"}, true},
		"no file of a pattern":               {Origin{CSV: "list-*.csv"}, true},
		"a page that is not there":           {web("/404"), true},
		"a key that is refused":              {web("/401"), false},
		"an answer that is cut":              {web("/cut"), true},
		"an answer that breaks off":          {web("/half"), true},
		"a web page in the place of a list":  {web("/page"), false},
		"an address where nobody listens":    {Origin{HTTP: &HTTP{URL: "http://127.0.0.1:1/list.csv", AllowPrivate: true}}, true},
		"an address that must not be called": {Origin{HTTP: &HTTP{URL: "https://127.0.0.1:1/list.csv"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			source, problems := tt.origin.Compile(folder)
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if web, ok := source.(*webSource); ok {
				web.pause = func(context.Context, time.Duration) {}
			}
			rows, err := source.Open(t.Context())
			for err == nil {
				_, _, err = rows.Next()
			}
			if rows != nil {
				_ = rows.Close()
			}
			if Away(err) != tt.away {
				t.Errorf("%v: away is %v", err, !tt.away)
			}
		})
	}
}

// What cannot be read because it is written to at this moment says both.
func TestAFileThatIsWrittenToAndCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list.csv")
	if err := os.WriteFile(path, []byte("phone\n"+strings.Repeat("447700900123\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("row 7 has a quote that never ends")
	r := &fileRows{vigil: (&Origin{}).vigil(t.Context()), files: []file{localFile{path: path, shown: path}}, before: "another"}
	defer r.vigil.close()
	if err := r.changing(broken); !errors.Is(err, ErrChanged) || !errors.Is(err, broken) || !Away(err) {
		t.Error(err)
	}
	var err error
	if r.before, err = r.stamp(r.files[0]); err != nil {
		t.Fatal(err)
	}
	if err := r.changing(broken); errors.Is(err, ErrChanged) || Away(err) {
		t.Error(err)
	}
}
