package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A HistoryStore is what a History needs of package store.
type HistoryStore interface {
	// Blocked says which of the phones are blocked.
	Blocked(ctx context.Context, phones []nudgewire.Phone) (map[nudgewire.Phone]bool, error)
	// Agreed says which of the phones agreed to messages of marketing.
	Agreed(ctx context.Context, phones []nudgewire.Phone) (map[nudgewire.Phone]bool, error)
	// Forgotten says which of the phones are of contacts that were forgotten.
	Forgotten(ctx context.Context, phones []nudgewire.Phone) (map[nudgewire.Phone]bool, error)
	// Redacting says which of the phones came by a connector all of which is asked to be forgotten, and by which.
	Redacting(ctx context.Context, phones []nudgewire.Phone) (map[nudgewire.Phone]string, error)
	// Family are a run, the runs that it repeats, and those that repeat it.
	Family(ctx context.Context, id nudgewire.RunID) ([]nudgewire.RunID, error)
	// RowsTo are the rows of runs to these phones that wait, are on their way, or may have been taken
	// since then.
	RowsTo(ctx context.Context, phones []nudgewire.Phone, since time.Time) ([]nudgewire.Contacted, error)
	// SentTo are the messages that were sent to these phones since then, are being sent, or may have been sent.
	SentTo(ctx context.Context, phones []nudgewire.Phone, since time.Time) ([]nudgewire.Contacted, error)
	// FilesTo are the files with these phones that left since then, or may have.
	FilesTo(ctx context.Context, phones []nudgewire.Phone, since time.Time) ([]nudgewire.Contacted, error)
}

// A History is the Excluder of everyday: it knows who is blocked, and who was messaged of late, message
// by message or by a file that was uploaded.
type History struct{ store HistoryStore }

// NewHistory makes a History.
func NewHistory(store HistoryStore) *History { return &History{store} }

// Excluded implements Excluder.
func (h *History) Excluded(ctx context.Context, phones []nudgewire.Phone, q Question) ([]Why, error) {
	out := make([]Why, len(phones))
	blocked, err := h.store.Blocked(ctx, phones)
	if err != nil {
		return nil, err
	}
	gone, err := h.store.Forgotten(ctx, phones)
	if err != nil {
		return nil, err
	}
	var agreed map[nudgewire.Phone]bool
	if q.Consent {
		if agreed, err = h.store.Agreed(ctx, phones); err != nil {
			return nil, err
		}
	}
	var redacting map[nudgewire.Phone]string
	if q.Marketing {
		if redacting, err = h.store.Redacting(ctx, phones); err != nil {
			return nil, err
		}
	}
	var last map[nudgewire.Phone]nudgewire.Contacted
	var sends map[nudgewire.Phone][]nudgewire.PastSend
	if q.Within > 0 || q.Back > 0 {
		if last, sends, err = h.messaged(ctx, phones, q); err != nil {
			return nil, err
		}
	}
	for i, p := range phones {
		if p == "" || p == forgottenPhone || gone[p] {
			out[i] = Why{Reason: "was forgotten", Forgotten: true}
			continue
		}
		if blocked[p] {
			out[i].Reason = "is blocked"
			continue
		}
		if by := redacting[p]; by != "" {
			out[i].Reason = "may have to be forgotten: a person has to decide about all that came by " + by + " (nudgewire contacts redactions)"
			continue
		}
		if q.Consent && !agreed[p] {
			out[i].Reason = "has not agreed to messages (consent: required)"
			continue
		}
		if by, ok := last[p]; ok {
			out[i] = Why{Reason: "was messaged within " + units.Duration(q.Within).String(), By: byWords(by)}
			continue
		}
		if q.Back > 0 {
			if v := q.Limits(p, sends[p]); v.Action != nudgewire.AllowSend {
				out[i] = Why{Reason: "is over its limit", By: v.Reason, Until: v.Until}
			}
		}
	}
	return out, nil
}

// byWords says what messaged a contact, and when.
func byWords(c nudgewire.Contacted) string {
	what := fmt.Sprintf("by run %d of %s", c.Run, c.Trigger)
	if c.Run == 0 {
		what = "by trigger " + c.Trigger
	}
	return what + " on " + c.At.UTC().Format("2006-01-02 15:04 UTC")
}

// messaged is the newest message to each of the phones that counts against it, and all that was sent to
// each, the newest first, for its limits.
func (h *History) messaged(ctx context.Context, phones []nudgewire.Phone, q Question) (last map[nudgewire.Phone]nudgewire.Contacted, sends map[nudgewire.Phone][]nudgewire.PastSend, err error) {
	var own []nudgewire.RunID
	var rows []nudgewire.Contacted
	if q.Of != 0 {
		own, err = h.store.Family(ctx, q.Of)
		if err == nil && q.Within > 0 {
			// A row of another run that waits to be sent will be: of two runs the first has it.
			rows, err = h.store.RowsTo(ctx, phones, q.Now.Add(-q.Within))
		}
	}
	var found []nudgewire.Contacted
	if err == nil {
		found, err = h.found(ctx, phones, q)
	}
	if err != nil {
		return nil, nil, err
	}
	last = map[nudgewire.Phone]nudgewire.Contacted{}
	for _, c := range slices.Concat(rows, found) {
		if before, known := last[c.Phone]; q.Within == 0 || c.At.Before(q.Now.Add(-q.Within)) || slices.Contains(own, c.Run) || known && !before.At.Before(c.At) {
			continue
		}
		last[c.Phone] = c
	}
	if q.Back > 0 {
		sends = sendsOf(found, own, q.Now.Add(-q.Back))
	}
	return last, sends, nil
}

// sendsOf are the sends to each phone, the newest first. What the own run sent does not count: it was
// counted when it was to leave. A message that the answer to an upload named is the row of its file.
func sendsOf(found []nudgewire.Contacted, own []nudgewire.RunID, since time.Time) map[nudgewire.Phone][]nudgewire.PastSend {
	type row struct {
		phone nudgewire.Phone
		run   nudgewire.RunID
	}
	files, seen := map[row]bool{}, map[nudgewire.MessageID]bool{}
	for _, c := range found {
		if c.ID == 0 {
			files[row{c.Phone, c.Run}] = true
		}
	}
	sends := map[nudgewire.Phone][]nudgewire.PastSend{}
	for _, c := range found {
		twice := c.ID != 0 && (seen[c.ID] || files[row{c.Phone, c.Run}])
		if seen[c.ID] = true; twice || c.At.Before(since) || slices.Contains(own, c.Run) {
			continue
		}
		sends[c.Phone] = append(sends[c.Phone], nudgewire.PastSend{At: c.At, Category: c.Category, Trigger: c.Trigger})
	}
	for _, of := range sends {
		slices.SortFunc(of, func(a, b nudgewire.PastSend) int { return b.At.Compare(a.At) })
	}
	return sends
}

// found is everything that is known to have been sent to the phones, or may have been.
func (h *History) found(ctx context.Context, phones []nudgewire.Phone, q Question) ([]nudgewire.Contacted, error) {
	since := q.Now.Add(-max(q.Within, q.Back))
	found, err := h.store.SentTo(ctx, phones, since)
	if err != nil {
		return nil, err
	}
	files, err := h.store.FilesTo(ctx, phones, since)
	return append(found, files...), err
}
