package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A Canary sends the first rows, waits and looks at what became of them. An accepted message
// whose end is not known yet counts as neither good nor bad; when most are of that kind, the run
// stops as well.
type Canary struct {
	First  Share          `yaml:"first" validate:"required" doc:"Rows to begin with: a number, or a share of them. With deliver: csv they are a file of their own." example:"1%"`
	Wait   units.Duration `yaml:"wait" default:"10m" doc:"How long to wait before looking." example:"2h"`
	StopIf StopIf         `yaml:"stop_if" doc:"What stops the run until a person resumes it: failed > 10%, read < 20%, or both with or between them. It stops as well when fewer than half of the first have come to an end by then. A file whose answer names no messages only shows that it was accepted: then the rest goes, and jobs show says so." example:"failed > 10% or read < 20%"`
}

// StopIf is the canary's condition: messages that failed above a share of those that have ended, or that
// were read below a share of those that arrived. A share that is nil is not looked at.
type StopIf struct{ Failed, Read *Percent }

// UnmarshalText reads failed > 10%, read < 20%, or both with "or" between them.
func (s *StopIf) UnmarshalText(text []byte) error {
	for one := range strings.SplitSeq(string(text), " or ") {
		to, known := &s.Failed, "failed"
		what, share, found := strings.Cut(one, ">")
		if !found {
			to, known = &s.Read, "read"
			what, share, found = strings.Cut(one, "<")
		}
		if !found || strings.TrimSpace(what) != known || *to != nil {
			return &wordError{fmt.Sprintf("%q is no condition of a canary", text), `write "failed > 10%", "read < 20%", or "failed > 10% or read < 20%"`}
		}
		*to = new(Percent)
		if err := (*to).UnmarshalText([]byte(strings.TrimSpace(share))); err != nil {
			return err
		}
		if **to > 1 {
			return &wordError{fmt.Sprintf("%s of the messages are more than all of them", **to), "write at most 100%"}
		}
	}
	return nil
}

// IsZero reports whether nothing is looked at.
func (s StopIf) IsZero() bool { return s.Failed == nil && s.Read == nil }

// String is the condition as it is read.
func (s StopIf) String() string {
	var words []string
	if s.Failed != nil {
		words = append(words, "failed > "+s.Failed.String())
	}
	if s.Read != nil {
		words = append(words, "read < "+s.Read.String())
	}
	return strings.Join(words, " or ")
}

// MarshalText writes what String does.
func (s StopIf) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Schema describes the text to editors.
func (StopIf) Schema() map[string]any {
	const failed, read = `failed\s*>\s*[0-9.]+\s*%`, `read\s*<\s*[0-9.]+\s*%`
	return map[string]any{"type": "string", "pattern": "^(" + failed + "|" + read + ")( or (" + failed + "|" + read + "))?$"}
}

// judge says what the canary found, and whether that stops the run. sent is how many messages it looks at.
func (c *Canary) judge(s messaging.RunCounts, sent int64) (words string, stops bool) {
	first := "of the first " + units.Count(sent, "message")
	switch {
	case s.Ended == 0:
		return fmt.Sprintf("none %s ended within %s, so nobody knows how they did", first, c.Wait), true
	case c.StopIf.Failed != nil && float64(s.Failed) > float64(*c.StopIf.Failed)*float64(s.Ended):
		return fmt.Sprintf("%d %s have ended and %d of these failed, which is more than %s", s.Ended, first, s.Failed, c.StopIf.Failed), true
	case 2*s.Ended < sent:
		return fmt.Sprintf("only %d %s ended within %s, too few to know how they did", s.Ended, first, c.Wait), true
	case c.StopIf.Read != nil && float64(s.Read) < float64(*c.StopIf.Read)*float64(s.Arrived) || c.StopIf.Read != nil && s.Arrived == 0:
		return fmt.Sprintf("%d %s have arrived and %d of these were read, which is less than %s", s.Arrived, first, s.Read, c.StopIf.Read), true
	}
	words = fmt.Sprintf("%d %s have ended, %d of these failed", s.Ended, first, s.Failed)
	if c.StopIf.Read != nil {
		words += fmt.Sprintf(", and %d were read", s.Read)
	}
	return words, false
}

// watched reports whether the run still has to pass its canary. A retry has none: what went wrong with
// its rows is known.
func (w *working) watched() bool {
	return w.brakes().Canary != nil && w.run.RetryOf == 0 && w.run.Overruled == "" && w.run.Canary == ""
}

// canary waits, and looks at what became of the first rows. A restart goes on with the wait while that has
// not ended, and begins it anew where it has, as does a halt that kept the first rows at home: a late
// campaign is better than one that nobody looked at. So when fewer than half of the first messages have
// ended, it is not taken for a good sign that none of them failed: the run stops, and a person decides.
func (w *working) canary(ctx context.Context, sent int64) (halt stop, err error) {
	c, err := w.awaitCanary(ctx)
	if err != nil || c == nil {
		return stop{}, err
	}
	s, err := w.Store.CountRunMessages(ctx, w.run.ID)
	if err != nil {
		return stop{}, fmt.Errorf("look at the first messages: %w", err)
	}
	words, stops := c.judge(s, sent)
	return w.passed(ctx, words, stops)
}

// awaitCanary waits for as long as the canary of now says; nil where the job has none any more.
func (w *working) awaitCanary(ctx context.Context) (*Canary, error) {
	err := w.waitFor(ctx, messaging.WaitCanary, func() (time.Duration, bool) {
		c := w.brakes().Canary
		if c == nil {
			return 0, false
		}
		return c.Wait.D(), true
	})
	c := w.brakes().Canary
	if err == nil && c == nil {
		err = w.waits(ctx, "", time.Time{}, "")
	}
	return c, err
}

// passed ends the canary: it stops the run, or lets the rest go and notes what it found.
func (w *working) passed(ctx context.Context, words string, stops bool) (stop, error) {
	if stops {
		return stop{messaging.StopCanary, "the canary stopped it: " + words}, nil
	}
	return stop{}, w.change(ctx, messaging.RunUploading, "", func(r *messaging.Run) {
		r.Canary, r.Waits, r.WaitUntil = words, "", time.Time{}
	})
}

// waitFor has the run wait as long as lasts says, and says so in its row. A halt meanwhile has it wait anew, another length is
// heeded at once, and it waits no more when lasts says that.
func (w *working) waitFor(ctx context.Context, what messaging.RunWait, lasts func() (time.Duration, bool)) error {
	d, _ := lasts()
	begin := func() error {
		return w.waits(ctx, what, w.Now().Add(d), "")
	}
	if w.run.Waits != what || !w.run.WaitUntil.After(w.Now()) {
		if err := begin(); err != nil {
			return err
		}
	}
	for {
		if w.held() {
			if err := w.await(ctx, time.Time{}); err != nil {
				return err
			}
			if err := begin(); err != nil {
				return err
			}
		}
		switch now, still := lasts(); {
		case !still:
			return nil
		case now != d:
			if err := w.waits(ctx, what, w.run.WaitUntil.Add(now-d), ""); err != nil {
				return err
			}
			d = now
		}
		left := w.run.WaitUntil.Sub(w.Now())
		if left <= 0 {
			return nil
		}
		if err := errors.Join(w.keep(ctx), w.Sleep(ctx, min(left, w.Heed))); err != nil {
			return err
		}
	}
}

// aheadOfCanary is how many rows of a run that uploads files may go before its canary looks; 0 for any number.
func (w *working) aheadOfCanary(parts []messaging.Part) int64 {
	if !w.watched() {
		return 0
	}
	return max(0, w.firstRows()-gone(parts)-w.leftOut())
}

// firstRows is how many rows of the list the canary is about.
func (w *working) firstRows() int64 {
	return w.brakes().Canary.First.of(w.run.Tally.Kept + w.leftOut())
}

// leftOut is how many rows were left out since the list was read.
func (w *working) leftOut() (n int64) {
	for _, x := range w.run.Tally.Excluded {
		if x.Late {
			n += x.Count
		}
	}
	return n
}

// gone is how many rows had their turn.
func gone(parts []messaging.Part) (rows int64) {
	for i := range parts {
		if parts[i].State != messaging.PartWaiting {
			rows += parts[i].Rows
		}
	}
	return rows
}

// fileCanary waits and looks before rows that the canary may keep at home. A file whose answer named no
// messages only shows that it was accepted: that is said, and the rest goes.
func (w *working) fileCanary(ctx context.Context, parts []messaging.Part) (halt stop, err error) {
	if !w.watched() || w.aheadOfCanary(parts) > 0 {
		return stop{}, nil
	}
	rows := int64(0)
	for i := range parts {
		switch p := &parts[i]; p.State {
		case messaging.PartAccepted:
			rows += p.Rows
		case messaging.PartInDoubt:
			return w.passed(ctx, fmt.Sprintf("part %d is in doubt: %s", p.Number, p.Reason), true)
		default:
		}
	}
	if rows == 0 {
		return w.passed(ctx, "none of the first rows was accepted", true)
	}
	c, err := w.awaitCanary(ctx)
	if err != nil || c == nil {
		return stop{}, err
	}
	s, err := w.Store.CountRunMessages(ctx, w.run.ID)
	switch {
	case err != nil:
		return stop{}, fmt.Errorf("look at the first messages: %w", err)
	case s.Messages == 0:
		return w.passed(ctx, fmt.Sprintf("the first %s accepted, and more is not known: the service named no messages", rowsWere(rows)), false)
	case c.StopIf.IsZero():
		return w.passed(ctx, fmt.Sprintf("the first %s accepted; %d of %s have ended, %d of these failed", rowsWere(rows), s.Ended, units.Count(s.Messages, "message"), s.Failed), false)
	}
	words, stops := c.judge(s, s.Messages)
	if s.Messages < rows {
		words += fmt.Sprintf("; of %s the service named no message", units.Count(rows-s.Messages, "row"))
	}
	return w.passed(ctx, words, stops)
}

func rowsWere(n int64) string { return units.Count(n, "row") + verb(n, " was", " were") }
