package terminal

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatTakesLongSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		detail, end := working("playing", func(line string) { lines = append(lines, line) })
		time.Sleep(2500 * time.Millisecond)
		detail("1,000 events")
		time.Sleep(time.Second)
		end()
		end()
		if want := []string{"playing, 2s", "playing, 3s: 1,000 events", ""}; !slices.Equal(lines, want) {
			t.Errorf("drawn: %q, want %q", lines, want)
		}
	})
}

func TestWhatIsDoneAtOnceDrawsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, end := working("playing", func(line string) { t.Errorf("drawn: %q", line) })
		time.Sleep(quietFor - 1)
		end()
	})
}
