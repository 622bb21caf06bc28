package lists

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
)

const nothingCame = "nothing came for 200ms, so the reading was ended"

// halfAList answers with some rows of a list and then with nothing, until the other side has gone.
func halfAList(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"e"`)
	w.Header().Set("Last-Modified", "Mon, 04 May 2026 00:00:00 GMT")
	w.Header().Set("Content-Type", "text/csv")
	w.Header().Set("Content-Length", "4000000")
	if r.Method == http.MethodHead {
		return
	}
	fmt.Fprint(w, "phone\n"+strings.Repeat("+447700900101\n", 10_000))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func TestASourceOfWhichNothingComesEnds(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(halfAList))
	defer server.Close()
	idle := units.Duration(200 * time.Millisecond)
	for name, read := range map[string]func(t *testing.T) list{
		"http": func(t *testing.T) list {
			return readSource(t, web(t, HTTP{URL: server.URL}, Origin{Idle: idle}))
		},
		"s3": func(t *testing.T) list {
			return readAll(t, Origin{Idle: idle, S3: &S3{Bucket: "lists", Key: "a.csv", Endpoint: server.URL, Region: "eu-central-1", AccessKey: secret.New("AK"), SecretKey: secret.New("SK"), AllowPrivate: true}})
		},
		"sftp": func(t *testing.T) list {
			host, _ := newKey(t)
			guest, key := newKey(t)
			address := stalls(t, sshServer(t, host, guest.PublicKey()), 300_000)
			path := filepath.Join(t.TempDir(), "list.csv")
			if err := os.WriteFile(path, []byte("phone\n"+strings.Repeat("+447700900101\n", 100_000)), 0o600); err != nil {
				t.Fatal(err)
			}
			known := put(t, "known_hosts", []byte(knownhosts.Line([]string{address}, host.PublicKey())+"\n"))
			return readAll(t, Origin{Idle: idle, SFTP: &SFTP{Host: address, User: "ann", Key: secret.New(key), KnownHosts: known, Path: path, AllowPrivate: true}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			got := read(t)
			if !strings.HasSuffix(got.End, nothingCame) || !strings.HasPrefix(got.End, name+" ") && name == "http" || len(got.Rows) == 0 {
				t.Errorf("after %d rows it ended with %q", len(got.Rows), got.End)
			}
			if took := time.Since(began); took > time.Minute {
				t.Errorf("after %s", took)
			}
		})
	}
}

// stalls leads to a server, and passes so many bytes of what it says.
func stalls(t *testing.T, to string, after int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		near, err := l.Accept()
		if err != nil {
			return
		}
		defer near.Close()
		far, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer far.Close()
		all.Go(func() { _, _ = io.CopyN(near, far, after) })
		_, _ = io.Copy(far, near)
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return l.Addr().String()
}

// Slow is not idle: what comes in time is read, however long all of it takes.
func TestASlowSourceIsReadToItsEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		fmt.Fprint(w, "phone\n")
		for range 20 {
			fmt.Fprint(w, "+447700900101\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(50 * time.Millisecond)
		}
	}))
	defer server.Close()
	got := readSource(t, web(t, HTTP{URL: server.URL}, Origin{Idle: units.Duration(600 * time.Millisecond)}))
	if len(got.Rows) != 20 || got.End != "" {
		t.Errorf("%d rows, it ended with %q", len(got.Rows), got.End)
	}
}
