package sender

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// What a rule knows about is met by its class, and is no sign of trouble however often it comes.
func TestAKnownRefusalIsMetByItsClass(t *testing.T) {
	for name, tt := range map[string]struct {
		status  int
		words   string
		class   messaging.ErrorClass
		state   messaging.State
		wait    time.Duration // until it is tried again, at the least
		expires time.Duration // after its due time
	}{
		"a limit per contact waits a day":            {400, "limit per recipient reached", messaging.ErrorRecipientLimit, messaging.StateWaiting, 24 * time.Hour, 48 * time.Hour},
		"and by 429, where nothing else is slowed":   {429, "limit per recipient reached", messaging.ErrorRecipientLimit, messaging.StateWaiting, 24 * time.Hour, 48 * time.Hour},
		"a limit per contact, never past its expiry": {400, "limit per recipient reached", messaging.ErrorRecipientLimit, messaging.StateDropped, 0, 23 * time.Hour},
		"who opted out ends":                         {422, "recipient has opted out", messaging.ErrorOptOut, messaging.StateRejected, 0, 0},
		"by 403, which is no bad key then":           {403, "recipient has opted out", messaging.ErrorOptOut, messaging.StateRejected, 0, 0},
		"by 404, which is no bad address then":       {404, "invalid phone number", messaging.ErrorPermanent, messaging.StateRejected, 0, 0},
		"a paused template waits":                    {400, "template winback is paused", messaging.ErrorTemplate, messaging.StateWaiting, 0, 0},
		"what never can be sent ends":                {200, "recipient is not on the network", messaging.ErrorPermanent, messaging.StateRejected, 0, 0},
		"a rule of the config: later":                {400, "gateway is busy", messaging.ErrorRetry, messaging.StateWaiting, time.Second, 0},
		"5xx says nothing, whatever it says":         {500, "recipient has opted out", "", messaging.StateInDoubt, 0, 0},
		"401 is the key's":                           {401, "recipient has opted out", "", messaging.StateWaiting, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rows := many(20, messaging.Marketing)
				if tt.expires != 0 {
					for i := range rows {
						rows[i].ExpiresAt = rows[i].DueAt.Add(tt.expires)
					}
				}
				outcome := apiclient.Rejected
				switch {
				case tt.status >= 500:
					outcome = apiclient.InDoubt
				case tt.status == 429:
					outcome = apiclient.NotAccepted
				}
				api := &service{answer: func(context.Context, int, made) (apiclient.Answer, error) {
					return apiclient.Answer{}, refusal(outcome, tt.status, 0, tt.words)
				}}
				rules, _ := messaging.CompileErrorRules([]messaging.ErrorRule{{Match: "gateway is busy", Class: messaging.ErrorRetry}})
				r := start(t, newMemory(rows...), api, func(o *Options) { o.Concurrency, o.Classify = 1, rules.Class })
				began := time.Now()
				pass(100 * time.Millisecond)
				s := r.Stats()
				unwell := tt.status == 500 || tt.status == 401
				if (apiclient.Trouble(s.Halt().Cause) != "") != unwell {
					t.Errorf("trouble: %q, %s", apiclient.Trouble(s.Halt().Cause), s.Halt().Why)
				}
				d := r.store.row(1)
				a := r.store.attempts[1][0]
				if d.State != tt.state || a.Class != tt.class || (a.Words == tt.words) == unwell {
					t.Errorf("it is %s: %s; the attempt says %q, of class %q", d.State, d.Reason, a.Words, a.Class)
				}
				if tt.state == messaging.StateWaiting && tt.wait != 0 && d.DueAt.Before(began.Add(tt.wait)) {
					t.Errorf("due %v after it was asked for, want %v", d.DueAt.Sub(began), tt.wait)
				}
				if calls := len(api.made()); !unwell && tt.class != messaging.ErrorTemplate && calls < 20 {
					t.Errorf("%d calls were made; the others must not wait", calls)
				}
			})
		})
	}
}

// What a trigger says about doubt comes before its category.
func TestATriggerSaysWhatIsDoneInDoubt(t *testing.T) {
	for name, tt := range map[string]struct {
		category messaging.Category
		rule     messaging.OnDoubt
		state    messaging.State
		calls    int
		words    string
	}{
		"marketing resends, three times":   {messaging.Marketing, messaging.DoubtResend, messaging.StateInDoubt, 3, "may have been taken: "},
		"utility is let be":                {messaging.Utility, messaging.DoubtDrop, messaging.StateDropped, 1, "may have been taken, and is let be, as on_doubt says: "},
		"a code is held":                   {messaging.Authentication, messaging.DoubtHold, messaging.StateInDoubt, 1, "may have been taken: "},
		"a code resends where none is set": {messaging.Authentication, "", messaging.StateInDoubt, 3, "may have been taken: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &service{answer: func(context.Context, int, made) (apiclient.Answer, error) {
					return apiclient.Answer{}, refusal(apiclient.InDoubt, 500, 0, "")
				}}
				r := start(t, newMemory(many(1, tt.category)...), api, func(o *Options) {
					o.OnDoubt = func(*messaging.Message) messaging.OnDoubt { return tt.rule }
				})
				pass(time.Hour)
				d, all := r.store.row(1), r.store.attempts[1]
				if d.State != tt.state || len(api.made()) != tt.calls || !strings.HasPrefix(d.Reason, tt.words) {
					t.Errorf("%d calls; it is %s: %s", len(api.made()), d.State, d.Reason)
				}
				if last := all[len(all)-1]; last.Doubtful != (tt.state == messaging.StateDropped) {
					t.Errorf("%+v", last)
				}
			})
		})
	}
}

// A message that keeps no variables is classed by the whole words, and they are stored without them.
func TestWordsAreClassedBeforeTheyAreHushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := many(1, messaging.Utility)
		rows[0].Send = messaging.Send{Template: "t", Variables: []string{"opted", "734912"}, Forget: true}
		api := &service{answer: func(context.Context, int, made) (apiclient.Answer, error) {
			return apiclient.Answer{}, refusal(apiclient.Rejected, 422, 0, "734912: recipient has opted out")
		}}
		r := start(t, newMemory(rows...), api, nil)
		pass(time.Second)
		a := r.store.attempts[1][0]
		if a.Class != messaging.ErrorOptOut || strings.Contains(fmt.Sprint(a), "734912") || a.Words != "(variable 2): recipient has (variable 1) out" {
			t.Errorf("%+v", a)
		}
	})
}

// Points that are missing hold both lanes; a message of its own fault that is the probe ends nothing and
// halts nothing, and the next one probes.
func TestAProbeOfItsOwnFaultIsNoSignOfPoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &service{answer: func(_ context.Context, n int, m made) (apiclient.Answer, error) {
			switch {
			case n < 3:
				return apiclient.Answer{}, refusal(apiclient.Rejected, 402, 0, "")
			case n < 8:
				return apiclient.Answer{}, refusal(apiclient.Rejected, 422, 0, "recipient has opted out")
			default:
				return accepts(n), nil
			}
		}}
		r := start(t, newMemory(many(100, messaging.Marketing)...), api, func(o *Options) { o.Concurrency = 1 })
		pass(5 * time.Minute)
		if s := r.Stats(); apiclient.Trouble(s.Halt().Cause) != "" || r.store.in(messaging.StateAccepted)+r.store.in(messaging.StateRejected) != 100 || r.store.in(messaging.StateRejected) > 6 {
			t.Errorf("%q: %d accepted, %d rejected", s.Halt().Why, r.store.in(messaging.StateAccepted), r.store.in(messaging.StateRejected))
		}
	})
}
