package terminal

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nudgewire/nudgewire/internal/server"
)

func TestABarFitsItsTerminal(t *testing.T) {
	p := &server.ProgressView{Rows: 1_234_567, Of: 2_469_134, Parts: 3, OfParts: 6, PerSecond: 12_345, Left: 100}
	tests := map[string]struct {
		state  string
		p      *server.ProgressView
		halted bool
		width  int
		want   string
	}{
		"no end of room":       {"uploading", p, false, 0, "uploading [============            ]  50% 1,234,567 rows, part 3 of 6, 12,345/s, 2m left"},
		"120 columns":          {"uploading", p, false, 120, "uploading [============            ]  50% 1,234,567 rows, part 3 of 6, 12,345/s, 2m left"},
		"80 columns":           {"uploading", p, false, 80, "uploading [=======        ]  50% 1,234,567 rows, part 3 of 6, 12,345/s, 2m left"},
		"60 columns":           {"uploading", p, false, 60, "uploading [====    ]  50% 1,234,567 rows, 12,345/s, 2m left"},
		"40 columns":           {"uploading", p, false, 40, "uploading [=======       ]  50% 2m left"},
		"20 columns":           {"uploading", p, false, 20, "uploading  50%"},
		"10 columns":           {"uploading", p, false, 10, "uploading"},
		"5 columns":            {"uploading", p, false, 5, "uplo"},
		"halted, 80 columns":   {"uploading", p, true, 80, "uploading [============            ]  50% 1,234,567 rows, part 3 of 6, halted"},
		"halted, 40 columns":   {"uploading", p, true, 40, "uploading [=======        ]  50% halted"},
		"not begun":            {"planned", nil, false, 40, "planned"},
		"halted and not begun": {"planned", nil, true, 40, "planned   halted"},
		"no end known":         {"building", &server.ProgressView{Rows: 4096, PerSecond: 50_000}, false, 40, "building  4,096 rows, 50,000/s"},
		"all of it":            {"uploading", &server.ProgressView{Rows: 300, Of: 300, Parts: 1, OfParts: 1}, false, 80, "uploading [========================] 100% 300 rows, part 1 of 1"},
		"more than expected":   {"building", &server.ProgressView{Rows: 500, Of: 300}, false, 80, "building  [========================] 100% 500 rows"},
		"one row":              {"uploading", &server.ProgressView{Rows: 1, Of: 2, Parts: 1, OfParts: 2}, false, 80, "uploading [============            ]  50% 1 row, part 1 of 2"},
		"without a state":      {"", &server.ProgressView{Rows: 150, Of: 300, Parts: 1, OfParts: 2}, false, 0, "[============            ]  50% 150 rows, part 1 of 2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ProgressBar(tt.state, tt.p, tt.halted, tt.width); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// Whatever the numbers and the width, the line never reaches the last column.
func TestABarNeverBreaksItsLine(t *testing.T) {
	for width := 1; width <= 130; width++ {
		for _, of := range []int64{0, 1, 999, 5_000_000} {
			for _, rows := range []int64{0, 1, of / 2, of, of + 7} {
				for _, halted := range []bool{false, true} {
					p := &server.ProgressView{Rows: rows, Of: of, Parts: int(rows % 90), OfParts: 99, PerSecond: float64(of), Left: float64(of)}
					line := ProgressBar("uploading", p, halted, width)
					if n := utf8.RuneCountInString(line); n >= width && n > 0 || strings.ContainsAny(line, "\r\n\x1b") {
						t.Fatalf("%d columns, %s: %q is %d wide", width, fmt.Sprint(p, halted), line, n)
					}
				}
			}
		}
	}
}
