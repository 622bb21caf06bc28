package app_test

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// Many in doubt are counted by their cause and resolved at once; a person's word is told as a person's.
func TestResolvingManyMessagesInDoubt(t *testing.T) {
	t.Parallel()
	h := open(t, options{})
	f := h.service.Faults()
	f.CutAfter = 1
	h.service.SetFaults(f)
	for i := range 3 {
		o := order("c"+phone(i), phone(i), "10.00")
		o["id"] = 9007199254740993 + 2*i
		h.mustTake(h.shopify("orders/create", "", o))
	}
	inDoubt := func(n int64) func() bool { return func() bool { return h.status().InDoubt == n } }
	h.eventually("all in doubt", inDoubt(3))
	h.service.SetFaults(sandbox.Faults{})
	by := server.BulkRequest{Trigger: "thanks", As: messaging.ResolveAccepted, Reason: "seen on the phone", DryRun: true}
	for _, want := range []int64{3, 3, 0} {
		v, err := server.ResolveMessages.Call(t.Context(), h.ask, by)
		if err != nil || v.Count != want {
			t.Fatalf("resolve (dry run %v): %+v, %v; want %d", by.DryRun, v, err, want)
		}
		by.DryRun = false
	}
	h.eventually("none in doubt", inDoubt(0))
	m := h.messages()[0]
	one, err := server.ShowMessage.Call(t.Context(), h.ask, "1")
	if err != nil || m.State != messaging.StateAccepted || len(one.Resolved) != 1 || one.Resolved[0].As != messaging.ResolveAccepted {
		t.Errorf("resolved: %+v, %v", one, err)
	}
	by.As = "maybe"
	if _, err := server.ResolveMessages.Call(t.Context(), h.ask, by); err == nil || err.Error() != `as "maybe": want accepted, resend or drop` {
		t.Errorf("a resolution of nothing: %v", err)
	}
}
