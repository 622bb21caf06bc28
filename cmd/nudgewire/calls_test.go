package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// Killed with a backlog claimed, what is in doubt afterwards are the calls that had begun, and no more.
// What never left is sent by the next daemon, once.
func TestKilledWhileSendingLeavesOnlyBegunCallsInDoubt(t *testing.T) {
	var begun, taken atomic.Int64
	dead := make(chan struct{})
	answer := sync.OnceFunc(func() { close(dead) })
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		select {
		case <-dead:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"success":true,"message_id":%d}`, 1000+taken.Add(1))
		default:
			begun.Add(1)
			<-dead // never answered
		}
	}))
	defer api.Close() // waits for its answers
	defer answer()
	c := &crash{t: t, folder: t.TempDir(), address: freeAddress(t)}
	c.put("config.yaml", fmt.Sprintf(`
api: {base_url: %s/api/v1, key: key, rate: 200/s, timeout: 30s, concurrency: 4}
defaults: {country: GB, language: en, category: utility}
connectors: {shopify: {secret: secret-of-the-crash}}
triggers:
  thanks: {on: shopify.order.created, send: {template: order_update, variables: ['{{ order.id }}']}}
storage: sqlite:%s/nudgewire.db
server: {listen: "%s"}
`, api.URL, c.folder, c.address))
	const posts, calls = 40, 3 // of four at a time, one is for authentication alone
	daemon := c.start()
	for i := range posts {
		if !c.post(i) {
			t.Fatalf("webhook %d was refused", i)
		}
	}
	// Claims run ahead of the calls.
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if counts, _ := c.ledger(); begun.Load() == calls && counts[messaging.StateSending] > calls {
			break
		}
	}
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	daemon.Wait() // it was killed, and says so
	counts, _ := c.ledger()
	claimed := counts[messaging.StateSending]
	if claimed <= int(begun.Load()) {
		t.Fatalf("%d claimed and %d calls begun: the test needs claims ahead of calls", claimed, begun.Load())
	}
	answer()
	daemon = c.start()
	c.settled()
	if err := daemon.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("the daemon's end: %v", err)
	}
	counts, _ = c.ledger()
	if n := counts[messaging.StateInDoubt]; n != int(begun.Load()) {
		t.Errorf("%d in doubt of %d claimed, and %d calls had begun", n, claimed, begun.Load())
	}
	if n := counts[messaging.StateAccepted]; n != posts-int(begun.Load()) || n != int(taken.Load()) {
		t.Errorf("%d accepted and %d taken, want %d", n, taken.Load(), posts-int(begun.Load()))
	}
}
