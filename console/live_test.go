package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/console"
	"github.com/nudgewire/nudgewire/server"
	"github.com/nudgewire/nudgewire/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An act is a console whose commits a test makes.
type act struct {
	live *console.Live
	on   store.Observer
	h    http.Handler
	n    int64
}

func newAct() *act {
	a := &act{live: console.NewLive()}
	a.on = a.live.Observer(store.Observer{})
	a.h = console.New(console.Options{
		Ask: broken{}, Live: a.live, Rules: func() []console.Rule { return nil }, Zone: func() *time.Location { return time.UTC },
		Address: func(r *http.Request) string { return r.RemoteAddr }, Now: time.Now, Log: zap.NewNop(),
	}).Handler()
	return a
}

// arrive commits an event.
func (a *act) arrive(phone, trigger string) {
	a.n++
	a.on.Accepted(nudgewire.Plan{Event: nudgewire.Event{Connector: "shop", Kind: "cart.updated", ReceivedAt: time.Now(), Contact: nudgewire.Contact{Phone: nudgewire.Phone(phone)}}},
		nudgewire.Receipt{EventID: nudgewire.EventID(a.n), Decisions: []nudgewire.Decision{{Trigger: trigger, Outcome: nudgewire.Planned, MessageID: nudgewire.MessageID(a.n)}}})
}

// watched is what a stream said until it ended.
type watched struct {
	status  int
	html    string
	rows    int64
	skipped int64
	last    string
	most    int // rows at a time
}

// watch opens the stream once. It returns when the stream ends.
func (a *act) watch(ctx context.Context, who server.Who, query, last string) (out watched) {
	r := httptest.NewRequestWithContext(server.WithWho(ctx, who), http.MethodGet, "/live/stream"+query, nil)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	w := httptest.NewRecorder()
	a.h.ServeHTTP(w, r)
	out.status, out.last = w.Code, last
	for line := range bytes.Lines(w.Body.Bytes()) {
		text := strings.TrimSpace(string(line))
		if id, is := strings.CutPrefix(text, "id: "); is {
			out.last = id
		}
		data, is := strings.CutPrefix(text, "data: ")
		if !is {
			continue
		}
		var told struct {
			HTML    string
			Skipped int64
		}
		if json.Unmarshal([]byte(data), &told) == nil {
			rows := strings.Count(told.HTML, "<li")
			out.html += told.HTML
			out.rows, out.skipped, out.most = out.rows+int64(rows), out.skipped+told.Skipped, max(out.most, rows)
		}
	}
	return out
}

// A page that is left open for an hour is told of everything, and nothing of it is left when it is closed.
func TestAPageLeftOpenForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAct()
		ctx, closed := context.WithCancel(t.Context())
		done := make(chan watched)
		go func() {
			var all watched
			for ctx.Err() == nil {
				one := a.watch(ctx, server.Process("ann"), "", all.last)
				all.rows, all.skipped, all.last = all.rows+one.rows, all.skipped+one.skipped, one.last
				time.Sleep(500 * time.Millisecond) // as the stream asks for
			}
			done <- all
		}()
		time.Sleep(time.Second)
		const each = 200 * time.Millisecond
		for range time.Hour / each {
			a.arrive("447700900101", "reminder")
			time.Sleep(each)
		}
		time.Sleep(time.Second)
		closed()
		all := <-done
		if want := int64(time.Hour / each); all.rows+all.skipped < want-3 || all.rows+all.skipped > want || all.skipped != 0 {
			t.Errorf("of %d events %d were shown and %d skipped", want, all.rows, all.skipped)
		}
	})
}

// A thousand a second are kept up with, by saying how many were skipped.
func TestAThousandASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAct()
		ctx, closed := context.WithCancel(t.Context())
		done := make(chan watched)
		go func() { done <- a.watch(ctx, server.Process("ann"), "", "") }()
		time.Sleep(10 * time.Millisecond)
		for range 10_000 {
			a.arrive("447700900101", "reminder")
			time.Sleep(time.Millisecond)
		}
		time.Sleep(2 * time.Second)
		closed()
		all := <-done
		if all.rows+all.skipped != 10_000 || all.most > 40 || all.rows < 500 {
			t.Errorf("%d were shown, at most %d at a time, and %d skipped", all.rows, all.most, all.skipped)
		}
	})
}

// More at once than is kept is skipped, too, and no commit waits for whoever watches.
func TestABurstIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAct()
		ctx, closed := context.WithCancel(t.Context())
		done := make(chan watched)
		go func() { done <- a.watch(ctx, server.Process("ann"), "", "") }()
		time.Sleep(10 * time.Millisecond)
		for range 100_000 {
			a.arrive("447700900101", "reminder")
		}
		time.Sleep(time.Second)
		closed()
		if all := <-done; all.rows != 40 || all.skipped != 100_000-40 {
			t.Errorf("%d were shown and %d skipped", all.rows, all.skipped)
		}
	})
}

func TestWhatIsWatchedIsFilteredAndMasked(t *testing.T) {
	viewer := server.Who{Name: "vic", Scopes: []server.Scope{server.Read}, From: server.FromSession}
	for _, c := range []struct {
		who          server.Who
		query        string
		sees, misses []string
	}{
		{server.Process("ann"), "", []string{"+447700900101", "&lt;script&gt;", "vip", "forged", "delivered", "message 1"}, []string{"<script>"}},
		{server.Process("ann"), "?trigger=vip", []string{"vip"}, []string{"447700900101", "forged"}},
		{server.Process("ann"), "?text=900101", []string{"+447700900101"}, []string{"vip", "forged"}},
		{server.Process("ann"), "?state=rejected", []string{"forged"}, []string{"vip", "447700900101"}},
		{server.Process("ann"), "?connector=shop&state=delivered", nil, []string{"<li"}},
		{viewer, "", []string{"4477******01", "vip"}, []string{"447700900101"}},
		{viewer, "?text=447700900101", nil, []string{"<li"}}, // asking for a phone does not say whether it is there
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAct()
			ctx, closed := context.WithCancel(t.Context())
			done := make(chan watched)
			go func() { done <- a.watch(ctx, c.who, c.query, "") }()
			time.Sleep(10 * time.Millisecond)
			a.arrive("447700900101", "<script>alert(1)</script>")
			a.on.Polled(nudgewire.Poll{MessageID: 1, Status: nudgewire.StatusDelivered, At: time.Now()})
			a.on.Polled(nudgewire.Poll{MessageID: 1, Status: nudgewire.StatusDelivered, At: time.Now()}) // no news
			a.arrive("447700900202", "vip")
			a.on.Rejected(nudgewire.RejectedRequest{Connector: "crm", Reason: "forged", At: time.Now()})
			time.Sleep(time.Second)
			closed()
			got := <-done
			for _, one := range c.sees {
				if !strings.Contains(got.html, one) {
					t.Errorf("%s%s does not see %q: %s", c.who.Name, c.query, one, got.html)
				}
			}
			for _, one := range c.misses {
				if strings.Contains(got.html, one) {
					t.Errorf("%s%s sees %q: %s", c.who.Name, c.query, one, got.html)
				}
			}
			if strings.Count(got.html, "delivered") > 1 {
				t.Errorf("the same news were told twice: %s", got.html)
			}
		})
	}
}

// One person cannot take the place of everybody else, and has it again when a window is closed.
func TestOnePersonDoesNotKeepOthersFromWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAct()
		ctx, leave := context.WithCancel(t.Context())
		done := make(chan watched, 12)
		for range 12 {
			go func() { done <- a.watch(ctx, server.Process("ann"), "", "") }()
		}
		synctest.Wait()
		if got := a.watch(t.Context(), server.Process("ann"), "", ""); got.status != http.StatusServiceUnavailable {
			t.Errorf("ann's thirteenth window is answered %d", got.status)
		}
		if got := a.watch(t.Context(), server.Process("bob"), "", ""); got.status != http.StatusOK {
			t.Errorf("bob is answered %d", got.status)
		}
		leave()
		for range 12 {
			<-done
		}
		if got := a.watch(t.Context(), server.Process("ann"), "", ""); got.status != http.StatusOK {
			t.Errorf("ann, who comes again, is answered %d", got.status)
		}
	})
}

// It ends by itself after half a minute, so that whoever may no longer look is asked again; at the stop; and no more than a hundred watch.
func TestWatchingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAct()
		began := time.Now()
		if got := a.watch(t.Context(), server.Process("ann"), "", ""); got.status != http.StatusOK || time.Since(began) > 31*time.Second {
			t.Errorf("a stream lasted %s: %d", time.Since(began), got.status)
		}
		if got := a.watch(t.Context(), server.Who{Name: "nobody"}, "", ""); got.status != http.StatusUnauthorized {
			t.Errorf("who may not look is answered %d", got.status)
		}
		done := make(chan watched, 100)
		for i := range 100 {
			go func() { done <- a.watch(t.Context(), server.Process("ann"+strconv.Itoa(i)), "", "") }()
		}
		synctest.Wait()
		if got := a.watch(t.Context(), server.Process("ann"), "", ""); got.status != http.StatusServiceUnavailable {
			t.Errorf("one more than a hundred is answered %d", got.status)
		}
		stopped := time.Now()
		a.live.End()
		a.live.End() // twice is once
		for range 100 {
			<-done
		}
		if time.Since(stopped) > time.Second {
			t.Errorf("the stop took %s", time.Since(stopped))
		}
		if got := a.watch(t.Context(), server.Process("ann"), "", ""); got.status != http.StatusServiceUnavailable {
			t.Errorf("after the stop: %d", got.status)
		}
	})
}
