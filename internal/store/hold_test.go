package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// What a claim asks in SQL and what the look before the call asks in memory is one question: each kind of hold, of each scope, and each message
// get the same answer from both.
func TestClaimsAndTheLastLookAgreeAboutHolds(t *testing.T) {
	s := openBench(t, t.TempDir()+"/nudgewire.db")
	defer func() { failIf(t, s.Close()) }()
	messages := []messaging.Message{
		{ID: 1, EventID: 1, Trigger: "cart", Key: "c1", Send: messaging.Send{Template: "offer"}},
		{ID: 2, EventID: 2, Trigger: "other", Key: "c2", Account: "north", Send: messaging.Send{Template: "offer2"}},
		{ID: 3, EventID: 3, Trigger: "cart", Key: "run 7 row 1", Send: messaging.Send{Campaign: "offer"}},
		{ID: 4, Trigger: "cart", Key: messaging.RowKey(7, 12), Account: "north", Send: messaging.Send{Template: "offer"}},
		{ID: 6, EventID: 4, Trigger: "cart", Key: "test 1", Test: "me", Send: messaging.Send{Template: "offer"}},
		{ID: 5, Trigger: "news", Key: messaging.RowKey(71, 1), Send: messaging.Send{Text: `"template":"offer"`}},
	}
	names := []string{"", "cart", "offer", "7", "north"}
	parts := []string{"", "trigger cart", "run 7"}
	asked, held := 0, 0
	for _, rule := range messaging.HoldKinds {
		if rule.Kind == messaging.HoldGone { // no row says it
			continue
		}
		for _, scope := range rule.Scopes {
			for _, name := range names {
				for _, part := range parts {
					if named := scope != messaging.ScopeAll && scope != messaging.ScopeText; named != (name != "") || part != "" && rule.Kind != messaging.HoldService {
						continue
					}
					h := messaging.Hold{Scope: scope, Name: name, Kind: rule.Kind, Reason: "a test", Part: part}
					if rule.Kind == messaging.HoldService {
						h.Account, h.Cause, h.Until, h.Probe = "", messaging.CauseRefused, time.Unix(1, 0), 3
					}
					failIf(t, s.changeHolds(t.Context(), nil, func(t *Tx) error { return t.hold(h) }))
					for i := range messages {
						d := &messages[i]
						bySQL := true
						_, inMemory := s.Held(d)
						query := fmt.Sprintf(`SELECT 1 FROM (SELECT %d AS id, %d AS event_id, ?1 AS trigger_name, ?2 AS correlation_key, ?3 AS send, ?4 AS account, ?5 AS test) AS m WHERE `, d.ID, d.EventID) + unheld
						failIf(t, s.Rows(t.Context(), query, []any{d.Trigger, d.Key, string(stored.AppendSend(nil, &d.Send)), d.Account, d.Test}, func(*engine.Row) error { bySQL = false; return nil }))
						if asked++; inMemory != bySQL {
							t.Errorf("%s %s %q of %q and message %d: the last look says %v, a claim %v", h.Kind, h.Scope, h.Name, h.Part, d.ID, inMemory, bySQL)
						}
						if inMemory {
							held++
						}
					}
					failIf(t, s.changeHolds(t.Context(), h.Same, func(t *Tx) error { _, err := t.endHold(h); return err }))
				}
			}
		}
	}
	if held < 20 || asked-held < 20 {
		t.Errorf("of %d questions %d were held: that shows little", asked, held)
	}
}
