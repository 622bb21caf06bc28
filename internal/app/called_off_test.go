package app_test

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

const remindersAlone = `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
triggers:
  reminder:
    on: [shopify.cart.created, shopify.cart.updated]
    cancel_on: shopify.order.created
    send: {template: cart_reminder}
`

// reminded are the messages of the trigger, by number.
func (h *house) reminded() (first server.MessageView) {
	h.t.Helper()
	all := h.messages()
	if len(all) == 0 {
		return first
	}
	return all[len(all)-1]
}

// An order that comes while its reminder's call is under way: where the service surely does not take
// the message it is never sent, whatever the reason.
func TestAnOrderDuringTheCallEndsAReminderThatIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]sandbox.Faults{
		"429":                  {Status: http.StatusTooManyRequests, RetryAfter: units.Duration(time.Second)},
		"503 with Retry-After": {Status: http.StatusServiceUnavailable, RetryAfter: units.Duration(time.Second)},
		"401":                  {Status: http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, options{config: remindersAlone})
			g := h.gated()
			faults.ErrorRate, faults.Endpoints = 1, []string{"send-template"}
			h.service.SetFaults(faults)
			h.overtaken(g.phones, g.open)
			h.neverSent(2 * time.Second)
		})
	}
	t.Run("a connection that breaks before the request", func(t *testing.T) {
		h := open(t, options{config: remindersAlone})
		broken := h.unreachable()
		h.overtaken(broken.phones, broken.open)
		h.neverSent(0)
	})
	t.Run("a stop gives it back, and a start finds it cancelled", func(t *testing.T) {
		folder, config := t.TempDir(), remindersAlone
		h := open(t, options{folder: folder, config: config})
		g := h.gated()
		// As many calls as there may be, none of which ends, and one more claim in hand.
		for i := range full {
			h.mustTake(h.shopify("checkouts/create", "", cart("c"+phone(i), phone(i), "80.00")))
		}
		h.eventually("every place is taken", func() bool { return len(g.phones()) == full })
		last := full + 1
		h.mustTake(h.shopify("checkouts/create", "", cart("c1", phone(last), "80.00")))
		h.eventually("it is in hand", func() bool { return h.messages()[0].State == messaging.StateSending })
		h.mustTake(h.shopify("orders/create", "", order("c1", phone(last), "80.00")))
		time.AfterFunc(100*time.Millisecond, g.open)
		h.stop()
		if n := len(g.phones()); n != full {
			t.Fatalf("%d calls began: the test needs one that waits for its place", n)
		}
		h = open(t, options{folder: folder, config: config})
		h.eventually("nothing is on its way", func() bool { s := h.status(); return s.Waiting+s.Sending == 0 })
		if m := h.messages()[0]; m.State != messaging.StateCancelled || !strings.HasPrefix(m.Reason, "cancelled by shopify.order.created (event ") {
			t.Errorf("%s: %s", m.State, m.Reason)
		}
		if n := h.service.Stats().Messages; n != 0 {
			t.Errorf("%d messages after the start", n)
		}
	})
}

// overtaken lets a reminder's call begin, its order come, and then the call end.
func (h *house) overtaken(begun func() []string, end func()) {
	h.t.Helper()
	h.mustTake(h.shopify("checkouts/create", "", cart("c1", phone(1), "80.00")))
	h.eventually("the call is under way", func() bool { return len(begun()) == 1 })
	h.mustTake(h.shopify("orders/create", "", order("c1", phone(1), "80.00")))
	story, err := server.Why.Call(h.t.Context(), h.ask, server.ListQuery{Phone: phone(1), Limit: 10})
	if err != nil {
		h.t.Fatal(err)
	}
	said := story[len(story)-1].Event.Decisions[0].Reason
	if want := "message 1 is being sent: it is cancelled if the service does not take it; an older event that comes before "; !strings.HasPrefix(said, want) {
		h.t.Errorf("why says %q", said)
	}
	end()
}

// neverSent sees the reminder cancelled, and nothing sent for a while.
func (h *house) neverSent(within time.Duration) {
	h.t.Helper()
	h.eventually("it does not wait any more", func() bool {
		s := h.reminded().State
		return s != messaging.StateSending && s != messaging.StateWaiting
	})
	if m := h.reminded(); m.State != messaging.StateCancelled || !strings.HasPrefix(m.Reason, "cancelled by shopify.order.created (event 2); not taken by the service: ") {
		h.t.Errorf("%s: %s", m.State, m.Reason)
	}
	h.service.SetFaults(sandbox.Faults{}) // it would be taken now
	time.Sleep(within)
	if n := h.service.Stats().Messages; n != 0 {
		h.t.Errorf("%d messages were sent", n)
	}
}

// A dead end takes connections and closes them before a request can be written.
type deadEnd struct {
	mu    sync.Mutex
	n     []string
	ends  chan struct{}
	close func()
}

func (d *deadEnd) phones() []string { d.mu.Lock(); defer d.mu.Unlock(); return d.n }
func (d *deadEnd) open()            { d.close() }

// unreachable puts a dead end in the place of the service, by a reload.
func (h *house) unreachable() *deadEnd {
	h.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	d := &deadEnd{ends: make(chan struct{})}
	d.close = sync.OnceFunc(func() { close(d.ends) })
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				d.mu.Lock()
				d.n = append(d.n, c.RemoteAddr().String())
				d.mu.Unlock()
				<-d.ends
				c.Close()
			})
		}
	})
	h.t.Cleanup(func() { d.close(); h.stop(); l.Close(); all.Wait() })
	// https, so that the handshake comes before the request and nothing of it has left.
	h.edit("base_url: ", "base_url: \"https://"+l.Addr().String()+"/api/v1\", key: \"${API_KEY}\", rate: 5000/s, timeout: 30s} # ")
	if err := h.Reload(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	return d
}
