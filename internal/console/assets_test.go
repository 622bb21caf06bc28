package console

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Files come packed to whoever reads that, and are the same either way; all that a page loads is small.
func TestFilesArePacked(t *testing.T) {
	whole := 0
	for _, path := range append([]string{static.Style, "/static/icon.svg"}, static.Scripts...) {
		get := func(accepts string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
			r.SetPathValue("file", path[len("/static/"):])
			r.Header.Set("Accept-Encoding", accepts)
			w := httptest.NewRecorder()
			static.ServeHTTP(w, r)
			return w
		}
		plain, packed := get("br, gzip;q=0"), get("br;q=1.0, gzip;q=0.5")
		if plain.Header().Get("Content-Encoding") != "" || packed.Header().Get("Content-Encoding") != "gzip" || packed.Header().Get("Vary") != "Accept-Encoding" {
			t.Fatalf("%s: %v, packed %v", path, plain.Header(), packed.Header())
		}
		whole += packed.Body.Len()
		in, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := io.ReadAll(in); err != nil || !bytes.Equal(out, plain.Body.Bytes()) {
			t.Errorf("%s: %d bytes packed, %d plain, %v", path, len(out), plain.Body.Len(), err)
		}
	}
	if whole > 100<<10 {
		t.Errorf("a page loads %d bytes: too many", whole)
	}
}
