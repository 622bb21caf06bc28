package certificates

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
)

type answers func(*http.Request) (*http.Response, error)

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// What failed once is not the reason of what fails later, and no authority puts a stop off for long.
func TestAnAuthorityIsListenedTo(t *testing.T) {
	a := &authority{}
	ask := func(status int, after string) (waits string) {
		t.Helper()
		res, err := listening{answers(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Status: strconv.Itoa(status), Header: http.Header{"Retry-After": {after}}, Body: http.NoBody}, nil
		}), a}.RoundTrip(httptest.NewRequest(http.MethodGet, "/", nil))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.Header.Get("Retry-After")
	}
	if waits := ask(http.StatusBadRequest, "3600"); waits != "5" || a.failed != "the authority answered 400" {
		t.Errorf("waits %s s; %q", waits, a.failed)
	}
	if waits := ask(http.StatusOK, "2"); waits != "2" || a.failed != "" {
		t.Errorf("waits %s s; %q", waits, a.failed)
	}
	if waits := ask(http.StatusOK, "Mon, 23 Nov 2026 07:00:00 GMT"); waits != "5" {
		t.Errorf("waits %s s", waits)
	}
}
