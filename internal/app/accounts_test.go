package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

const brandKey = "key-of-brand-b"

// A brand is a second account, at a sandbox of its own.
type brand struct {
	*sandbox.Sandbox
	url string
}

func newBrand(t *testing.T, o sandbox.Options) *brand {
	t.Helper()
	o.Keys = []string{brandKey}
	o.Templates = []sandbox.Template{{Name: "*", Language: "*", Variables: -1, Header: "*"}}
	o.Campaigns = []string{"*"}
	if o.Pace == (sandbox.Pace{}) {
		o.Pace = sandbox.Pace{Sent: time.Millisecond, Delivered: time.Millisecond, Read: -1}
	}
	b := &brand{Sandbox: sandbox.New(o)}
	api := httptest.NewServer(b.Handler())
	b.url = api.URL + "/api/v1"
	t.Cleanup(func() { b.Close(); api.Close() })
	return b
}

// account is the section accounts.
func (b *brand) account(more string) string {
	return "accounts:\n  brand-b: {base_url: \"" + b.url + "\", key: " + brandKey + more + "}\n"
}

// twoBrands sends orders by the account of the section api, and carts by brand-b.
const twoBrands = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
triggers:
  thanks:
    on: shopify.order.created
    category: utility
    send: {template: order_update}
  reminder:
    on: shopify.cart.updated
    account: brand-b
    send: {template: cart_reminder}
tracking: {poll: [1s]}
`

// post takes n orders and n carts, each of another person.
func (h *house) post(n int) {
	h.t.Helper()
	for i := range n {
		o := order(fmt.Sprint("o", i), phone(i), "10.00")
		o["id"] = 5000 + i
		h.mustTake(h.shopify("orders/create", "", o))
		h.mustTake(h.shopify("checkouts/update", "", cart(fmt.Sprint("c", i), phone(100+i), "10.00")))
	}
}

// delivered counts the messages of an account that arrived.
func (h *house) delivered(account string) (n int) {
	for _, m := range h.messages() {
		if m.Account == account && m.Status == messaging.StatusDelivered {
			n++
		}
	}
	return n
}

func TestEachAccountSendsAndAsksForItself(t *testing.T) {
	t.Parallel()
	const n = 20
	b := newBrand(t, sandbox.Options{})
	h := open(t, options{config: b.account("") + twoBrands})
	h.post(n)
	h.eventually("all arrived", func() bool { return h.delivered("") == n && h.delivered("brand-b") == n })
	for what, s := range map[string]*sandbox.Sandbox{"api": h.service, "brand-b": b.Sandbox} {
		if got := s.Stats(); got.Messages != n || got.Phones != n || got.Duplicates != 0 {
			t.Errorf("%s got %d messages to %d phones, %d twice", what, got.Messages, got.Phones, got.Duplicates)
		}
	}
	if h.service.Accepted(phone(100)[1:]) != 0 || b.Accepted(phone(0)[1:]) != 0 {
		t.Error("an account sent what was the other's")
	}
	v := h.status().Daemon
	if len(v.Accounts) != 2 || v.Accounts[0].Name != "api" || v.Accounts[1].Name != "brand-b" || v.Accounts[1].API != b.url || v.Accounts[1].Accepted != n {
		t.Errorf("accounts in status: %+v", v.Accounts)
	}
}

// The key of one account is refused, then it has no points, then it is down: the other sends on, and
// nothing of the first is lost or burned.
func TestTroubleOfOneAccountIsNotTheOthers(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]sandbox.Faults{
		"key refused": {ErrorRate: 1, Status: http.StatusUnauthorized},
		"no points":   {ErrorRate: 1, Status: http.StatusPaymentRequired, Endpoints: []string{"send-template"}},
		"busy":        {ErrorRate: 1, Status: http.StatusTooManyRequests, RetryAfter: units.Duration(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			const n = 12
			b := newBrand(t, sandbox.Options{})
			h := open(t, options{config: b.account("") + twoBrands})
			h.service.SetFaults(fault)
			h.post(n)
			h.eventually("all of brand-b arrived", func() bool { return h.delivered("brand-b") == n })
			if name != "busy" {
				h.eventually("api is halted", func() bool { return len(h.status().Daemon.HaltsOf("api")) > 0 })
			}
			if d := h.status().Daemon; len(d.HaltsOf("brand-b")) > 0 || strings.Contains(d.Accounts[1].Rate, "slowed") {
				t.Errorf("brand-b: %+v, %+v", d.Accounts[1], d.Halts)
			}
			if s := h.service.Stats(); s.Messages != 0 {
				t.Errorf("%d messages left by an account in trouble", s.Messages)
			}
			for _, m := range h.messages() {
				if m.Account == "" && m.State != messaging.StateWaiting && m.State != messaging.StateSending {
					t.Errorf("message %d is %s: %s", m.ID, m.State, m.Reason)
				}
			}
			if name == "busy" {
				return
			}
			h.service.SetFaults(sandbox.Faults{})
			if err := h.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.eventually("those that waited arrived", func() bool { return h.delivered("") == n })
			if s := h.service.Stats(); s.Duplicates != 0 {
				t.Errorf("%d twice", s.Duplicates)
			}
		})
	}
}

// All calls of one account hang: its seats and slots are taken, and the other has its own.
func TestASlowAccountTakesNoSeatOfAnother(t *testing.T) {
	t.Parallel()
	const n = 80 // more than there are seats
	b := newBrand(t, sandbox.Options{})
	h := open(t, options{config: b.account(", concurrency: 2") + twoBrands})
	g := h.gated()
	h.post(n)
	h.eventually("all of brand-b arrived while api hangs", func() bool { return h.delivered("brand-b") == n })
	if got := h.delivered(""); got != 0 {
		t.Errorf("%d of api arrived", got)
	}
	g.open()
}

// An account leaves the config while one message of it is being sent and others wait: that call ends, the
// others are paused and say so, and when it is back each is sent once.
func TestAnAccountLeavesAndComesBack(t *testing.T) {
	t.Parallel()
	const n = 10
	b := newBrand(t, sandbox.Options{})
	section := b.account(", rate: 10/min")
	h := open(t, options{config: section + twoBrands})
	h.post(n)
	h.eventually("one was sent", func() bool { return b.Stats().Messages > 0 })
	h.edit(section, "")
	h.edit("    account: brand-b\n", "")
	if said := words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{}))); len(said) == 0 || !strings.HasPrefix(said[len(said)-1], "account brand-b: is gone from the config, ") ||
		!strings.HasSuffix(said[len(said)-1], " wait: paused until it is back, or you cancel them") {
		t.Errorf("before the reload it says %q", said)
	}
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.eventually("nothing of brand-b is under way", func() bool {
		for _, m := range h.messages() {
			if m.Account == "brand-b" && m.State == messaging.StateSending {
				return false
			}
		}
		return true
	})
	left := b.Stats().Messages
	s := h.status()
	if len(s.Daemon.Accounts) != 0 || len(s.Holds) != 1 || s.Holds[0].Kind != messaging.HoldGone || s.Holds[0].Waiting != int64(n-left) {
		t.Errorf("accounts %+v, halts %+v, %d left", s.Daemon.Accounts, s.Holds, left)
	}
	if words := s.Holds[0].Words(); !strings.HasPrefix(words, `account "brand-b" is gone from the config, and `) || !strings.HasSuffix(words, "; send: put it back under accounts, then nudgewire reload; cancel: nudgewire messages cancel --account brand-b") {
		t.Error(words)
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("new", phone(300), "10.00")))
	h.eventually("the other account sends on", func() bool { return h.service.Accepted(phone(300)[1:]) == 1 })
	if got := b.Stats().Messages; got != left {
		t.Errorf("%d messages left by an account that is gone", got-left)
	}
	h.stop()

	h = open(t, options{folder: h.folder, config: b.account("") + twoBrands})
	h.eventually("those that waited were sent", func() bool { return b.Stats().Messages == n })
	if got := b.Stats(); got.Duplicates != 0 {
		t.Errorf("%d twice", got.Duplicates)
	}
	if s := h.status(); len(s.Holds) != 0 {
		t.Errorf("halts %+v", s.Holds)
	}
}

// A reload adds an account, and what is planned from then on is sent by it; what waits keeps its own.
func TestAReloadAddsAnAccount(t *testing.T) {
	t.Parallel()
	b := newBrand(t, sandbox.Options{})
	alone := strings.Replace(twoBrands, "    account: brand-b\n", "    wait: 2s\n", 1)
	h := open(t, options{config: alone})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "10.00")))
	h.edit("connectors:", b.account("")+"connectors:")
	h.edit("    wait: 2s\n", "    account: brand-b\n")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(2), "10.00")))
	h.eventually("both arrived", func() bool { return h.delivered("") == 1 && h.delivered("brand-b") == 1 })
	if h.service.Accepted(phone(1)[1:]) != 1 || b.Accepted(phone(2)[1:]) != 1 {
		t.Error("the wrong account sent")
	}
}

// A csv job and a per_message job of brand-b go out by it, and their messages are asked about there.
func TestAJobOfAnAccount(t *testing.T) {
	t.Parallel()
	for name, deliver := range map[string]string{"csv": byCSV, "per_message": perMessage} {
		t.Run(name, func(t *testing.T) {
			b := newBrand(t, sandbox.Options{ListIDs: true, Phones: true})
			folder := t.TempDir()
			wanted := list(t, filepath.Join(folder, "list.csv"), 100)
			h := open(t, options{folder: folder, config: b.account("") + jobConfig(folder, "    account: brand-b\n"+deliver) + "\ntracking: {poll: [1s]}\n"})
			h.fire("winback")
			h.eventually("all arrived", func() bool { return h.delivered("brand-b") == len(wanted) })
			if got := h.service.Stats(); got.Messages != 0 || got.Uploads != 0 {
				t.Errorf("api got %+v", got)
			}
		})
	}
}

// Two accounts at one address with different keys are two accounts.
func TestTwoAccountsAtOneAddress(t *testing.T) {
	t.Parallel()
	b := newBrand(t, sandbox.Options{})
	h := open(t, options{config: strings.Replace(b.account(""), "key: ", "key: wrong-", 1) +
		"  brand-c: {base_url: \"" + b.url + "\", key: " + brandKey + "}\n" +
		strings.Replace(twoBrands, "category: utility", "account: brand-c", 1)})
	h.post(3)
	h.eventually("those of brand-c arrived", func() bool { return h.delivered("brand-c") == 3 })
	h.eventually("brand-b is halted", func() bool { return len(h.status().Daemon.HaltsOf("brand-b")) > 0 })
	if v := h.status().Daemon.HaltsOf("brand-c"); v != nil {
		t.Errorf("brand-c: %+v", v)
	}
	h.edit("key: wrong-", "key: ")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.eventually("those of brand-b arrived, by the new key", func() bool { return h.delivered("brand-b") == 3 })
}

// What is in doubt at one account is sent again by it, also after a restart with rows of both.
func TestADoubtStaysWithItsAccount(t *testing.T) {
	t.Parallel()
	b := newBrand(t, sandbox.Options{})
	config := b.account("") + twoBrands
	h := open(t, options{config: config})
	b.SetFaults(sandbox.Faults{CutAfter: 1})
	h.post(2)
	h.eventually("those of brand-b are in doubt", func() bool { return h.status().InDoubt == 2 && h.delivered("") == 2 })
	h.stop()
	b.SetFaults(sandbox.Faults{})
	h = open(t, options{folder: h.folder, config: config})
	for _, m := range h.messages() {
		if m.State == messaging.StateInDoubt {
			if _, err := server.ResolveMessage.Call(t.Context(), h.ask, server.ResolveRequest{ID: m.ID, As: messaging.ResolveResend, Reason: ""}); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.eventually("they arrived", func() bool { return h.delivered("brand-b") == 2 })
	if got := h.service.Stats(); got.Messages != 0 {
		t.Errorf("api sent %d of them", got.Messages)
	}
	if got := b.Stats(); got.Messages != 4 || got.Phones != 2 {
		t.Errorf("brand-b was asked for %d messages to %d phones", got.Messages, got.Phones)
	}
}

// The account of a csv run leaves between two of its files: the run waits and says why, and goes on with
// the files that are left when the account is back.
func TestARunWaitsForItsAccount(t *testing.T) {
	t.Parallel()
	b := newBrand(t, sandbox.Options{})
	folder := t.TempDir()
	wanted := list(t, filepath.Join(folder, "list.csv"), 400)
	section := b.account(", rate: 10/min")
	h := open(t, options{folder: folder, config: section + jobConfig(folder, "    max_size: 2kB\n    account: brand-b\n"+byCSV)})
	run, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "winback"})
	if err != nil {
		t.Fatal(err)
	}
	h.eventually("one file left", func() bool { return b.Stats().Uploads > 0 })
	h.edit(section, "")
	h.edit("    account: brand-b\n", "")
	same(t, "before the reload it says", words(waiting(server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{}))),
		"account brand-b: is gone from the config, 0 messages wait, and 1 run not ended: paused until it is back, or you cancel them",
		fmt.Sprintf("run %d of winback (uploading): it keeps what it was built with, whatever is another in account", run.ID))
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown := func() server.RunView {
		v, err := server.ShowRun.Call(t.Context(), h.ask, run.ID)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	h.eventually("the run says why it waits", func() bool { return strings.Contains(shown().Halted, `account "brand-b" is gone from the config`) })
	if v := shown(); v.State != messaging.RunUploading || v.Account != "brand-b" {
		t.Errorf("the run is %s by %q", v.State, v.Account)
	}
	h.edit("jobs:", b.account("")+"jobs:")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.eventually("the run is done", func() bool { return shown().State == messaging.RunDone })
	if got := b.Stats(); got.Contacts != len(wanted) || got.Uploads != len(shown().Parts) || got.Duplicates != 0 {
		t.Errorf("%d contacts by %d uploads, %d twice; want %d by %d", got.Contacts, got.Uploads, got.Duplicates, len(wanted), len(shown().Parts))
	}
	if got := h.service.Stats(); got.Uploads != 0 {
		t.Errorf("api got %d files", got.Uploads)
	}
}

// A template that the service pauses for one account is sent by the other.
func TestAPausedTemplateIsOneAccounts(t *testing.T) {
	t.Parallel()
	const n = 5
	b := newBrand(t, sandbox.Options{})
	both := strings.Replace(twoBrands, "template: cart_reminder", "template: order_update", 1)
	h := open(t, options{config: b.account("") + both, sandbox: sandbox.Options{FailRate: 1, Reasons: []string{"template order_update is paused"}}})
	h.post(n)
	h.eventually("the template of api is paused", func() bool {
		for _, one := range h.status().Holds {
			if strings.Contains(one.Words(), "order_update") {
				return true
			}
		}
		return false
	})
	h.eventually("all of brand-b arrived", func() bool { return h.delivered("brand-b") == n })
	h.mustTake(h.shopify("checkouts/update", "", cart("later", phone(200), "10.00")))
	h.eventually("one that came later arrived, too", func() bool { return h.delivered("brand-b") == n+1 })
}
