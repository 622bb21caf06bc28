package app_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// With little room on the disk marketing waits and what proves nothing is turned away; what was proven is taken, and what
// somebody waits for is sent. With room again all goes on by itself.
func TestAShortDiskKeepsItsRoomForWhatMatters(t *testing.T) {
	t.Parallel()
	var free atomic.Uint64
	free.Store(10e9)
	config := strings.NewReplacer("wait: 1h", "wait: 1s", "triggers:\n", "  open: {verify: {kind: none}, event: {type: type, id: id}, map: {phone: phone}}\ntriggers:\n").Replace(plainConfig) +
		"server: {listen: \"127.0.0.1:0\", least_free: 1GB}\n"
	h := open(t, options{config: config, space: func(string) (uint64, uint64, error) { return free.Load(), 100e9, nil }})
	unproven := func() *http.Response {
		t.Helper()
		res, err := http.Post(h.url+"/hooks/open", "application/json", strings.NewReader(`{"type": "x.y", "id": "1"}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return res
	}
	readyz := func() (int, string) {
		t.Helper()
		res, err := http.Get(h.url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	short := func() bool {
		return slices.ContainsFunc(h.status().Troubles, func(one messaging.Trouble) bool {
			return one.Code == messaging.TroubleDisk && one.Severity == messaging.Stops && strings.Contains(one.Words, "marketing waits")
		})
	}
	if res := unproven(); res.StatusCode != http.StatusOK {
		t.Errorf("with room an unproven webhook is answered %d", res.StatusCode)
	}
	if short() {
		t.Error("told to be short")
	}

	free.Store(11e8)
	h.edit("least_free: 1GB", "least_free: 1200MB")
	h.reload()
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	h.mustTake(h.shopify("orders/create", "", order("c2", phone(2), "60.00")))
	h.eventually("the order's message is sent", func() bool {
		return slices.Equal(h.states(), []messaging.State{messaging.StateWaiting, messaging.StateAccepted})
	})
	if res := unproven(); res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("an unproven webhook is answered %d, again after %q", res.StatusCode, res.Header.Get("Retry-After"))
	}
	if status, body := readyz(); status != http.StatusOK || !strings.Contains(body, "marketing waits") {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if !short() {
		t.Errorf("troubles: %+v", h.status().Troubles)
	}
	if got := h.states(); got[0] != messaging.StateWaiting {
		t.Errorf("the cart's message is %s", got[0])
	}

	h.edit("least_free: 1200MB", "least_free: 500MB")
	h.reload()
	h.eventually("the cart's message is sent", func() bool { return h.states()[0] == messaging.StateAccepted })
	if res := unproven(); res.StatusCode != http.StatusOK {
		t.Errorf("with room again an unproven webhook is answered %d", res.StatusCode)
	}
	if status, body := readyz(); status != http.StatusOK || strings.Contains(body, "marketing") || short() {
		t.Errorf("/readyz: %d %s", status, body)
	}
}
