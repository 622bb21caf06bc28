package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
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
			ask := Local(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.lines) }), Process("a test"))
			rows := 0
			err := ask.Rows(t.Context(), 1, func(*RowView) error { rows++; return nil })
			if rows != tt.rows || fmt.Sprint(err) != tt.err {
				t.Errorf("%d rows, %v", rows, err)
			}
		})
	}
}

// A reader that has enough ends the handler, and is told only once that has returned.
func TestAReaderThatHasEnoughEndsTheHandler(t *testing.T) {
	ended := false
	ask := Local(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		line := `{"row":{"row":1,"phone":"44","state":"accepted"}}` + "\n"
		for {
			if _, err := io.WriteString(w, strings.Repeat(line, 1000)); err != nil {
				ended = true
				return
			}
		}
	}), Process("a test"))
	enough := errors.New("enough")
	if err := ask.Rows(t.Context(), 1, func(*RowView) error { return enough }); !errors.Is(err, enough) || !ended {
		t.Errorf("%v; the handler ended: %v", err, ended)
	}
}
