package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/internal/backup"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

const restoreConfig = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
triggers:
  thanks:
    on: shopify.order.created
    category: utility
    send: {template: order_update, variables: ['{{ order.total }}']}
  soon:
    on: shopify.cart.created
    wait: 1s
    send: {template: cart_reminder, variables: ['{{ cart.url }}']}
  later:
    on: shopify.cart.updated
    wait: 1h
    cancel_on: shopify.order.created
    send: {template: cart_reminder, variables: ['{{ cart.url }}']}
tracking: {poll: [1s]}
`

func dsn(folder string) string { return "sqlite:" + filepath.Join(folder, "nudgewire.db") }

// backUp makes a backup of a house.
func (h *house) backUp() string {
	h.t.Helper()
	path := filepath.Join(h.t.TempDir(), "backup.tar.zst")
	if _, err := backup.Make(h.t.Context(), path, backup.Options{DSN: dsn(h.folder), Version: "test"}); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// restored opens a house over a backup.
func restored(t *testing.T, path string, o options) *house {
	t.Helper()
	if o.folder == "" {
		o.folder = t.TempDir()
	}
	if _, err := backup.Restore(t.Context(), path, backup.RestoreOptions{DSN: dsn(o.folder), Replace: true}); err != nil {
		t.Fatal(err)
	}
	return open(t, o)
}

func (h *house) reviewed(lost time.Time) error {
	_, err := server.Resume.Call(h.t.Context(), h.ask, server.HaltRequest{Reviewed: true, LostAt: lost})
	return err
}

// inState counts the messages of a trigger in a state.
func (h *house) inState(trigger string, state messaging.State) (n int) {
	h.t.Helper()
	for _, m := range h.messages() {
		if m.Trigger == trigger && m.State == state {
			n++
		}
	}
	return n
}

// A backup is made under load, the machine goes on and is lost, and the backup is put in place elsewhere: nobody gets anything
// twice, nothing is sent before a person says so, and everything that was answered before the backup is there.
func TestARestoredDaemonSendsNothingTwice(t *testing.T) {
	t.Parallel()
	first := open(t, options{config: restoreConfig})
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	var posted, answered atomic.Int64
	topics := []string{"checkouts/create", "checkouts/update", "orders/create"}
	var bodies sync.Map // what is posted again is the same
	post := func(h *house, n int) bool {
		p := phone(n)
		body := cart(fmt.Sprint("c", n), p, "90.00")
		if n%3 == 2 {
			body = order(p, p, "10.00")
			body["id"] = 5000 + n
		}
		if was, again := bodies.LoadOrStore(n, body); again {
			body = was.(map[string]any)
		}
		res, err := http.DefaultClient.Do(h.shopify(topics[n%3], fmt.Sprint("webhook-", n), body))
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, res.Body)
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	}
	var made atomic.Bool // the copy: carts and orders come until then
	for range 4 {
		busy.Go(func() {
			for ctx.Err() == nil && (posted.Load() < 900 || !made.Load()) {
				if n := int(posted.Add(1)); post(first, n) {
					answered.Add(1)
				}
			}
		})
	}
	first.eventually("some are sent", func() bool { return first.inState("soon", messaging.StateAccepted) > 0 })
	// Whatever the four do meanwhile, some orders come after the copy is made.
	some := func() {
		for range 60 {
			if post(first, int(posted.Add(1))) {
				answered.Add(1)
			}
		}
	}
	some()
	before := answered.Load()
	path := first.backUp()
	copied := time.Now()
	made.Store(true)
	some()
	first.eventually("the lost machine goes on", func() bool { return time.Since(copied) > 1500*time.Millisecond })
	stop()
	busy.Wait()
	first.stop()

	core, logs := observer.New(zap.ErrorLevel)
	second := restored(t, path, options{config: restoreConfig, log: zap.New(core)})
	if logs.FilterMessageSnippet("nothing is sent: this data is a copy: it was restored from backup.tar.zst").Len() != 1 {
		t.Errorf("the log says %v", logs.All())
	}
	_, body := second.do(must(http.NewRequestWithContext(t.Context(), http.MethodGet, second.url+"/readyz", http.NoBody)))
	if !strings.Contains(body, "nothing is sent until the restored data is reviewed") {
		t.Errorf("/readyz: %s", body)
	}
	s, err := server.ShowStatus.Call(t.Context(), second.ask, server.None{})
	if err != nil || len(s.Holds) == 0 || s.Holds[0].Kind != messaging.HoldRestored || !strings.Contains(s.Holds[0].Words(), "nudgewire review; it goes on with: nudgewire resume --reviewed") {
		t.Errorf("status: %+v (%v)", s.Holds, err)
	}
	if s.Counts["events"] < before {
		t.Errorf("%d events are there, and %d were answered before the backup began", s.Counts["events"], before)
	}
	// On a slow machine a cart is due as soon as it is stored: it was being sent, or waited.
	v, err := server.ShowReview.Call(t.Context(), second.ask, time.Time{})
	if err != nil || len(v.Waiting) != 1 || v.Waiting[0].Trigger != "later" || len(v.Doubted) == 0 && v.Claimed == 0 || v.Until.Before(v.CopiedAt) {
		t.Errorf("the review: %+v (%v)", v, err)
	}
	// The shop posts again all that it posted: what the copy does not have, and the lost machine sent, is in doubt.
	for n := 1; n <= int(posted.Load()); n++ {
		if !post(second, n) {
			t.Errorf("webhook %d is refused when it comes again", n)
		}
	}
	// Webhooks are taken meanwhile, those that are repeated are known, and nothing is sent: neither codes nor anything else.
	second.eventually("the second of the start is over", func() bool { return time.Now().Truncate(time.Second).After(v.Until) })
	const cartLater, coded = 80_001, 80_002           // beyond all that is posted, however long the copy takes: a cart that is due in a second, and who gets a code
	if !post(second, cartLater) || !post(second, 2) { // 2 came before the copy
		t.Error("a webhook is refused")
	}
	urgent := server.SendRequest{Phone: "+" + phone(coded)[1:], Category: messaging.Authentication, Send: messaging.Send{Template: "code", Language: "en"}}
	if _, err := server.SendMessage.Call(t.Context(), second.ask, urgent); err != nil {
		t.Error(err)
	}
	second.eventually("it would be due", func() bool { return second.messages()[0].DueAt.Before(time.Now().Add(-time.Second)) })
	if now := sent(second); now != s.Counts["messages_accepted"] {
		t.Errorf("%d messages were sent in review", now-s.Counts["messages_accepted"])
	}
	if _, err := server.Resume.Call(t.Context(), second.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err == nil {
		t.Error("resume without --reviewed ends the review")
	}

	if err := second.reviewed(time.Time{}); err != nil {
		t.Fatal(err)
	}
	second.eventually("it goes on", func() bool {
		return second.service.Accepted(phone(cartLater)[1:]) == 1 && second.service.Accepted(phone(coded)[1:]) == 1
	})
	var no *refusal.Error
	if err := second.reviewed(time.Time{}); !errors.As(err, &no) || no.Status != http.StatusNotFound {
		t.Errorf("reviewed twice: %v", err)
	}
	of := map[messaging.Phone]messaging.State{}
	for _, m := range second.messages() {
		of[m.Phone] = m.State
	}
	doubts := 0
	for n := 1; n <= int(posted.Load()); n++ {
		p := phone(n)[1:]
		a, b := first.service.Accepted(p), second.service.Accepted(p)
		if a+b > 1 {
			t.Errorf("contact %d got %d messages from the lost machine and %d from the restored one", n, a, b)
		}
		if of[messaging.Phone(p)] == messaging.StateInDoubt {
			doubts++
		}
	}
	again := 0
	for _, m := range second.messages() {
		if m.Trigger == "thanks" && m.State == messaging.StateInDoubt && strings.Contains(m.Reason, "its event happened before this data was restored from a copy") {
			again++
		}
	}
	if doubts == 0 || again == 0 {
		t.Errorf("%d are in doubt, %d of them because they were posted again: the backup came too late to show anything", doubts, again)
	}
	// It says of each why.
	for _, m := range second.messages() {
		if m.State == messaging.StateInDoubt && !strings.Contains(m.Reason, "this data was restored from") {
			t.Errorf("message %d is in doubt: %s", m.ID, m.Reason)
		}
	}
}

func must(req *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	return req
}

// sent is how many messages were accepted since the data began.
func sent(h *house) int64 {
	h.t.Helper()
	s, err := server.ShowStatus.Call(h.t.Context(), h.ask, server.None{})
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Counts["messages_accepted"]
}

// What others do while restored data is in review changes nothing of what is in doubt, and holds when a person has it sent all the same.
func TestAReviewMeetsEverybodyElse(t *testing.T) {
	t.Parallel()
	const rules = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
triggers:
  soon:
    on: shopify.cart.updated
    wait: 2s
    cancel_on: shopify.order.created
    on_change: migrate
    cooldown: 3d
    send: {template: cart_reminder, variables: ['{{ cart.url }}']}
tracking: {poll: [1s]}
`
	// A disk that is short keeps them at home, and a copy knows nothing of it.
	first := open(t, options{config: rules, space: func(string) (uint64, uint64, error) { return 1, 100e9, nil }})
	names := []string{"cancelled", "blocked", "again", "renewed", "forgotten"}
	for i, name := range names {
		first.mustTake(first.shopify("checkouts/update", "", cart(name, phone(i), "90.00")))
	}
	path := first.backUp()
	first.eventually("they are due", func() bool { return first.messages()[0].DueAt.Before(time.Now()) })
	first.stop()

	h := restored(t, path, options{config: rules})
	ids := map[string]messaging.MessageID{}
	for _, m := range h.messages() {
		for i, name := range names {
			if string(m.Phone) == phone(i)[1:] {
				ids[name] = m.ID
			}
		}
	}
	inDoubt := func(when string, names ...string) {
		t.Helper()
		for _, name := range names {
			if m := h.show(ids[name]); m.State != messaging.StateInDoubt {
				t.Errorf("%s: %s is %s: %s", when, name, m.State, m.Reason)
			}
		}
	}
	inDoubt("at first", names...)
	h.mustTake(h.shopify("orders/create", "", order("cancelled", phone(0), "90.00")))
	if _, err := server.BlockContacts.Call(t.Context(), h.ask, server.BlockRequest{Phones: []string{phone(1)}, Reason: "STOP"}); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("renewed", phone(3), "95.00")))
	if n := len(h.messages()); n != len(names) {
		t.Errorf("the same cart again is queued: %d messages", n)
	}
	h.edit("wait: 2s", "wait: 10h")
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	inDoubt("after a reload", names...)
	folder := h.folder
	h.stop()
	h = open(t, options{config: strings.Replace(rules, "wait: 2s", "wait: 10h", 1), folder: folder})
	inDoubt("after a restart", names...)
	if err := h.reviewed(time.Time{}); err != nil {
		t.Fatal(err)
	}
	inDoubt("after the review", names...)
	for name, want := range map[string]messaging.State{"cancelled": messaging.StateCancelled, "blocked": messaging.StateDropped, "again": messaging.StateAccepted} {
		if _, err := server.ResolveMessage.Call(t.Context(), h.ask, server.ResolveRequest{ID: ids[name], As: messaging.ResolveResend, Reason: ""}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		h.eventually(name, func() bool { return h.show(ids[name]).State == want })
	}
	if got := h.service.Accepted(phone(0)[1:]) + h.service.Accepted(phone(1)[1:]) + h.service.Accepted(phone(3)[1:]); got != 0 {
		t.Errorf("%d messages went to who should get none", got)
	}
}
