package sender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// of is a message of a category with a template, for a phone that ends in n.
func of(c messaging.Category, template string, n int) messaging.Message {
	d := queued(c)
	d.Trigger, d.Send.Template = "trigger of "+template, template
	d.Phone = messaging.Phone(fmt.Sprint(44770090000 + n))
	return d
}

// What each trouble that befalls a lane halts, and who is asked first: the most urgent lane that is halted, by another message than failed. What is
// not halted goes on meanwhile.
func TestLanesAndHalts(t *testing.T) {
	dial := &apiclient.CallError{Call: "send-template", Outcome: apiclient.NotAccepted, Err: errors.New("connection refused")}
	for name, tt := range map[string]struct {
		err   error
		cause apiclient.Trouble // "" halts nothing
		all   bool              // lanes
		same  bool              // one template alone
		bad   int               // messages
	}{
		"key":        {refusal(apiclient.Rejected, 401, 0, "no"), apiclient.TroubleKey, true, false, 1},
		"points":     {refusal(apiclient.Rejected, 402, 0, "no"), apiclient.TroublePoints, true, false, 1},
		"outage":     {dial, apiclient.TroubleOutage, true, false, 2},
		"doubts":     {refusal(apiclient.InDoubt, 502, 0, ""), apiclient.TroubleOutage, true, false, 3},
		"address":    {refusal(apiclient.Rejected, 404, 0, "no"), apiclient.TroubleAddress, false, false, 3},
		"rejections": {refusal(apiclient.Rejected, 422, 0, "account is not verified"), TroubleRejections, false, false, 5},
		"a template": {refusal(apiclient.Rejected, 400, 0, "no such template"), "", false, true, 6},
	} {
		for befell, lane := range messaging.Lanes {
			t.Run(name+" of "+string(lane), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := newMemory()
					for i := range tt.bad {
						bad := of(lane, fmt.Sprint("bad ", i), i)
						if tt.same {
							bad.Trigger, bad.Send.Template = "trigger of bad", "bad"
						}
						store.add(bad)
					}
					api := &service{answer: func(_ context.Context, n int, m made) (apiclient.Answer, error) {
						if strings.Contains(m.what, "bad") {
							return apiclient.Answer{}, tt.err
						}
						return accepts(n), nil
					}}
					r := start(t, store, api, func(o *Options) { o.Concurrency = 4 })
					pass(100 * time.Millisecond)
					var held []string
					for _, one := range r.Stats().Halts {
						held = append(held, strings.TrimSpace(one.Cause+" "+string(one.Lane)))
					}
					want := []string{string(tt.cause)}
					if !tt.all {
						want[0] += " " + string(lane)
					}
					if tt.cause == "" {
						want = nil
					}
					if diff := cmp.Diff(want, held); diff != "" {
						t.Fatalf("halted (-want +got):\n%s", diff)
					}
					before := len(api.made())
					var good []messaging.MessageID
					for i, other := range messaging.Lanes {
						d := of(other, fmt.Sprint("good ", i), 100+i)
						d.ID = messaging.MessageID(100 + i)
						good = append(good, d.ID)
						store.add(d)
					}
					r.Wake(time.Time{})
					pass(100 * time.Millisecond)
					for i, id := range good {
						halted := tt.cause != "" && (tt.all || i == befell)
						if left := store.row(id).State == messaging.StateAccepted; left == halted {
							t.Errorf("%s left: %v", messaging.Lanes[i], left)
						}
					}
					pass(16 * time.Second)
					calls := api.made()[before:]
					first := slices.IndexFunc(calls, func(m made) bool { return m.at.After(calls[0].at) || tt.all })
					if first < 0 {
						first = 0
					}
					probe := "template good 0 en"
					if tt.cause != "" && !tt.all {
						probe = fmt.Sprintf("template good %d en", befell)
					}
					if tt.cause != "" && calls[first].what != probe {
						t.Errorf("the first probe is %q, want %q; of %+v", calls[first].what, probe, calls)
					}
					for i, id := range good {
						if d := store.row(id); d.State != messaging.StateAccepted {
							t.Errorf("%s is %s: %s", messaging.Lanes[i], d.State, d.Reason)
						}
					}
				})
			})
		}
	}
}

// A connection that cannot be made is no matter of the message: an outage is known by the second try of the only one there is.
func TestOneMessageShowsThatNobodyAnswers(t *testing.T) {
	for _, lane := range messaging.Lanes {
		synctest.Test(t, func(t *testing.T) {
			store := newMemory()
			store.add(of(lane, "good", 1))
			r := start(t, store, &service{answer: func(context.Context, int, made) (apiclient.Answer, error) {
				return apiclient.Answer{}, &apiclient.CallError{Call: "send-template", Outcome: apiclient.NotAccepted, Err: errors.New("connection refused")}
			}}, nil)
			pass(10 * time.Second)
			if s := haltOf(r); s.Cause != string(apiclient.TroubleOutage) {
				t.Errorf("%s: after 10 s the trouble is %q", lane, s.Cause)
			}
		})
	}
}

// A service that asks to come later holds all lanes for as long as it says, drops nothing, and the most urgent go first then.
func TestALaterHoldsAllLanes(t *testing.T) {
	for name, tt := range map[string]struct{ asks, wait time.Duration }{
		"seconds": {20 * time.Second, 20 * time.Second},
		"a day":   {24 * time.Hour, 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newMemory(of(messaging.Utility, "first", 1))
				began := time.Now()
				api := &service{answer: fails(1, refusal(apiclient.NotAccepted, 429, tt.asks, "slow"))}
				r := start(t, store, api, nil)
				pass(time.Second)
				for i, lane := range []messaging.Category{messaging.Marketing, messaging.Utility, messaging.Authentication} {
					d := of(lane, string(lane), 10+i)
					d.ExpiresAt = began.Add(tt.wait + time.Minute)
					store.add(d)
				}
				r.Wake(time.Time{})
				pass(tt.wait - 2*time.Second)
				if n := len(api.made()); n != 1 {
					t.Fatalf("%d calls before the time that the service asks for", n)
				}
				pass(30 * time.Second)
				calls := api.made()
				code := slices.IndexFunc(calls, func(m made) bool { return m.what == "template authentication en" })
				// Whoever asks for the first time that is free has it; the next is the most urgent one's.
				if n := store.in(messaging.StateAccepted); n != 4 || code > 2 {
					t.Errorf("%d accepted; calls %+v", n, calls)
				}
			})
		})
	}
}

// Who is probed: never again the one that failed while there is another, so one message that points do not reach holds codes back for no longer than
// the first pauses, and from its third try on holds nobody.
func TestADearMessageHoldsNobodyForLong(t *testing.T) {
	for _, byStatus := range []bool{false, true} {
		t.Run(fmt.Sprint("by status ", byStatus), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const words = "insufficient points"
				store := newMemory(of(messaging.Marketing, "promo", 880))
				dear := store.row(1).Phone
				var r *running
				begun := make(chan struct{}) // then r is there
				api := &service{}
				id := messaging.MessageID(1) // of the newest of its successors
				api.answer = func(_ context.Context, n int, m made) (apiclient.Answer, error) {
					if m.phone != string(dear) {
						time.AfterFunc(500*time.Millisecond, func() {
							<-begun
							r.StatusReported(&messaging.Message{AcceptedAt: m.at, ID: -1}, &messaging.Poll{Status: messaging.StatusSent})
						})
						return accepts(n), nil
					}
					if !byStatus {
						return apiclient.Answer{}, refusal(apiclient.Rejected, 402, 0, words)
					}
					was := id
					time.AfterFunc(500*time.Millisecond, func() {
						<-begun
						r.StatusReported(&messaging.Message{AcceptedAt: m.at, ID: was, Phone: dear}, &messaging.Poll{Status: messaging.StatusFailed, Class: messaging.ErrorNoPoints, Error: words})
						again := of(messaging.Marketing, "promo", 880)
						again.Tries = store.row(was).Tries + 1
						if id = was + 1000; again.Tries >= 3 {
							again.DueAt = again.DueAt.Add(time.Minute)
						}
						again.ID = id
						store.add(again)
						r.Wake(again.DueAt)
					})
					return accepts(n), nil
				}
				r = start(t, store, api, nil)
				close(begun)
				pass(2 * time.Second)
				if haltOf(r).Cause != string(apiclient.TroublePoints) {
					t.Fatalf("trouble %q", haltOf(r).Cause)
				}
				began := time.Now()
				for i := range 40 { // a code each five seconds
					d := of(messaging.Authentication, "code", 100+i)
					d.ID = messaging.MessageID(100 + i)
					store.add(d)
					r.Wake(time.Time{})
					pass(5 * time.Second)
				}
				pass(20 * time.Second)
				longest, dearCalls := time.Duration(0), 0
				codes := map[string]time.Duration{}
				for _, m := range api.made() {
					if m.phone == string(dear) {
						dearCalls++
					} else {
						codes[m.phone] = m.at.Sub(began)
					}
				}
				for i := range 40 {
					at, left := codes[fmt.Sprint(44770090000+100+i)]
					if !left {
						t.Fatalf("code %d never left", i)
					}
					longest = max(longest, at-time.Duration(i)*5*time.Second)
				}
				if longest > 16*time.Second {
					t.Errorf("a code waited %v", longest)
				}
				if dearCalls < 3 || dearCalls > 8 {
					t.Errorf("%d tries of the dear one", dearCalls)
				}
				if s := haltOf(r); s.Cause != "" {
					t.Errorf("halted: %s", s.Why)
				}
			})
		})
	}
}

// A message that finds no points where another was taken halts nobody after its third try, also when nothing else waits by then: who comes next does not
// wait for its probes. Where nobody was taken meanwhile, the account has none.
func TestADearMessageThatIsLeftAlone(t *testing.T) {
	for name, others := range map[string]bool{"another was taken": true, "nobody was": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newMemory(of(messaging.Marketing, "promo", 880))
				dear := string(store.row(1).Phone)
				api := &service{answer: func(_ context.Context, n int, m made) (apiclient.Answer, error) {
					if m.phone == dear {
						return apiclient.Answer{}, refusal(apiclient.Rejected, 402, 0, "no")
					}
					return accepts(n), nil
				}}
				r := start(t, store, api, nil)
				pass(time.Second)
				if haltOf(r).Cause != string(apiclient.TroublePoints) {
					t.Fatalf("trouble %q", haltOf(r).Cause)
				}
				if others {
					d := of(messaging.Utility, "parcel", 1)
					d.ID = 2
					store.add(d)
					r.Wake(time.Time{})
				}
				pass(10 * time.Minute)
				if halted := haltOf(r).Cause == string(apiclient.TroublePoints); halted == others {
					t.Errorf("halted: %v", halted)
				}
				if d := store.row(1); d.State != messaging.StateWaiting {
					t.Errorf("it is %s: %s", d.State, d.Reason)
				}
				code := of(messaging.Authentication, "code", 2)
				code.ID = 3
				store.add(code)
				r.Wake(time.Time{})
				pass(100 * time.Millisecond)
				if left := store.row(3).State == messaging.StateAccepted; left != others {
					t.Errorf("the code left at once: %v", left)
				}
			})
		})
	}
}

// What a halt put off waits for nothing but that: however often it was claimed and given back, it is due when the halt ends, and the pause
// before another try counts calls.
func TestWhatAHaltPutOffIsDueWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := different(20, messaging.Utility)
		for i := range rows {
			rows[i].Attempt = 12 // claims that were given back before
		}
		over := time.Now().Add(time.Hour)
		api := &service{answer: func(_ context.Context, n int, _ made) (apiclient.Answer, error) {
			if time.Now().Before(over) {
				return apiclient.Answer{}, refusal(apiclient.Rejected, 401, 0, "no")
			}
			return accepts(n), nil
		}}
		r := start(t, newMemory(rows...), api, nil)
		pass(time.Hour + 6*time.Minute) // a probe each five minutes at the most
		if n := r.store.in(messaging.StateAccepted); n != 20 {
			t.Errorf("%d left once the key was taken again", n)
		}
		pass(time.Minute)
		again := queued(messaging.Utility)
		again.ID, again.Attempt = 100, 12
		api.mu.Lock()
		api.answer = fails(len(api.calls)+1, refusal(apiclient.NotAccepted, 429, 0, ""))
		api.mu.Unlock()
		r.store.add(again)
		r.Wake(time.Time{})
		pass(time.Second)
		if d := r.store.row(100); d.Tries != 1 || time.Until(d.DueAt) > 5*time.Second {
			t.Errorf("after one call it waits %v, tries %d", time.Until(d.DueAt), d.Tries)
		}
	})
}

// A contact that has got enough is asked again after a day, past the default expiry and not past one that the config names.
func TestALimitOfTheContactPutsTheDefaultExpiryOff(t *testing.T) {
	for own, want := range map[bool]messaging.State{true: messaging.StateDropped, false: messaging.StateWaiting} {
		t.Run(fmt.Sprint("named by the config ", own), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := queued(messaging.Marketing)
				d.ExpiresAt = d.DueAt.Add(24*time.Hour - time.Second) // a moment has passed
				api := &service{answer: fails(1, refusal(apiclient.Rejected, 400, 0, "limit per recipient reached"))}
				r := start(t, newMemory(d), api, func(o *Options) { o.OwnExpiry = func(*messaging.Message) bool { return own } })
				pass(time.Minute)
				if d := r.store.row(1); d.State != want {
					t.Fatalf("%s: %s", d.State, d.Reason)
				}
				pass(25 * time.Hour)
				if sent := r.store.in(messaging.StateAccepted) == 1; sent == own {
					t.Errorf("sent a day later: %v", sent)
				}
			})
		})
	}
}

// What refusals show, one after the other: the letter is a template, the number a trigger, a capital is refused.
func TestWhatARefusalShows(t *testing.T) {
	for name, tt := range map[string]struct {
		calls string
		want  ground
	}{
		"five of one template and trigger":                      {"A1 A1 A1 A1 A1", groundOrigin},
		"four are four messages":                                {"A1 A1 A1 A1", groundNone},
		"others are taken meanwhile":                            {"A1 b1 A1 b2 A1 b1 A1 b1 A1", groundOrigin},
		"the same template of another trigger is taken":         {"A1 A1 a2 A1 A1 a2 A1", groundOrigin},
		"one of it is taken: anew":                              {"A1 A1 A1 A1 a1 A1", groundNone},
		"one template of several triggers":                      {"A1 A2 A3 A1 A2", groundAll},
		"one template of several triggers, and one is taken":    {"A1 A2 a3 A1 A2 A3", groundNone},
		"different templates alike":                             {"A1 B2 C3 A1 B2", groundLane},
		"different templates of one trigger":                    {"A1 B1 C1 D1 E1", groundLane},
		"different templates, and another is taken":             {"A1 B2 C3 d4 A1 B2", groundNone},
		"what is explained counts for no lane":                  {"A1 A1 A1 A1 A1 B2", groundNone},
		"two that are explained, each by itself":                {"A1 A1 A1 A1 A1 B2 B2 B2 B2 B2", groundOrigin},
		"after what was explained different templates together": {"A1 A1 A1 A1 A1 B2 C3 B2 C3 D4", groundLane},
	} {
		t.Run(name, func(t *testing.T) {
			var r refusals
			now, got := time.Now(), groundNone
			for i, call := range strings.Fields(tt.calls) {
				d := of(messaging.Utility, strings.ToUpper(call[:1]), i)
				d.ID, d.Trigger = messaging.MessageID(i+1), call[1:]
				now = now.Add(time.Millisecond)
				if got = groundNone; call[0] >= 'a' {
					r.taken(&d)
					continue
				}
				got, _ = r.add(&d, "400", now, now)
			}
			if got != tt.want {
				t.Errorf("the last shows %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("the same message again and again shows nothing", func(t *testing.T) {
		var r refusals
		d := of(messaging.Utility, "A", 1)
		d.ID = 7
		for range 9 {
			if got, _ := r.add(&d, "400", time.Now(), time.Now()); got != groundNone {
				t.Errorf("it shows %q", got)
			}
		}
	})
	t.Run("after its pause was lifted elsewhere it counts anew", func(t *testing.T) {
		var r refusals
		now := time.Now()
		for i := range 7 {
			d := of(messaging.Utility, "A", i)
			d.ID = messaging.MessageID(i + 1)
			if i == 6 {
				now = now.Add(time.Hour)
			}
			got, _ := r.add(&d, "400", now, now)
			if want := i == 4 || i == 5; want != (got == groundOrigin) {
				t.Errorf("refusal %d shows %q", i, got)
			}
		}
	})
}
