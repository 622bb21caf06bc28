package terminal

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

const (
	wholeBar  = 24 // signs of a bar where there is room
	leastBar  = 6  // with fewer than these a bar shows nothing that the percentage does not
	NoColumns = 0  // a line that need not fit anywhere
)

// Columns is how wide the terminal behind a stream is; NoColumns when that is not known.
func Columns(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return NoColumns
}

// Redraws reports whether a line on the stream can be written over: on a terminal that knows
// how to clear the rest of a line.
func Redraws(stream any) bool { return IsTerminal(stream) && os.Getenv("TERM") != "dumb" }

// ProgressBar is how far a run has come, in one line shorter than width: terminals break a line that
// reaches their last column, and what is broken cannot be written over. Where there is less
// room the least telling goes first: parts, rate, rows, the bar itself; what stays longest is the
// state, the percentage and the time left.
func ProgressBar(state string, p *server.ProgressView, halted bool, width int) string {
	room := width - 1
	if width <= NoColumns {
		room = 1 << 10
	}
	head := state
	if head != "" {
		head = fmt.Sprintf("%-9s", head)
	}
	if p == nil {
		return CutTo(strings.TrimRight(head+halting(halted), " "), room)
	}
	share := ""
	if p.Of > 0 {
		share = fmt.Sprintf(" %3d%%", min(p.Rows*100/p.Of, 100))
	}
	// In the order in which they are shown; stays is the order in which they are kept.
	type detail struct {
		text  string
		stays int
	}
	details := []detail{{units.Count(p.Rows, "row"), 2}}
	if p.OfParts > 0 {
		details = append(details, detail{fmt.Sprintf("part %d of %d", p.Parts, p.OfParts), 4})
	}
	if p.PerSecond >= 1 && !halted {
		details = append(details, detail{units.Number(int64(p.PerSecond)) + "/s", 3})
	}
	if p.Left >= 1 && !halted {
		details = append(details, detail{Roughly(p.Left) + " left", 1})
	}
	if halted {
		details = append(details, detail{"halted", 0})
	}
	bar := len(" []") + leastBar
	if p.Of <= 0 {
		bar = 0
	}
	tail := func(keep int) string {
		var texts []string
		for _, d := range details {
			if d.stays <= keep {
				texts = append(texts, d.text)
			}
		}
		if len(texts) == 0 {
			return ""
		}
		return " " + strings.Join(texts, ", ")
	}
	keep := 4
	for keep > 0 && utf8.RuneCountInString(head+share+tail(keep))+bar > room {
		keep--
	}
	rest := share + tail(keep)
	if p.Of > 0 {
		left := min(room-utf8.RuneCountInString(head+rest)-len(" []"), wholeBar)
		if left >= leastBar {
			done := int(min(p.Rows, p.Of) * int64(left) / p.Of)
			head += " [" + strings.Repeat("=", done) + strings.Repeat(" ", left-done) + "]"
		}
	}
	return CutTo(strings.TrimLeft(head+rest, " "), room)
}

func halting(halted bool) string {
	if halted {
		return " halted"
	}
	return ""
}

// CutTo is text without what has no room.
func CutTo(text string, room int) string {
	if room < 0 {
		room = 0
	}
	if utf8.RuneCountInString(text) <= room {
		return text
	}
	return string([]rune(text)[:room])
}
