package preview

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

func TestWhatIsNotReplayed(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	p := Preview{Now: func() time.Time { return now }}
	whole := messaging.Event{Connector: "shop", Kind: "order.created", Payload: []byte("{}"), ReceivedAt: now.Add(-time.Hour)}
	for what, tt := range map[string]struct {
		change func(*history.Story)
		says   string
	}{
		"one that is whole":            {func(*history.Story) {}, ""},
		"payload gone by retention":    {func(s *history.Story) { s.Cleared = true }, "not kept any more"},
		"keeps no variables":           {func(s *history.Story) { s.Forgotten = true }, "not kept any more"},
		"no payload":                   {func(s *history.Story) { s.Payload = nil }, "not kept any more"},
		"decisions gone by retention":  {func(s *history.Story) { s.Unsaid = true }, "nobody knows what was queued"},
		"waits for a look-up":          {func(s *history.Story) { s.Lookup = &messaging.PendingLookup{} }, "waits to be looked up"},
		"older than the key is known":  {func(s *history.Story) { s.ReceivedAt = now.Add(-401 * 24 * time.Hour) }, "older than 400 days"},
		"a message by hand":            {func(s *history.Story) { s.Connector = "people" }, "a person asked"},
		"a request to forget":          {func(s *history.Story) { s.Kind = "contact.redacted" }, "carried out once"},
		"a request for one's own data": {func(s *history.Story) { s.Kind = "contact.data_requested" }, "carried out once"},
	} {
		s := history.Story{EventRow: store.EventRow{Event: whole}}
		tt.change(&s)
		if got := p.notReplayable(&s); got == "" != (tt.says == "") || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q", what, got)
		}
	}
}
