package apiclient

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func countNew(n *int) func(net.Conn, http.ConnState) {
	return func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			*n++
		}
	}
}

func TestCreateCampaign(t *testing.T) {
	file := "phone,var_1\n447700900123,Ada\n"
	type part struct{ Name, FileName, Type, Content string }
	var parts []part
	var length int64
	var chunked []string
	base := answer(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Method + " " + r.RequestURI; got != "POST /api/v1/campaigns/create-with-csv" {
			t.Errorf("asked %s", got)
		}
		length, chunked, parts = r.ContentLength, r.TransferEncoding, nil
		_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
		if err != nil {
			t.Error(err)
		}
		for form := multipart.NewReader(r.Body, params["boundary"]); ; {
			p, err := form.NextPart()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("next part: %v", err)
				break
			}
			content, err := io.ReadAll(p)
			if err != nil {
				t.Errorf("read part: %v", err)
			}
			parts = append(parts, part{p.FormName(), p.FileName(), p.Header.Get("Content-Type"), string(content)})
		}
		_, _ = io.WriteString(w, `{"success":true,"campaign_id":"88","message_ids":[5,6]}`)
	})
	for name, r := range map[string]io.Reader{
		"a file":                              strings.NewReader(file),
		"a file that comes byte by byte":      iotest.OneByteReader(strings.NewReader(file)),
		"a file that ends with its last byte": iotest.DataErrReader(strings.NewReader(file)),
	} {
		t.Run(name, func(t *testing.T) {
			a, err := open(t, base).CreateCampaign(t.Context(), `Winback "June"`, 1042, `june "1".csv`, r, int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"5", "6"}, a.MessageIDs); diff != "" || a.CampaignID != "88" {
				t.Errorf("campaign %q, ids (-want +got):\n%s", a.CampaignID, diff)
			}
			want := []part{{"name", "", "", `Winback "June"`}, {"template_id", "", "", "1042"}, {"file", `june "1".csv`, "text/csv", file}}
			if diff := cmp.Diff(want, parts); diff != "" {
				t.Errorf("form (-want +got):\n%s", diff)
			}
			if length <= int64(len(file)) || chunked != nil {
				t.Errorf("length %d, encoding %v: want the exact length", length, chunked)
			}
		})
	}
}

func TestCreateCampaignRefusesAFileOfAnotherSize(t *testing.T) {
	tests := map[string]struct {
		file string
		size int64
		want string
	}{
		"shorter": {"phone\n4477\n", 100, `create-with-csv: sent, but not answered: cut after at most \d+ of \d+ bytes: the file does not have the announced size: ended after 11 of 100 bytes`},
		"longer":  {"phone\n4477\n", 5, `create-with-csv: sent, but not answered: cut after at most \d+ of \d+ bytes: the file does not have the announced size: longer than 5 bytes`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, base := scripted(t, func(conn net.Conn, _ int64, _ []byte) bool {
				return say(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
			})
			_, err := open(t, base).CreateCampaign(t.Context(), "n", 1, "a.csv", strings.NewReader(tt.file), tt.size)
			checkEnd(t, want{InDoubt, 0, 0, tt.want}, err)
			if !errors.Is(err, ErrFileSize) {
				t.Errorf("%v is not ErrFileSize", err)
			}
			if w.whole.Load() != 0 {
				t.Error("the service got a whole form")
			}
		})
	}
	t.Run("no file at all", func(t *testing.T) {
		_, err := open(t, "http://"+vacant(t)).CreateCampaign(t.Context(), "n", 1, "a.csv", nil, 0)
		checkEnd(t, want{Rejected, 0, 0, `create-with-csv: no file to upload`}, err)
	})
}

// A noise reader is a file of any size that is in no memory.
type noise struct{ read atomic.Int64 }

func (n *noise) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	n.read.Add(int64(len(p)))
	return len(p), nil
}

func TestCreateCampaignStreams(t *testing.T) {
	const size = 64 << 20
	var before, during runtime.MemStats
	var got int64
	base := answer(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.Copy(io.Discard, r.Body)
		runtime.ReadMemStats(&during)
	})
	c := open(t, base, patience(time.Minute))
	runtime.ReadMemStats(&before)
	_, err := c.CreateCampaign(t.Context(), "n", 1, "a.csv", io.LimitReader(new(noise), size), size)
	if err != nil || got < size {
		t.Fatalf("the service read %d bytes, error %v", got, err)
	}
	if grown := int64(during.TotalAlloc - before.TotalAlloc); grown > size/8 {
		t.Errorf("%d bytes were allocated for a file of %d", grown, size)
	}
}

func TestALargeFileWaitsForTheGoAhead(t *testing.T) {
	const size = 4 << 20
	t.Run("a wrong key is refused before the file travels", func(t *testing.T) {
		base := answer(t, func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "unknown API key", http.StatusUnauthorized)
		})
		file := new(noise)
		_, err := open(t, base).CreateCampaign(t.Context(), "n", 1, "a.csv", io.LimitReader(file, size), size)
		checkEnd(t, want{Rejected, 401, 0, `create-with-csv: 401 Unauthorized: unknown API key`}, err)
		if n := file.read.Load(); n != 0 {
			t.Errorf("%d bytes of the file were read", n)
		}
	})
	t.Run("a connection lost before the go-ahead took nothing", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_ = conn.Close()
		}()
		_, err = open(t, "http://"+ln.Addr().String()).CreateCampaign(t.Context(), "n", 1, "a.csv", io.LimitReader(new(noise), size), size)
		checkEnd(t, want{NotAccepted, 0, 0, `create-with-csv: not sent: .*`}, err)
	})
	t.Run("a service that knows no go-ahead gets the file all the same", func(t *testing.T) {
		var got atomic.Int64
		_, base := scripted(t, func(conn net.Conn, _ int64, body []byte) bool {
			got.Store(int64(len(body)))
			return say(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		})
		if _, err := open(t, base).CreateCampaign(t.Context(), "n", 1, "a.csv", io.LimitReader(new(noise), size), size); err != nil || got.Load() < size {
			t.Errorf("the service read %d bytes, error %v", got.Load(), err)
		}
	})
}

func TestAnUploadCutInTheMiddleIsInDoubt(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, conn, 100<<10)
		_ = conn.Close()
	}()
	const size = 900 << 10
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(rand.IntN(256))
	}
	_, err = open(t, "http://"+ln.Addr().String()).CreateCampaign(t.Context(), "n", 1, "a.csv", bytes.NewReader(content), size)
	checkEnd(t, want{InDoubt, 0, 0, `create-with-csv: sent, but not answered: .*`}, err)
}
