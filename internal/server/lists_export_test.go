package server_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// fill stores n events, each with a message, whose topics are what spreadsheets trip over.
func (w *tower) fill(n int) {
	w.t.Helper()
	at := w.now.Add(-24 * time.Hour).UTC()
	topics := []string{"=HYPERLINK(\"http://x\")", "a,b\n\"c\"", "plain", "+44 (0)7700 900123"}
	var plans []messaging.Plan
	for i := range n {
		d := messaging.Message{
			Trigger: "reminder", Key: fmt.Sprint("key", i), Phone: shopper, Category: messaging.Marketing, Send: messaging.Send{Template: "hello", Language: "en"},
			State: messaging.StateWaiting, DueAt: w.now.Add(time.Hour).UTC(), ExpiresAt: w.now.Add(2 * time.Hour).UTC(), CreatedAt: at, UpdatedAt: at,
		}
		plans = append(plans, messaging.Plan{
			Event: messaging.Event{
				Connector: "shop", Kind: []string{"order.created", "cart.updated"}[i%2], Topic: topics[i%len(topics)], DedupeKey: fmt.Sprint("order ", i), ReceivedAt: at.Add(time.Duration(i) * time.Second),
				Contact: messaging.Contact{Phone: shopper},
			},
			Proposals: []messaging.Proposal{{
				Decision:    messaging.Decision{Trigger: "reminder", Outcome: messaging.Planned, Reason: "because of " + shopper, Key: d.Key, At: at},
				Correlation: messaging.Correlation{Trigger: "reminder", Key: d.Key, Phone: shopper},
				Message:     d, OnRepeat: messaging.OnRepeat{Mode: messaging.Parallel}, Cooldown: messaging.Cooldown{Mode: messaging.CooldownNone}, EventAt: at,
			}},
		})
	}
	for some := range slices.Chunk(plans, 200) {
		if _, err := w.store.Accept(w.t.Context(), some); err != nil {
			w.t.Fatal(err)
		}
	}
}

// lines are the JSON lines of an answer, and whether its end is there.
func lines[L any](t *testing.T, body string) (all []L) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(body))
	for dec.More() {
		var one L
		if err := dec.Decode(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

func TestListsLeaveWhole(t *testing.T) {
	const n = 1203
	w := newTower(t)
	w.fill(n)
	blind, sees := w.token("blind", time.Time{}, access.Read), w.token("sees", time.Time{}, access.Read, access.Phones)
	get := func(token, path string) string {
		t.Helper()
		rec := with(token, "GET", path, "", w.access)
		if rec.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
		}
		return rec.Body.String()
	}
	for path, want := range map[string]int{
		"/events/export": n, "/events/export?kind=order.created": n/2 + 1, "/events/export?connector=none": 0, "/events/export?phone=" + shopper: n,
		"/messages/export": n, "/messages/export?state=waiting": n, "/messages/export?state=accepted": 0, "/messages/export?trigger=reminder&account=api": n,
		"/events/export?since=" + w.now.Add(-24*time.Hour+1000*time.Second).UTC().Format(time.RFC3339Nano): n - 1000,
		"/events/export?until=" + w.now.Add(-24*time.Hour+1000*time.Second).UTC().Format(time.RFC3339Nano): 1000,
		"/messages/export?until=" + w.now.Add(-25*time.Hour).UTC().Format(time.RFC3339Nano):                0,
	} {
		type line struct {
			Event, Message *struct{ ID int64 }
			End            bool
			Rows           int64
		}
		all := lines[line](t, get(sees.Token, path))
		if last := all[len(all)-1]; !last.End || last.Rows != int64(want) || len(all) != want+1 {
			t.Errorf("%s: %d lines, the last %+v, want %d rows", path, len(all), last, want)
		}
		before := int64(n + 1)
		for _, one := range all[:len(all)-1] {
			it := one.Event
			if it == nil {
				it = one.Message
			}
			if it.ID >= before {
				t.Fatalf("%s: %d after %d", path, it.ID, before)
			}
			before = it.ID
		}
	}
	for _, list := range []string{"events", "messages"} {
		for token, masked := range map[string]bool{blind.Token: true, sees.Token: false} {
			for _, format := range []string{"csv", "jsonl"} {
				body := get(token, "/"+list+"/export?format="+format)
				if masked == strings.Contains(body, shopper) || masked != strings.Contains(body, "4477******23") {
					t.Errorf("%s as %s, masked %t: %.300s", list, format, masked, body)
				}
				if format == "jsonl" {
					continue
				}
				rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
				if err != nil || len(rows) != n+1 || rows[0][0] != "id" {
					t.Errorf("%s as CSV: %d rows, %v", list, len(rows), err)
				}
			}
		}
	}
	rows, err := csv.NewReader(strings.NewReader(get(sees.Token, "/events/export?format=csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var topics []string
	for _, row := range rows[len(rows)-4:] {
		topics = append(topics, row[2])
	}
	if want := []string{"+44 (0)7700 900123", "plain", "a,b\n\"c\"", "'=HYPERLINK(\"http://x\")"}; !slices.Equal(topics, want) {
		t.Errorf("topics: %q, want %q", topics, want)
	}

	r := httptest.NewRequest("GET", server.Base+"/events/export", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+blind.Token)
	r.Header.Set("Accept", "text/csv")
	rec := httptest.NewRecorder()
	w.access.ServeHTTP(rec, r)
	if got := rec.Header().Get("Content-Type"); got != "text/csv; charset=utf-8" || rec.Header().Get("Content-Disposition") != "attachment; filename=events-"+w.now.UTC().Format(time.DateOnly)+".csv" {
		t.Errorf("asked for CSV: %v", rec.Header())
	}
	for path, field := range map[string]string{
		"/events/export?format=xml": "format", "/messages/export?state=lost": "state", "/events/export?until=later": "until", "/events/export?since=now": "since", "/messages/export?phone=12": "phone",
	} {
		rec := with(blind.Token, "GET", path, "", w.access)
		if rec.Code != http.StatusBadRequest || !strings.Contains(rec.Body.String(), `"field":"`+field+`"`) {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	count := 0
	if err := server.ExportMessages.Each(t.Context(), w.ask, server.ListQuery{Trigger: "reminder"}, func(m *server.MessageView) error { count++; return nil }); err != nil || count != n {
		t.Errorf("the client has %d messages, %v", count, err)
	}
}

// A slowWriter calls during once a part of an answer was written.
type slowWriter struct {
	*httptest.ResponseRecorder
	during func()
}

func (w *slowWriter) Write(b []byte) (int, error) {
	if during := w.during; during != nil {
		w.during = nil
		during()
	}
	return w.ResponseRecorder.Write(b)
}

// export asks for a list with something happening while it is written; whole is false where the connection breaks.
func (w *tower) export(ctx context.Context, token, path string, during func()) (body string, status int, whole bool) {
	r := httptest.NewRequestWithContext(ctx, "GET", server.Base+path, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	to := &slowWriter{httptest.NewRecorder(), during}
	defer func() {
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler { //nolint:errorlint // it is compared as net/http does
				panic(v)
			}
			body, status, whole = to.Body.String(), to.Code, false
		}
	}()
	w.access.ServeHTTP(to, r)
	return to.Body.String(), to.Code, true
}

func TestAnExportThatIsCutShortDoesNotLookWhole(t *testing.T) {
	for name, cut := range map[string]func(*tower, context.CancelFunc){
		"the data goes":   func(w *tower, _ context.CancelFunc) { _ = w.store.Close() },
		"the caller goes": func(_ *tower, gone context.CancelFunc) { gone() },
	} {
		for _, format := range []string{"csv", "jsonl"} {
			w := newTower(t)
			w.fill(1100)
			reader := w.token("reader", time.Time{}, access.Read, access.Phones)
			ctx, gone := context.WithCancel(t.Context())
			body, _, whole := w.export(ctx, reader.Token, "/events/export?format="+format, func() { cut(w, gone) })
			gone()
			if n := strings.Count(body, "reminder"); whole || n == 0 || n >= 1100 || strings.Contains(body, `"end":true`) {
				t.Errorf("%s, as %s: whole %t, with %d rows", name, format, whole, n)
			}
		}
	}
}

func TestAnExportGoesOnWhileRowsComeAndGo(t *testing.T) {
	w := newTower(t)
	w.fill(1100)
	reader := w.token("reader", time.Time{}, access.Read, access.Phones)
	body, _, whole := w.export(t.Context(), reader.Token, "/events/export", func() {
		plan := messaging.Plan{Event: messaging.Event{Connector: "shop", Kind: "order.created", DedupeKey: "new", ReceivedAt: w.now.UTC()}}
		if _, err := w.store.Accept(t.Context(), []messaging.Plan{plan}); err != nil {
			t.Error(err)
		}
	})
	all := lines[server.EventLine](t, body)
	if last := all[len(all)-1]; !whole || !last.End || last.Rows != 1100 {
		t.Errorf("whole %t, the last line is %+v", whole, last)
	}
}

func TestFewExportsAreUnderWayAtATime(t *testing.T) {
	const most = 4
	w := newTower(t)
	w.fill(3)
	reader := w.token("reader", time.Time{}, access.Read)
	begun, goOn := make(chan struct{}), make(chan struct{})
	ended := make(chan bool, most)
	for range most {
		go func() {
			_, _, whole := w.export(t.Context(), reader.Token, "/events/export", func() { begun <- struct{}{}; <-goOn })
			ended <- whole
		}()
		<-begun
	}
	rec := with(reader.Token, "GET", "/messages/export", "", w.access)
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") != "10" || !bytes.Contains(rec.Body.Bytes(), []byte("4 exports are under way")) {
		t.Errorf("one more: %d %v %s", rec.Code, rec.Header(), rec.Body)
	}
	close(goOn)
	for range most {
		if !<-ended {
			t.Error("one of those before was cut short")
		}
	}
	if rec := with(reader.Token, "GET", "/messages/export", "", w.access); rec.Code != http.StatusOK {
		t.Errorf("after they ended: %d", rec.Code)
	}
}
