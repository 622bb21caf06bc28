package sender

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
)

// kept is what a test looks at of a message after its first call.
type kept struct {
	State  messaging.State
	Reason string
	Retry  time.Duration // from the call; 0 for none
	Answer string
}

func TestTheFirstCallEnds(t *testing.T) {
	timeout := &apiclient.CallError{Call: "send-template", Outcome: apiclient.InDoubt, Err: context.DeadlineExceeded}
	dial := &apiclient.CallError{Call: "send-template", Outcome: apiclient.NotAccepted, Err: errors.New("connection refused")}
	tests := map[string]struct {
		category messaging.Category
		attempt  int           // had before
		expires  time.Duration // from now; 0 is never
		err      error
		want     kept
	}{
		"accepted": {
			messaging.Marketing, 0, 0, nil,
			kept{messaging.StateAccepted, "", 0, `{"message_id":1001}`},
		},
		"rejected with the service's words": {
			messaging.Marketing, 0, 0, refusal(apiclient.Rejected, 400, 0, "template not approved"),
			kept{messaging.StateRejected, "refused by the service (400): template not approved", 0, "no"},
		},
		"rejected without words": {
			messaging.Marketing, 0, 0, refusal(apiclient.Rejected, 422, 0, ""),
			kept{messaging.StateRejected, "refused: send-template: 422 Unprocessable Entity", 0, "no"},
		},
		"not reached: again in five seconds": {
			messaging.Marketing, 0, 0, dial,
			kept{messaging.StateWaiting, "not taken by the service: send-template: not sent: connection refused", 5 * time.Second, "no"},
		},
		"not reached for the third time: four times as long": {
			messaging.Utility, 2, 0, dial,
			kept{messaging.StateWaiting, "not taken by the service: send-template: not sent: connection refused", 20 * time.Second, "no"},
		},
		"a login code is tried again sooner": {
			messaging.Authentication, 0, 0, dial,
			kept{messaging.StateWaiting, "not taken by the service: send-template: not sent: connection refused", time.Second, "no"},
		},
		"too many requests: again when the service says": {
			messaging.Marketing, 0, 0, refusal(apiclient.NotAccepted, 429, 90*time.Second, "slow down"),
			kept{messaging.StateWaiting, "not taken by the service: send-template: 429 Too Many Requests: slow down; try again in 1m30s", 90 * time.Second, "no"},
		},
		"a short Retry-After: again then, however often it was tried, and not sooner than after our first pause": {
			messaging.Marketing, 5, 0, refusal(apiclient.NotAccepted, 429, time.Second, ""),
			kept{messaging.StateWaiting, "not taken by the service: send-template: 429 Too Many Requests; try again in 1s", 5 * time.Second, "no"},
		},
		"too many requests without a Retry-After: longer each time": {
			messaging.Marketing, 5, 0, refusal(apiclient.NotAccepted, 429, 0, ""),
			kept{messaging.StateWaiting, "not taken by the service: send-template: 429 Too Many Requests", 160 * time.Second, "no"},
		},
		"a Retry-After of a day: as long as the account waits": {
			messaging.Marketing, 0, 0, refusal(apiclient.NotAccepted, 429, 24*time.Hour, ""),
			kept{messaging.StateWaiting, "not taken by the service: send-template: 429 Too Many Requests; try again in 24h0m0s", pace.MaxPause, "no"},
		},
		"a Retry-After past its expiry does not drop it": {
			messaging.Marketing, 0, time.Minute, refusal(apiclient.NotAccepted, 503, time.Hour, ""),
			kept{messaging.StateWaiting, "not taken by the service: send-template: 503 Service Unavailable; try again in 1h0m0s", pace.MaxPause, "no"},
		},
		"too many requests for the twentieth time: it waits on": {
			messaging.Utility, 19, 0, refusal(apiclient.NotAccepted, 429, 10*time.Second, ""),
			kept{messaging.StateWaiting, "not taken by the service: send-template: 429 Too Many Requests; try again in 10s", 10 * time.Second, "no"},
		},
		"not taken for the twentieth time: dropped": {
			messaging.Marketing, 19, 0, dial,
			kept{messaging.StateDropped, "given up after 20 tries: send-template: not sent: connection refused", 0, "no"},
		},
		"not taken and too late for another try: dropped": {
			messaging.Marketing, 0, 3 * time.Second, dial,
			kept{messaging.StateDropped, "expires at 2000-01-01 00:00:03 UTC, before it may be tried again: not taken by the service: send-template: not sent: connection refused", 0, "no"},
		},
		"in doubt stays in doubt": {
			messaging.Marketing, 0, 0, timeout,
			kept{messaging.StateInDoubt, "may have been taken: send-template: sent, but not answered: context deadline exceeded", 0, "no"},
		},
		"in doubt after a 500": {
			messaging.Utility, 0, 0, refusal(apiclient.InDoubt, 500, 0, "oops"),
			kept{messaging.StateInDoubt, "may have been taken: send-template: 500 Internal Server Error: oops", 0, "no"},
		},
		"an error of unknown kind proves nothing": {
			messaging.Marketing, 0, 0, errors.New("odd"),
			kept{messaging.StateInDoubt, "may have been taken: odd", 0, "no"},
		},
		"a login code in doubt is sent again": {
			messaging.Authentication, 0, 0, timeout,
			kept{messaging.StateWaiting, "may have been taken; sent again, as its category (authentication) says: send-template: sent, but not answered: context deadline exceeded", time.Second, "no"},
		},
		"a login code in doubt for the third time waits for a person": {
			messaging.Authentication, 2, 0, timeout,
			kept{messaging.StateInDoubt, "may have been taken: send-template: sent, but not answered: context deadline exceeded", 0, "no"},
		},
		"a login code in doubt is not sent again past its expiry": {
			messaging.Authentication, 0, 500 * time.Millisecond, timeout,
			kept{messaging.StateInDoubt, "may have been taken, and expires before it could be sent again: send-template: sent, but not answered: context deadline exceeded", 0, "no"},
		},
		"a refused key is not the message's fault": {
			messaging.Marketing, 0, 0, refusal(apiclient.Rejected, 401, 0, "invalid key"),
			kept{messaging.StateWaiting, "not taken by the service: send-template: 401 Unauthorized: invalid key", 0, "no"},
		},
		"nor after twenty attempts": {
			messaging.Authentication, 40, 0, refusal(apiclient.Rejected, 403, 0, "invalid key"),
			kept{messaging.StateWaiting, "not taken by the service: send-template: 403 Forbidden: invalid key", 0, "no"},
		},
		"a text without a path is refused by us": {
			messaging.Marketing, 0, 0, &apiclient.CallError{Call: "text", Outcome: apiclient.Rejected, Err: apiclient.ErrNoTextPath},
			kept{messaging.StateRejected, "refused: text: the path of the text endpoint is not known: set api.text_path", 0, "no"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := queued(tt.category)
				d.Attempt, d.Tries = tt.attempt, tt.attempt
				if tt.expires > 0 {
					d.ExpiresAt = time.Now().Add(tt.expires)
				}
				began := time.Now()
				api := &service{}
				if tt.err != nil {
					api.answer = fails(1, tt.err)
				}
				r := start(t, newMemory(d), api, nil)
				synctest.Wait()
				attempts := r.store.attempts[1]
				if len(attempts) != 1 {
					t.Fatalf("%d attempts recorded, want 1", len(attempts))
				}
				a := attempts[0]
				got := kept{a.State, a.Reason, 0, a.Answer}
				if !a.RetryAt.IsZero() {
					got.Retry = a.RetryAt.Sub(began)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("recorded (-want +got):\n%s", diff)
				}
				if a.Owner != "node-1" || a.Number != tt.attempt+1 || !a.At.Equal(began) {
					t.Errorf("signed by %q, number %d, at %v", a.Owner, a.Number, a.At)
				}
				if (a.Message != nil) != (tt.want.State == messaging.StateAccepted) {
					t.Errorf("message %+v with state %s", a.Message, a.State)
				}
			})
		})
	}
}

func TestWhatWaitsAgainIsSentAgainAtItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newMemory(queued(messaging.Marketing)), &service{answer: fails(3, refusal(apiclient.NotAccepted, 429, 0, ""))}, nil)
		pass(time.Hour)
		calls, began := r.service.made(), r.store.attempts[1][0].At
		var at []time.Duration
		for _, c := range calls {
			at = append(at, c.at.Sub(began))
		}
		want := []time.Duration{0, 5 * time.Second, 15 * time.Second, 35 * time.Second}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if d := r.store.row(1); d.State != messaging.StateAccepted || d.Attempt != 4 {
			t.Errorf("%s after %d attempts, want accepted after 4", d.State, d.Attempt)
		}
	})
}

func TestWhatTheServiceTook(t *testing.T) {
	tests := map[string]struct {
		answer apiclient.Answer
		want   messaging.Message // what the service said
	}{
		"with an id it is tracked from its first poll on": {
			apiclient.Answer{MessageID: "9007199254740993123"},
			messaging.Message{ServiceID: "9007199254740993123", Status: messaging.StatusAccepted, NextPollAt: time.Unix(7, 0)},
		},
		"without an id it is untracked and final": {
			apiclient.Answer{Raw: "OK"},
			messaging.Message{Status: messaging.StatusUntracked, Final: true},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &service{answer: func(context.Context, int, made) (apiclient.Answer, error) { return tt.answer, nil }}
				one := queued(messaging.Utility)
				one.Account = "brand-b"
				r := start(t, newMemory(one), api, func(o *Options) {
					o.FirstPoll = func(time.Time) time.Time { return time.Unix(7, 0) }
				})
				synctest.Wait()
				got := r.store.messages[1]
				want := got
				want.ID, want.Phone, want.Category, want.Account = 1, phone, messaging.Utility, "brand-b"
				want.ServiceID, want.Status, want.Final, want.NextPollAt = tt.want.ServiceID, tt.want.Status, tt.want.Final, tt.want.NextPollAt
				want.AcceptedAt, want.StatusAt = time.Now(), time.Now()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("message (-want +got):\n%s", diff)
				}
				if r.store.attempts[1][0].Answer != tt.answer.Raw {
					t.Errorf("raw answer %q was not kept", tt.answer.Raw)
				}
			})
		})
	}
}

func TestWhatIsAskedOfTheService(t *testing.T) {
	tests := map[string]struct {
		send messaging.Send
		want made
	}{
		"a template with a document": {
			messaging.Send{Template: "invoice", Language: "de", Variables: []string{"A", "B"}, Header: &messaging.Header{Type: "document", URL: "https://shop.example/1.pdf", Filename: "1.pdf"}},
			made{what: "template invoice de", variables: []string{"A", "B"}, header: "document https://shop.example/1.pdf", filename: "1.pdf"},
		},
		"a template without a header": {
			messaging.Send{Template: "hello", Language: "en"},
			made{what: "template hello en"},
		},
		"a campaign": {messaging.Send{Campaign: "417"}, made{what: "campaign 417"}},
		"a text":     {messaging.Send{Text: "{{ as it is }}"}, made{what: "text {{ as it is }}"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := queued(messaging.Marketing)
				d.Send = tt.send
				r := start(t, newMemory(d), &service{}, nil)
				synctest.Wait()
				tt.want.phone, tt.want.at = string(phone), time.Now()
				if diff := cmp.Diff([]made{tt.want}, r.service.made(), cmp.AllowUnexported(made{})); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAMessageThatSaysNothingIsRejectedWithoutACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := queued(messaging.Marketing)
		d.Send = messaging.Send{}
		r := start(t, newMemory(d), &service{}, nil)
		synctest.Wait()
		if got := r.store.row(1); got.State != messaging.StateRejected || got.Reason != "refused: it names neither a template nor a campaign nor a text" {
			t.Errorf("%s: %q", got.State, got.Reason)
		}
		if n := len(r.service.made()); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

func TestAPanicIsContainedAndLeavesItsMessageInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &service{answer: func(_ context.Context, n int, _ made) (apiclient.Answer, error) {
			if n == 2 {
				panic("nil map, say")
			}
			return accepts(n), nil
		}}
		r := start(t, newMemory(many(20, messaging.Marketing)...), api, func(o *Options) { o.Concurrency = 1 })
		pass(time.Minute)
		if doubt, accepted := r.store.in(messaging.StateInDoubt), r.store.in(messaging.StateAccepted); doubt != 1 || accepted != 19 {
			t.Errorf("%d in doubt and %d accepted, want 1 and 19", doubt, accepted)
		}
		if n := r.logs.FilterMessage("a panic while sending").Len(); n != 1 {
			t.Errorf("%d log lines about it, want 1", n)
		}
	})
}

// Messages that cannot be followed are told of, and not one by one.
func TestMessagesWithoutAnIdAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := many(300, messaging.Marketing)
		for i := range rows {
			rows[i].DueAt = rows[i].DueAt.Add(time.Duration(i) * time.Second)
		}
		api := &service{answer: func(context.Context, int, made) (apiclient.Answer, error) { return apiclient.Answer{Raw: "OK"}, nil }}
		r := start(t, newMemory(rows...), api, nil)
		pass(5*time.Minute - time.Second)
		told := r.logs.FilterMessageSnippet("without a message_id").All()
		if len(told) != 5 || told[4].Level != zap.WarnLevel || told[4].ContextMap()["untracked"] != uint64(241) {
			t.Errorf("%d lines: %+v", len(told), told)
		}
	})
}
