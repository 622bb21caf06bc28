//go:build unix

package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A counter is one service for several daemons, which notes what it refuses.
type counter struct {
	*sandbox.Sandbox
	url string

	mu        sync.Mutex
	questions []time.Time // refused
	sends     int         // refused
}

func newCounter(t *testing.T, keys ...string) *counter {
	c := &counter{}
	c.Sandbox = sandbox.New(sandbox.Options{
		Keys: keys, Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1, Header: "*"}},
		Pace: sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1},
		OnRequest: func(r sandbox.Record) {
			if r.HTTPStatus != http.StatusUnauthorized {
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if r.Endpoint == "send-template" {
				c.sends++
			} else {
				c.questions = append(c.questions, r.At)
			}
		},
	})
	api := httptest.NewServer(c.Handler())
	c.url = api.URL
	t.Cleanup(func() { c.Close(); api.Close() })
	return c
}

// revoke has the service refuse every key, or take those that it knows.
func (c *counter) revoke(is bool) {
	f := sandbox.Faults{}
	if is {
		f = sandbox.Faults{ErrorRate: 1, Status: http.StatusUnauthorized}
	}
	c.SetFaults(f)
}

func (c *counter) refused() (sends int, questions []time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sends, append([]time.Time(nil), c.questions...)
}

// api is the section of a config that calls it by a key.
func (c *counter) api(key string) string {
	return fmt.Sprintf("{base_url: %s/api/v1, key: %q, rate: 5000/s, timeout: 30s}", c.url, key)
}

// orders takes n orders of contacts of their own, in turn at each daemon.
func orders(first, n int, all ...*house) {
	for i := first; i < first+n; i++ {
		h := all[i%len(all)]
		o := order(fmt.Sprint("o", i), phone(i), "10")
		o["id"] = 9007199254740900 + i
		h.mustTake(h.shopify("orders/create", fmt.Sprint("o", i), o))
	}
}

// haltedBy is the halt of a daemon for a cause, nil for none.
func (h *house) haltedBy(cause string) *messaging.SendingHalt {
	h.t.Helper()
	s, err := server.ShowStatus.Call(h.t.Context(), h.ask, server.None{})
	if err != nil {
		h.t.Fatal(err)
	}
	if i := slices.IndexFunc(s.Daemon.Halts, func(h messaging.SendingHalt) bool { return h.Node == "" && h.Lane == "" && h.Cause == cause }); i >= 0 {
		return &s.Daemon.Halts[i]
	}
	return nil
}

// A key that is refused is refused to all nodes: one at a time tries, whichever of them is gone, and once the key is taken all that waited is sent once.
func TestNodesShareARefusedKey(t *testing.T) {
	if testing.Short() {
		t.Skip("tries are five and ten seconds apart")
	}
	_, address := onPostgres(t)
	service := newCounter(t, apiKey)
	var all []*house
	for range 3 {
		all = append(all, open(t, options{storage: address, api: service.api("${API_KEY}")}))
	}
	service.revoke(true)
	orders(1, 12, all...) // nothing was sent before, so nobody asks about messages
	for _, h := range all {
		h.eventually("a node holds", func() bool { return h.haltedBy("key") != nil })
	}
	all[0].eventually("all are of one mind", func() bool {
		first := all[0].haltedBy("key").Since
		return all[1].haltedBy("key").Since.Equal(first) && all[2].haltedBy("key").Since.Equal(first)
	})
	all[0].eventually("nothing is in hand", func() bool { return all[0].status().Sending == 0 })
	wave, _ := service.refused()
	if wave > 12 {
		t.Errorf("%d calls were refused of 12 messages", wave)
	}
	all[1].stop() // whichever told the others, or has the turn
	_, before := service.refused()
	all[0].eventually("it was tried twice more", func() bool { _, q := service.refused(); return len(q) >= len(before)+2 })
	sends, questions := service.refused()
	if sends != wave {
		t.Errorf("%d messages were risked while questions are refused", sends-wave)
	}
	for i := len(before) + 1; i < len(questions); i++ {
		if apart := questions[i].Sub(questions[i-1]); apart < 4*time.Second {
			t.Errorf("try %d came %v after the one before", i, apart)
		}
	}
	service.revoke(false)
	if _, err := server.Reload.Call(t.Context(), all[0].ask, server.ReloadRequest{}); err != nil { // it tries at once
		t.Fatal(err)
	}
	all[0].eventually("all orders are sent", func() bool { return service.Stats().Messages == 12 })
	for _, h := range []*house{all[0], all[2]} {
		h.eventually("nothing holds", func() bool { return h.haltedBy("key") == nil })
	}
	if s := service.Stats(); s.Duplicates != 0 || s.Messages != 12 {
		t.Errorf("%d messages, %d twice", s.Messages, s.Duplicates)
	}
}

// A node that has the new key already sends, tells of the one that has not, and that one sends as soon as it has.
func TestANodeWithAnotherKeyGoesOn(t *testing.T) {
	_, address := onPostgres(t)
	service := newCounter(t, "the-new-key")
	old := open(t, options{storage: address, api: service.api("${API_KEY}")})
	orders(1, 3, old)
	old.eventually("the old key is refused", func() bool { return old.haltedBy("key") != nil })
	now := open(t, options{storage: address, api: service.api("the-new-key")})
	now.eventually("what waits is sent by the new key", func() bool { return service.Stats().Messages == 3 })
	if now.haltedBy("key") != nil || old.haltedBy("key") == nil {
		t.Error("the new key is halted, or the old one is not")
	}
	now.eventually("the new one tells of the old one", func() bool {
		return slices.ContainsFunc(now.status().Troubles, func(one messaging.Trouble) bool {
			return one.Code == messaging.TroubleNodes && one.Subject == "the account" && strings.Contains(one.Words, "refuses the API key")
		})
	})
	if slices.ContainsFunc(old.status().Troubles, func(one messaging.Trouble) bool { return one.Subject == "the account" }) {
		t.Error("the old one tells of another node")
	}
	old.edit("${API_KEY}", "the-new-key")
	if _, err := server.Reload.Call(t.Context(), old.ask, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	if old.haltedBy("key") != nil {
		t.Error("the new key is halted at the node that had the old one")
	}
	now.stop()
	orders(4, 3, old)
	old.eventually("it sends", func() bool { return service.Stats().Messages == 6 })
}

// A start knows what was known before it, and tries at once. A key that is still refused holds; one that is taken sends what waited.
func TestAStartKnowsThatTheKeyIsRefused(t *testing.T) {
	service := newCounter(t, apiKey)
	folder := t.TempDir()
	h := open(t, options{folder: folder, api: service.api("${API_KEY}")})
	service.revoke(true)
	orders(1, 3, h)
	h.eventually("it is refused", func() bool { return h.haltedBy("key") != nil })
	since := h.haltedBy("key").Since
	h.stop()
	sends, questions := service.refused()

	h = open(t, options{folder: folder, api: service.api("${API_KEY}")})
	h.eventually("it is still known", func() bool { v := h.haltedBy("key"); return v != nil && v.Since.Equal(since) })
	h.eventually("it is tried", func() bool { _, q := service.refused(); return len(q) > len(questions) })
	if n, _ := service.refused(); n != sends {
		t.Errorf("%d messages were risked", n-sends)
	}
	h.stop()
	service.revoke(false)
	h = open(t, options{folder: folder, api: service.api("${API_KEY}")})
	h.eventually("what waited is sent", func() bool { return service.Stats().Messages == 3 })
	if s := service.Stats(); s.Duplicates != 0 {
		t.Errorf("%d twice", s.Duplicates)
	}
	h.eventually("nothing holds", func() bool { return h.haltedBy("key") == nil })
}

// While the key is refused everything else goes on as ever: who cancels, blocks, halts or forgets ends or holds what waits, and once the key is
// taken the rest is sent, once.
func TestWhatAPauseHoldsIsStillCancelledBlockedHaltedAndForgotten(t *testing.T) {
	service := newCounter(t, apiKey)
	h := open(t, options{api: service.api("${API_KEY}"), config: strings.Replace(plainConfig, "wait: 1h", "wait: 1s", 1)})
	service.revoke(true)
	orders(1, 6, h)
	h.mustTake(h.shopify("checkouts/create", "cart", cart("cart", phone(7), "60")))
	h.eventually("it is refused, and all wait", func() bool { return h.haltedBy("key") != nil && h.status().Waiting == 7 && h.status().Sending == 0 })
	ids := map[string]messaging.MessageID{}
	for _, m := range h.messages() {
		ids[string(m.Phone)] = m.ID
	}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(server.CancelMessage.Call(t.Context(), h.ask, server.CancelRequest{ID: ids[phone(1)[1:]], Reason: "by a person"}))
	must(server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(2)}}))
	must(server.ForgetContacts.Call(t.Context(), h.ask, server.ForgetRequest{Phones: []string{phone(3)}}))
	must(server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "thanks"}))
	h.mustTake(h.shopify("orders/create", "bought", order("cart", phone(7), "60"))) // cancels the reminder, and thanks for it
	service.revoke(false)
	must(server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}))
	code, err := server.SendMessage.Call(t.Context(), h.ask, server.SendRequest{Phone: phone(8), Category: messaging.Authentication, Send: messaging.Send{Template: "code", Language: "en"}})
	must(code, err)
	h.eventually("what no halt of a person holds is sent", func() bool { return service.Accepted(phone(8)[1:]) == 1 })
	if n := service.Stats().Messages; n != 1 {
		t.Errorf("%d messages were sent though their trigger is halted", n-1)
	}
	h.eventually("the end of the pause is known", func() bool { return h.haltedBy("key") == nil })
	must(server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeTrigger, Name: "thanks"}))
	h.eventually("the rest is sent", func() bool { s := h.status(); return s.Waiting+s.Sending == 0 })
	for i, want := range []int{1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 1, 7: 1} {
		if i > 0 && service.Accepted(phone(i)[1:]) != want {
			t.Errorf("contact %d got %d messages, want %d", i, service.Accepted(phone(i)[1:]), want)
		}
	}
}

// With the database away nobody is told and nothing is tried. What was learned before holds, and all goes on once it is back.
func TestARefusedKeyWhileTheDatabaseIsAway(t *testing.T) {
	p, address := onPostgres(t)
	service := newCounter(t, apiKey)
	one, two := open(t, options{storage: address, api: service.api("${API_KEY}")}), open(t, options{storage: address, api: service.api("${API_KEY}")})
	service.revoke(true)
	orders(1, 4, one, two)
	for _, h := range []*house{one, two} {
		h.eventually("a node holds", func() bool { return h.haltedBy("key") != nil })
	}
	one.eventually("nothing is in hand", func() bool { return one.status().Sending == 0 })
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	sends, _ := service.refused()
	one.eventually("the nodes know that it is away", func() bool {
		status, _ := one.do(one.shopify("orders/create", "away", order("away", phone(9), "10")))
		return status == http.StatusServiceUnavailable
	})
	service.revoke(false)
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	one.eventually("what waited is sent", func() bool {
		n := 0
		for i := range 4 {
			n += service.Accepted(phone(i + 1)[1:])
		}
		return n == 4
	})
	for _, h := range []*house{one, two} {
		h.eventually("nothing holds", func() bool {
			s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
			return err == nil && len(s.Daemon.HaltsOf("")) == 0
		})
	}
	if n, _ := service.refused(); n != sends || service.Stats().Duplicates != 0 {
		t.Errorf("%d messages were risked, %d sent twice", n-sends, service.Stats().Duplicates)
	}
}
