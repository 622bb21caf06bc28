package sender

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// Every trouble of the service, for an hour: messages wait and are not burned, hardly any call is
// made, the stats and one line of the log say why, and when it is over all that waited leave.
func TestMessagesWaitWhileTheServiceIsUnwell(t *testing.T) {
	unanswered := &apiclient.CallError{Call: "send-template", Outcome: apiclient.InDoubt, Err: context.DeadlineExceeded}
	dial := &apiclient.CallError{Call: "send-template", Outcome: apiclient.NotAccepted, Err: errors.New("connection refused")}
	page := &apiclient.CallError{Call: "send-template", Outcome: apiclient.InDoubt, HTTPStatus: 200, Err: apiclient.ErrWebPage}
	for name, tt := range map[string]struct {
		err      error
		question error
		cause    apiclient.Trouble
		calls    int // at the most, in the hour
		rejected int // at the most
		inDoubt  int
	}{
		"401":                         {refusal(apiclient.Rejected, 401, 0, "no"), refusal(apiclient.Rejected, 401, 0, "no"), apiclient.TroubleKey, 8, 0, 0},
		"403, and questions go well":  {refusal(apiclient.Rejected, 403, 0, "no"), nil, apiclient.TroubleKey, 8 + 18, 0, 0},
		"402":                         {refusal(apiclient.Rejected, 402, 0, ""), nil, apiclient.TroublePoints, 8 + 10, 0, 0},
		"422 for want of points":      {refusal(apiclient.Rejected, 422, 0, "Insufficient points"), nil, apiclient.TroublePoints, 8 + 10, 0, 0},
		"200 for want of points":      {refusal(apiclient.Rejected, 200, 0, "insufficient points"), nil, apiclient.TroublePoints, 8 + 10, 0, 0},
		"404":                         {refusal(apiclient.Rejected, 404, 0, ""), nil, apiclient.TroubleAddress, 8 + 3 + 66, 0, 0},
		"302":                         {refusal(apiclient.Rejected, 302, 0, ""), refusal(apiclient.Rejected, 302, 0, ""), apiclient.TroubleAddress, 8 + 3, 0, 0},
		"405":                         {refusal(apiclient.Rejected, 405, 0, ""), nil, apiclient.TroubleAddress, 8 + 3 + 66, 0, 0},
		"422 for whatever is asked":   {refusal(apiclient.Rejected, 422, 0, "no"), nil, TroubleRejections, 8 + 5 + 245, 8 + 5, 0},
		"400 for whatever is asked":   {refusal(apiclient.Rejected, 400, 0, ""), nil, TroubleRejections, 8 + 5 + 245, 8 + 5, 0},
		"502":                         {refusal(apiclient.InDoubt, 502, 0, ""), refusal(apiclient.InDoubt, 502, 0, ""), apiclient.TroubleOutage, 8 + 3, 0, 8 + 3},
		"503, and questions go well":  {refusal(apiclient.InDoubt, 503, 0, ""), nil, apiclient.TroubleOutage, 8 + 3 + 66, 0, 8 + 3 + 66},
		"no answer in time":           {unanswered, unanswered, apiclient.TroubleOutage, 8 + 3, 0, 8 + 3},
		"a web page":                  {page, page, apiclient.TroubleOutage, 8 + 3, 0, 8 + 3},
		"nobody there":                {dial, dial, apiclient.TroubleOutage, 8 + 3, 0, 0},
		"the key, after an outage":    {refusal(apiclient.InDoubt, 500, 0, ""), refusal(apiclient.Rejected, 401, 0, ""), apiclient.TroubleKey, 8 + 3, 0, 8 + 3},
		"busy is no trouble of ours":  {refusal(apiclient.NotAccepted, 429, time.Minute, ""), nil, apiclient.TroubleNone, 900, 0, 0},
		"not ours: an unknown mishap": {errors.New("odd"), nil, apiclient.TroubleNone, 1000, 0, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 1000
				over := time.Now().Add(time.Hour)
				api := &service{answer: func(_ context.Context, n int, _ made) (apiclient.Answer, error) {
					time.Sleep(50 * time.Millisecond)
					if time.Now().Before(over) {
						return apiclient.Answer{}, tt.err
					}
					return accepts(n), nil
				}}
				api.question = func() error {
					if time.Now().Before(over) {
						return tt.question
					}
					return nil
				}
				r := start(t, newMemory(different(n, messaging.Marketing)...), api, nil)
				pass(59 * time.Minute)
				s, calls := oneHalt(r.Stats()), len(api.made())
				if s.Cause != string(tt.cause) {
					t.Errorf("the trouble is %q: %s", s.Cause, s.Why)
				}
				rejected, inDoubt := r.store.in(messaging.StateRejected), r.store.in(messaging.StateInDoubt)
				if calls > tt.calls || rejected > tt.rejected || inDoubt > tt.inDoubt || r.store.in(messaging.StateDropped) > 0 {
					t.Errorf("%d calls, %d rejected, %d in doubt; want at most %d, %d, %d", calls, rejected, inDoubt, tt.calls, tt.rejected, tt.inDoubt)
				}
				if tt.cause == apiclient.TroubleNone {
					return
				}
				if !s.Since.Before(over.Add(-59*time.Minute)) || !s.NextProbe.After(time.Now().Add(-2*time.Second)) {
					t.Errorf("halted since %v, next probe %v", s.Since, s.NextProbe)
				}
				if held := r.store.in(messaging.StateSending); held > 1 {
					t.Errorf("%d are held through the trouble", held)
				}
				pass(2 * time.Hour)
				accepted := r.store.in(messaging.StateAccepted)
				if want := n - r.store.in(messaging.StateRejected) - r.store.in(messaging.StateInDoubt); accepted != want || r.store.in(messaging.StateWaiting) > 0 {
					t.Errorf("%d accepted after the trouble, want %d", accepted, want)
				}
				if s := oneHalt(r.Stats()); s.Cause != "" || s.Why != "" || !s.Since.IsZero() {
					t.Errorf("still %q since %v", s.Why, s.Since)
				}
				began, ended := r.logs.FilterMessageSnippet("sending is halted: "), r.logs.FilterMessageSnippet("sending goes on: ")
				if began.Len() != 1 || began.All()[0].Level != zap.WarnLevel || ended.Len() != 1 || ended.All()[0].Level != zap.InfoLevel {
					t.Errorf("the log has %d beginnings and %d ends", began.Len(), ended.Len())
				}
			})
		})
	}
}

// haltOf is the halt of all lanes.
func haltOf(r *running) messaging.SendingHalt {
	stats := r.Stats()
	return stats.Halt()
}

// oneHalt is the halt of all lanes, or that of one.
func oneHalt(s Stats) (h messaging.SendingHalt) {
	if len(s.Halts) > 0 {
		h = s.Halts[0]
	}
	return h
}

// What the service says of one message is that message's, as long as it takes others.
func TestAMessageThatIsRefusedAmongOthersHaltsNothing(t *testing.T) {
	for status, attempts := range map[int]int{422: 1, 400: 1, 404: hasChances} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rows := many(300, messaging.Marketing)
				for i := range rows {
					rows[i].DueAt = rows[i].DueAt.Add(time.Duration(i) * time.Second)
					if rows[i].Phone = "1"; i%3 == 0 && i < 200 {
						rows[i].Phone = "bad"
					}
				}
				api := &service{answer: func(_ context.Context, n int, m made) (apiclient.Answer, error) {
					if m.phone == "bad" {
						return apiclient.Answer{}, refusal(apiclient.Rejected, status, 0, "of its own")
					}
					return accepts(n), nil
				}}
				r := start(t, newMemory(rows...), api, func(o *Options) { o.Concurrency = 1 })
				pass(time.Hour)
				if a, n := r.store.in(messaging.StateAccepted), r.store.in(messaging.StateRejected); a != 233 || n != 67 {
					t.Errorf("%d accepted and %d rejected, want 233 and 67", a, n)
				}
				for id := messaging.MessageID(1); id <= 200; id += 3 {
					if d := r.store.row(id); d.Attempt != attempts {
						t.Fatalf("message %d was rejected at attempt %d, want %d", id, d.Attempt, attempts)
					}
				}
			})
		})
	}
}

// Points that are gone are told by statuses, too, some time after the service accepted the message; and
// then only a status tells that there are some again.
func TestStatusesTellOfPoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newMemory(many(1000, messaging.Marketing)...), &service{}, func(o *Options) { o.Budget = pace.NewBudget(10) })
		pass(2 * time.Second)
		tell := func(accepted time.Time, status messaging.Status, words string) {
			r.StatusReported(&messaging.Message{AcceptedAt: accepted}, &messaging.Poll{Status: status, Error: words, Class: (*messaging.ErrorRules)(nil).Class(words)})
		}
		first := time.Now().Add(-time.Second)
		tell(first, messaging.StatusFailed, "insufficient points to send the message")
		before := len(r.service.made())
		pass(10 * time.Second)
		if n := len(r.service.made()); n != before || haltOf(r).Cause != string(apiclient.TroublePoints) {
			t.Fatalf("%d calls began while it was halted (%s)", n-before, haltOf(r).Why)
		}
		tell(first.Add(time.Millisecond), messaging.StatusDelivered, "") // from before the points were gone
		pass(4 * time.Second)
		if n := len(r.service.made()); n != before {
			t.Fatalf("%d calls began after an old status", n-before)
		}
		pass(2 * time.Second) // the probe, which is accepted as all of them are
		if n := len(r.service.made()); n != before+1 {
			t.Fatalf("%d probes", n-before)
		}
		pass(20 * time.Second)
		if n := len(r.service.made()); n != before+1 {
			t.Fatalf("%d calls before the probe's status", n-before)
		}
		probe := r.service.made()[before].at
		tell(probe, messaging.StatusFailed, "insufficient points to send the message")
		pass(29 * time.Second)
		if n := len(r.service.made()); n != before+1 {
			t.Fatalf("%d calls though the probe had no points either", n-before)
		}
		pass(2 * time.Second)
		probe = r.service.made()[before+1].at
		tell(probe, messaging.StatusQueued, "")
		pass(time.Second)
		if n := len(r.service.made()); n != before+2 {
			t.Fatalf("%d calls after a status that tells nothing", n-before)
		}
		tell(probe, messaging.StatusSent, "")
		pass(10 * time.Second)
		if n := len(r.service.made()); n < before+90 || haltOf(r).Cause != "" {
			t.Errorf("%d calls within 10s after the points were there again", n-before)
		}
	})
}

// Trouble gives back at once what waits for the rate.
func TestTroubleGivesBackWhatIsInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &service{answer: func(context.Context, int, made) (apiclient.Answer, error) {
			time.Sleep(2 * time.Second)
			return apiclient.Answer{}, refusal(apiclient.Rejected, 401, 0, "")
		}}
		r := start(t, newMemory(many(100, messaging.Marketing)...), api, func(o *Options) { o.Budget, o.Concurrency = pace.NewBudget(40), 64 })
		pass(2*time.Second - time.Millisecond)
		calls := len(api.made())
		if held := r.store.in(messaging.StateSending); held <= calls {
			t.Fatalf("%d held, %d calls: the test needs claims that wait", held, calls)
		}
		pass(2 * time.Millisecond)
		if held := r.store.in(messaging.StateSending); held >= calls {
			t.Errorf("%d are held right after the refusal; want no more than the calls that go on", held)
		}
		pass(3 * time.Second)
		if held := r.store.in(messaging.StateSending); held != 0 {
			t.Errorf("%d are held", held)
		}
	})
}

// A list that the service does not take holds marketing, and login codes leave all the same; what the
// service refuses of those, too, holds everything.
func TestRefusalsHoldTheLaneThatTheyBefell(t *testing.T) {
	for status, takesCodes := range map[int]bool{422: true, 404: true, 400: false, 405: false} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newMemory(different(100, messaging.Marketing)...)
				api := &service{answer: func(_ context.Context, n int, m made) (apiclient.Answer, error) {
					time.Sleep(10 * time.Millisecond)
					if m.phone == "code" && takesCodes {
						return accepts(n), nil
					}
					return apiclient.Answer{}, refusal(apiclient.Rejected, status, 0, "no")
				}}
				r := start(t, store, api, nil)
				pass(10 * time.Minute)
				for i := range 10 {
					code := queued(messaging.Authentication)
					code.Phone = "code"
					store.add(code)
					r.Wake(code.DueAt)
					pass(2 * time.Minute)
					if d := store.row(messaging.MessageID(101 + i)); takesCodes != (d.State == messaging.StateAccepted) {
						t.Fatalf("code %d is %s: %s", i, d.State, d.Reason)
					}
				}
				if n := len(api.made()); n > 400 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}
