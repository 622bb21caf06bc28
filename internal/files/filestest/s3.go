package filestest

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// S3 is a storage in this process with an empty bucket. Requests go through around, where it is not nil.
func S3(t testing.TB, around func(http.Handler) http.Handler) *files.S3 {
	t.Helper()
	in := s3mem.New()
	if err := in.CreateBucket("files"); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(in).Server()
	if around != nil {
		fake = around(fake)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=AK/") {
			t.Errorf("not signed: %s %s", r.Method, r.URL)
		}
		if r.Header.Get("X-Amz-Content-Sha256") == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" {
			if err := unchunk(r); err != nil {
				t.Error(err)
			}
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return &files.S3{Bucket: "files", Prefix: "shop/runs", Endpoint: server.URL, Region: "eu-central-1", AccessKey: secret.New("AK"), SecretKey: secret.New("SK"), AllowPrivate: true}
}

// unchunk takes the signatures out of a body that was signed piece by piece: the fake knows them of whole objects alone.
func unchunk(r *http.Request) error {
	var plain bytes.Buffer
	for in := bufio.NewReader(r.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err == nil {
			_, err = io.CopyN(&plain, in, n)
		}
		if err == nil {
			_, err = in.Discard(len("\r\n"))
		}
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	r.Header.Set("Content-Length", strconv.Itoa(plain.Len()))
	r.Body, r.ContentLength = io.NopCloser(&plain), int64(plain.Len())
	return nil
}
