package lists

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"
)

// drain reads rows to their end, within what the input can hold.
func drain(t *testing.T, rows Rows, most int) {
	t.Helper()
	for n := 0; ; n++ {
		_, _, err := rows.Next()
		if _, ok := errors.AsType[*RowError](err); err != nil && !ok {
			break
		}
		if n > most {
			t.Fatalf("more than %d rows", most)
		}
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
}

func FuzzTable(f *testing.F) {
	for _, s := range []string{"phone,name\n+441,Zo\xeb\n", "\xff\xfep\x00\n\x00", "sep=;\na;b\n", "\"", "PK\x03\x04", "\x1f\x8b", "a\rb\r"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := readTable(t.Context(), io.NopCloser(bytes.NewReader(text)), Origin{MaxBytes: 1 << 20}, new(int64))
		if err == nil {
			drain(t, rows, len(text)+1<<20)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"data":{"list":[{"a":1,"b":{"c":null}},2]},"next":"x"}`), "data.list")
	f.Add([]byte(`[{}]`), "")
	f.Fuzz(func(t *testing.T, text []byte, items string) {
		p, err := readJSON(bufio.NewReader(bytes.NewReader(text)), io.NopCloser(nil), items, nil)
		if err == nil {
			drain(t, p, len(text))
			p.cursor("next")
		}
	})
}
