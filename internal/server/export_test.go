package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An answer without its last line was cut short, and says so: half a list must not pass for a
// whole one.
func TestAnExportThatIsCutShortIsAnError(t *testing.T) {
	tests := map[string]struct {
		lines string
		rows  int
		err   string
	}{
		"whole":             {`{"row":{"row":1,"phone":"44","state":"accepted"}}` + "\n" + `{"end":true}` + "\n", 1, "<nil>"},
		"cut between lines": {`{"row":{"row":1,"phone":"44","state":"accepted"}}` + "\n", 1, "the daemon's answer was cut short: EOF"},
		"cut in a line":     {`{"row":{"row":1,"pho`, 0, "the daemon's answer was cut short: unexpected EOF"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ask := far(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.lines) })
			rows := 0
			err := ExportRows.Each(t.Context(), ask, 1, func(*RowView) error { rows++; return nil })
			if rows != tt.rows || fmt.Sprint(err) != tt.err {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
}

// far is a client of a daemon elsewhere that answers so.
func far(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	at := httptest.NewServer(answer)
	t.Cleanup(at.Close)
	ask, err := Remote(at.URL, "token")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ask.Close)
	return ask
}

// A reader that has enough ends the answer: here the handler, and elsewhere the connection.
func TestAReaderThatHasEnoughEndsTheAnswer(t *testing.T) {
	gone := make(chan error, 1)
	ask := far(t, func(w http.ResponseWriter, _ *http.Request) {
		line := `{"row":{"row":1,"phone":"44","state":"accepted"}}` + "\n"
		for {
			if _, err := io.WriteString(w, strings.Repeat(line, 1000)); err != nil {
				gone <- err
				return
			}
		}
	})
	enough := errors.New("enough")
	if err := ExportRows.Each(t.Context(), ask, 1, func(*RowView) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
	<-gone
}
