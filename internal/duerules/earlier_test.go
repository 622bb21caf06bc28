package duerules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/duerules"
	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A name that left the config is held back by the rules that planned it and by today's defaults, whichever are stricter. One
// that nobody knows waits.
func TestANameThatLeftTheConfig(t *testing.T) {
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	consent, none := duerules.Keys{Consent: duerules.ConsentRequired}, duerules.Keys{}
	never := duerules.Keys{Limit: duerules.Limits{All: []duerules.Limit{{Count: units.Limit{Most: 0, Per: time.Hour}}}}}
	for name, tt := range map[string]struct {
		today, planned, defaults duerules.Keys
		there                    bool
		config                   string
		want                     messaging.VerdictAction
		rule                     string
	}{
		"today's name, none today":         {none, consent, none, true, "v1", messaging.AllowSend, ""},
		"today's name, a rule today":       {consent, none, none, true, "v1", messaging.DropSend, "consent"},
		"gone, a rule then":                {none, consent, none, false, "v1", messaging.DropSend, "consent"},
		"gone, a rule of today's defaults": {none, none, never, false, "v1", messaging.DropSend, "limit"},
		"gone, none then and none now":     {none, none, none, false, "v1", messaging.AllowSend, ""},
		"gone, both":                       {none, never, consent, false, "v1", messaging.DropSend, "limit"},
		"gone, planned by nobody knows":    {none, none, none, false, "v0", messaging.DeferSend, "config"},
	} {
		for _, event := range []messaging.EventID{0, 7} {
			before := duerules.New(time.UTC, duerules.Account{})
			before.Trigger("old", tt.planned, hours.Holidays{})
			before.Job("old", tt.planned, hours.Holidays{})
			r := duerules.New(time.UTC, duerules.Account{})
			r.Defaults(tt.defaults, hours.Holidays{})
			if tt.there {
				r.Trigger("old", tt.today, hours.Holidays{})
				r.Job("old", tt.today, hours.Holidays{})
			}
			r.Earlier = func(version string) *duerules.Rules {
				if version == "v1" {
					return before
				}
				return nil
			}
			d := &messaging.Message{Trigger: "old", EventID: event, Config: tt.config, Category: messaging.Marketing, Phone: "447911100001", DueAt: at}
			v := r.Decide(d, &messaging.DueFacts{}, at)
			if v.Action != tt.want || v.Rule != tt.rule {
				t.Errorf("%s: %s by %q: %s", name, v.Action, v.Rule, v.Reason)
			}
			if v.Rule == "config" && (!strings.Contains(v.Reason, "old is gone from the config") || !v.Until.After(at)) {
				t.Errorf("%s: %q until %s", name, v.Reason, v.Until)
			}
			if file := duerules.MayGo(r, d, &messaging.DueFacts{Claimed: true, Begun: true}, at); (tt.rule == "config") != (file.Rule == "config") {
				t.Errorf("%s: a file of it %+v", name, file)
			}
		}
	}
}
