package privacy

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/units"
)

// A RetentionView is what was removed because it is not kept any more, and how far back what is kept goes.
type RetentionView struct {
	At      time.Time            `json:"at,omitzero"`                   // the last run; absent before the first
	TookMS  int64                `json:"took_ms,omitempty"`             // with its rests between commits
	Removed map[string]int64     `json:"removed,omitempty" kind:"ours"` // by it, by the keys of retention:
	Total   map[string]int64     `json:"removed_total,omitempty" kind:"ours"`
	Oldest  map[string]time.Time `json:"oldest,omitempty" kind:"ours"`

	File  int64 `json:"file_bytes"`
	Free  int64 `json:"free_bytes"`  // inside of the file
	Gives bool  `json:"gives_space"` // back to the disk, while the daemon runs
	// OnServer says that the data is no file but on a server, which looks after free space by itself.
	OnServer bool `json:"on_server,omitempty"`
}

// ViewRetention reads it.
func (s Records) ViewRetention(ctx context.Context) (*RetentionView, error) {
	state, err := s.RetentionState(ctx)
	if err != nil {
		return nil, err
	}
	v := &RetentionView{Total: state.Removed, Oldest: state.Oldest}
	if state.Last != nil {
		v.At, v.TookMS, v.Removed = state.Last.At.UTC(), state.Last.Took.Milliseconds(), state.Last.Removed
	}
	space, err := s.Space(ctx)
	v.File, v.Free, v.Gives, v.OnServer = space.File, space.Free, space.Gives, space.OnServer
	return v, err
}

// kindWords are what each kind is called to people.
var kindWords = map[string]string{
	"payloads": "payload", "decisions": "decided event", "events": "event", "messages": "message", "phones": "whole phone", "attempts": "attempt or verdict", "rejected_requests": "rejected request", "webhooks_out": "webhook out", "runs": "run",
}

// Words say what the last run did.
func (v *RetentionView) Words(now time.Time) string {
	if v.At.IsZero() {
		return "nothing was removed yet"
	}
	words := fmt.Sprintf("last run %s ago, %s", units.Brief(now.Sub(v.At)), time.Duration(v.TookMS*int64(time.Millisecond)).Round(time.Millisecond))
	var removed []string
	for _, kind := range Kinds {
		if n := v.Removed[kind]; n > 0 {
			removed = append(removed, units.Count(n, kindWords[kind]))
		}
	}
	if len(removed) == 0 {
		return words + ": nothing was old enough"
	}
	return words + ": removed " + strings.Join(removed, ", ")
}

// OldestWords say how far back each kind goes that there is something of.
func (v *RetentionView) OldestWords() string {
	var oldest []string
	for _, kind := range Kinds {
		if at := v.Oldest[kind]; !at.IsZero() {
			oldest = append(oldest, kind+" "+at.UTC().Format(time.DateOnly))
		}
	}
	if len(oldest) == 0 {
		return ""
	}
	return "the oldest: " + strings.Join(oldest, ", ")
}

// SpaceWords say how much of the file is free.
func (v *RetentionView) SpaceWords() string {
	if v.OnServer {
		return fmt.Sprintf("%.1f MB on the database server, which fills free space again by itself", float64(v.File)/1e6)
	}
	words := fmt.Sprintf("%.1f MB, %.1f MB of it free for what comes", float64(v.File)/1e6, float64(v.Free)/1e6)
	if !v.Gives {
		words += "; it was made by an earlier version and gives no space back until it was compacted once"
	}
	return words
}

// ManyFree reports whether a file holds much free space that it cannot give back.
func (v *RetentionView) ManyFree() bool { return !v.Gives && v.Free > 64<<20 && v.Free > v.File/4 }
