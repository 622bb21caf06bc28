package app_test

import (
	"crypto/hmac"
	"crypto/sha512"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

// An invented system, as its user would describe it: the time in a second header, the
// signature the hex of HMAC-SHA-512 over time, method and body with bars between them.
const tinBell = `
  tin-bell:
    secret: "${SHOP_SECRET}"
    verify:
      kind: signed
      algorithm: hmac-sha512
      signature: {header: X-Tin-Mark, encoding: hex}
      parts: [timestamp, "'|'", method, "'|'", body]
      timestamp: {header: X-Tin-Time, unit: s, tolerance: 2m}
    items: rings[*]
    event: {type: what, id: id, aliases: {rang: cart.abandoned}}
    map: {phone: who.tel, first_name: who.name, cart.id: basket, cart.total: worth}
`

const tinBellConfig = `
defaults: {country: GB, language: en}
connectors:` + tinBell + `
triggers:
  reminder:
    on: tin-bell.cart.abandoned
    if: cart.total >= 50
    send: {template: cart_reminder, variables: ['{{ customer.first_name }}', '{{ cart.total }}']}
tracking: {poll: [1s]}
`

type ring struct {
	What   string `json:"what"`
	ID     string `json:"id"`
	Basket string `json:"basket"`
	Worth  string `json:"worth"`
	Who    who    `json:"who"`
}

type who struct {
	Tel  string `json:"tel"`
	Name string `json:"name"`
}

func (h *house) rings(at time.Time, rings ...ring) *http.Request {
	h.t.Helper()
	body, err := json.Marshal(map[string]any{"rings": rings})
	if err != nil {
		h.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/tin-bell", strings.NewReader(string(body)))
	if err != nil {
		h.t.Fatal(err)
	}
	unix := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha512.New, []byte(shopSecret))
	fmt.Fprintf(mac, "%s|POST|%s", unix, body)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Tin-Time", unix)
	req.Header.Set("X-Tin-Mark", hex.EncodeToString(mac.Sum(nil)))
	return req
}

func TestASystemThatNobodyHasHeardOfIsAFewLinesOfConfig(t *testing.T) {
	t.Parallel()
	if n := strings.Count(tinBell, "\n") - 1; n >= 15 {
		t.Errorf("the connector is %d lines, want fewer than 15", n)
	}
	h := open(t, options{config: tinBellConfig})
	one := ring{What: "rang", ID: "r1", Basket: "b1", Worth: "75.50", Who: who{"07700 900123", "Ada"}}
	h.mustTake(h.rings(time.Now(), one))
	h.eventually("the message", func() bool { return len(h.service.Messages("447700900123")) == 1 })
	if diff := cmp.Diff([]string{"Ada", "75.50"}, h.service.Messages("447700900123")[0].Variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}

	refused := map[string]struct {
		change func(*http.Request) *http.Request
		reason string
	}{
		"another method": {func(r *http.Request) *http.Request { r.Method = http.MethodPut; return r }, ""},
		"another time": {func(r *http.Request) *http.Request {
			r.Header.Set("X-Tin-Time", strconv.FormatInt(time.Now().Unix()+1, 10))
			return r
		}, "the signature does not match: 1 signature tried against 1 key, body of"},
		"a time of yesterday": {func(*http.Request) *http.Request { return h.rings(time.Now().AddDate(0, 0, -1), one) }, "the timestamp is 24h0m"},
		"no mark":             {func(r *http.Request) *http.Request { r.Header.Del("X-Tin-Mark"); return r }, "there is no header X-Tin-Mark"},
		"half a mark": {func(r *http.Request) *http.Request {
			r.Header.Set("X-Tin-Mark", r.Header.Get("X-Tin-Mark")[:64])
			return r
		}, "the signature does not match"},
	}
	for name, tt := range refused {
		t.Run(name, func(t *testing.T) {
			status, _ := h.do(tt.change(h.rings(time.Now(), one)))
			if status != http.StatusUnauthorized && status != http.StatusMethodNotAllowed {
				t.Errorf("answered %d, want it refused", status)
			}
			if last := rejectedRequests(t, h)[0]; !strings.HasPrefix(last.Reason, tt.reason) || strings.Contains(last.Reason, shopSecret) {
				t.Errorf("kept the reason %q, want %q…", last.Reason, tt.reason)
			}
		})
	}
	if n := len(h.events()); n != 1 {
		t.Errorf("%d events, want the 1 that was right", n)
	}
}

// What a batch costs a sender: one answer, after one commit. Whatever else the daemon writes meanwhile, no commit leaves a part of it.
func TestABatchOf1000IsOneCommitAndOneAnswer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	db, err := sql.Open("sqlite3", "file:"+folder+"/nudgewire.db?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // after the house, whose last commits ask it, too
	var mu sync.Mutex
	var stored []int // events, after each commit that changed their number
	h := open(t, options{config: tinBellConfig, folder: folder, watch: store.Observer{Committed: func(int, time.Duration) {
		var n int
		if err := db.QueryRow(`SELECT count(*) FROM events`).Scan(&n); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(stored) == 0 || stored[len(stored)-1] != n {
			stored = append(stored, n)
		}
	}}})
	const n = 1000
	batch := make([]ring, n)
	for i := range batch {
		batch[i] = ring{What: "looked", ID: "r" + strconv.Itoa(i), Who: who{phone(i), "Ada"}}
	}
	began := time.Now()
	status, body := h.do(h.rings(time.Now(), batch...))
	t.Logf("answered after %s", time.Since(began).Round(time.Millisecond))
	var answer struct {
		Events     []int64 `json:"events"`
		Duplicates int     `json:"duplicates"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("answered %d %s", status, body)
	}
	if len(answer.Events) != n || answer.Duplicates != 0 {
		t.Errorf("%d events and %d duplicates, want %d and 0", len(answer.Events), answer.Duplicates, n)
	}
	s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
	if err != nil || s.Counts["events"] != n {
		t.Errorf("%d events are stored, %v; want %d", s.Counts["events"], err, n)
	}

	// The same again is one more answer and no more events; half of it new, half again.
	if _, body = h.do(h.rings(time.Now(), batch...)); !strings.Contains(body, `"duplicates":1000`) {
		t.Errorf("the same batch again: %s", body[max(0, len(body)-40):])
	}
	for i := range n / 2 {
		batch[i].ID = "new" + strconv.Itoa(i)
	}
	if _, body = h.do(h.rings(time.Now(), batch...)); !strings.Contains(body, `"duplicates":500`) {
		t.Errorf("half of it new: %s", body[max(0, len(body)-40):])
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.Sort(stored); !slices.Equal(slices.Compact(stored), []int{0, n, n + n/2}) { // of two flushers one may look late
		t.Errorf("after its commits the database held %d events", stored)
	}
}

func TestAConnectorThatGoesSilentIsTold(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	silent := strings.Replace(tinBellConfig, "    items:", "    silent_after: 24h\n    items:", 1)
	h := open(t, options{config: silent, folder: folder})
	h.mustTake(h.rings(time.Now(), ring{What: "looked", ID: "r1"}))
	if v := h.view(); len(v.Silent) != 0 || v.LastEvents["tin-bell"].IsZero() {
		t.Errorf("just heard of, and status says %+v", v)
	}
	h.stop()

	// The daemon starts anew, and 26 hours have gone by.
	core, logs := observer.New(zap.WarnLevel)
	h = open(t, options{config: silent, folder: folder, log: zap.New(core), now: func() time.Time { return time.Now().Add(26 * time.Hour) }})
	h.eventually("the daemon to notice", func() bool { return len(h.view().Silent) == 1 })
	words := h.view().Silent[0].Words()
	last := h.view().LastEvents["tin-bell"].Format("2006-01-02 15:04 UTC")
	if want := "tin-bell: nothing for 26h (last " + last + ")"; words != want {
		t.Errorf("status says %q, want %q", words, want)
	}
	told := logs.FilterMessage("a connector is silent").All()
	if len(told) != 1 || told[0].ContextMap()["words"] != words {
		t.Errorf("the log has %v, want one warning of %q", told, words)
	}
}

type statusOfHouse struct {
	Silent     []server.SilentView
	LastEvents map[string]time.Time
}

func (h *house) view() statusOfHouse {
	h.t.Helper()
	s, err := server.ShowStatus.Call(h.t.Context(), h.ask, server.None{})
	if err != nil || s.Daemon == nil {
		h.t.Fatalf("status: %+v, %v", s, err)
	}
	return statusOfHouse{s.Daemon.Silent, s.LastEvents}
}

func TestHowLongAConnectorWasSilent(t *testing.T) {
	text := "api: {base_url: https://api.example.com/api/v1, key: key-of-the-tests}" + strings.Replace(tinBellConfig, "    items:", "    silent_after: 1h\n    items:", 1)
	cfg, problems := config.Parse("config.yaml", []byte(text), testEnv)
	if problems.Errors() > 0 {
		t.Fatal(problems)
	}
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	tests := map[string]struct {
		last, since time.Time
		want        string
	}{
		"heard of a moment ago":          {now.Add(-time.Minute), now.AddDate(0, -1, 0), ""},
		"to the second at its patience":  {now.Add(-time.Hour), now.AddDate(0, -1, 0), ""},
		"a second beyond it":             {now.Add(-time.Hour - time.Second), now, "tin-bell: nothing for 1h (last 2026-11-20 08:29 UTC)"},
		"for two hours and a half":       {now.Add(-150 * time.Minute), now, "tin-bell: nothing for 2h30m (last 2026-11-20 07:00 UTC)"},
		"never heard of, and just begun": {time.Time{}, now.Add(-time.Minute), ""},
		"never heard of for two days":    {time.Time{}, now.AddDate(0, 0, -2), "tin-bell: nothing for 48h (there was none before)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			last := map[string]time.Time{"another": now}
			if !tt.last.IsZero() {
				last["tin-bell"] = tt.last
			}
			got := ""
			for _, v := range app.Silent(cfg.Receivers, last, tt.since, now) {
				got += v.Words()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
