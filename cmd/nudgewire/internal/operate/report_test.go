package operate

import (
	"strings"
	"testing"
)

func TestABarIsAsLongAsItsNumber(t *testing.T) {
	for _, tt := range []struct {
		n, most int64
		want    string
	}{
		{0, 10, ""}, {10, 10, strings.Repeat("█", 20)}, {5, 10, strings.Repeat("█", 10)}, {1, 1_000_000, "▏"}, {1, 40, "▌"}, {3, 40, "█▌"}, {15, 160, "█▉"},
	} {
		if got := bar(tt.n, tt.most); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.n, tt.most, got, tt.want)
		}
	}
}
