package app_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

const shownConfig = plainConfig + "\nmetrics: {listen: \"127.0.0.1:0\"}\n"

// scraped is what the private listener answers at a path.
func (h *house) scraped(path string) (int, string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, "http://"+h.MetricsAddr().String()+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.do(req)
}

// figure is the value of a line of a scrape, "" where there is none.
func (h *house) figure(name string) string {
	h.t.Helper()
	status, page := h.scraped("/metrics")
	if status != http.StatusOK {
		h.t.Fatalf("answered %d %s", status, page)
	}
	for line := range strings.Lines(page) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// The figures say what happened, in the whole daemon.
func TestFiguresTellWhatHappened(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: shownConfig})
	h.mustTake(h.shopify("orders/create", "w1", order("c1", phone(1), "80.00")))
	h.mustTake(h.shopify("orders/create", "w1", order("c1", phone(1), "80.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(2), "80.00")))
	h.mustTake(h.shopify("checkouts/update", "", cart("c3", phone(3), "10.00")))
	forged := h.shopify("orders/create", "", order("c4", phone(4), "80.00"))
	forged.Header.Set("X-Shopify-Hmac-Sha256", "forged")
	if status, _ := h.do(forged); status != http.StatusUnauthorized {
		t.Fatalf("a forged webhook was answered %d", status)
	}
	stray, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/hooks/"+strings.Repeat("x", 40), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	h.do(stray)
	h.eventually("delivered", func() bool {
		m := h.messages()
		return len(m) == 2 && m[1].Status == messaging.StatusDelivered
	})
	for name, want := range map[string]string{
		`nudgewire_scrape_complete`:                                                              "1",
		`nudgewire_events_total`:                                                                 "3",
		`nudgewire_events_repeated_total`:                                                        "1",
		`nudgewire_webhooks_total{answer="200",connector="shopify"}`:                             "4",
		`nudgewire_webhooks_total{answer="401",connector="shopify"}`:                             "1",
		`nudgewire_webhooks_total{answer="404",connector="(unknown)"}`:                           "1",
		`nudgewire_webhooks_rejected_total{connector="shopify",stage="verify"}`:                  "1",
		`nudgewire_decisions_total{outcome="planned",trigger="thanks"}`:                          "1",
		`nudgewire_decisions_total{outcome="skipped",trigger="reminder"}`:                        "1",
		`nudgewire_messages_waiting{account="api",lane="marketing"}`:                             "1",
		`nudgewire_queue_age_seconds{account="api",lane="marketing"}`:                            "0",
		`nudgewire_messages_ended_total{outcome="accepted"}`:                                     "1",
		`nudgewire_messages_status_total{status="delivered"}`:                                    "1",
		`nudgewire_send_after_due_seconds_count{category="utility"}`:                             "1",
		`nudgewire_send_after_webhook_seconds_count{category="utility"}`:                         "1",
		`nudgewire_api_request_seconds_count{call="send-template",outcome="accepted"}`:           "1",
		`nudgewire_sending_halted{account="api",cause="key"}`:                                    "0",
		`nudgewire_rate_requests_total{account="api",kind="send"}`:                               "1",
		`nudgewire_config_refused`:                                                               "0",
		`nudgewire_webhook_seconds_count`:                                                        "6",
		`nudgewire_connector_silent{connector="shopify"}`:                                        "0",
		`nudgewire_failures_total{class="unknown",state="failed"}`:                               "",
		`nudgewire_decisions_total{outcome="planned",trigger="` + strings.Repeat("x", 40) + `"}`: "",
	} {
		if got := h.figure(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, page := h.scraped("/metrics"); strings.Contains(page, "4477009") || strings.Contains(page, "xxxx") {
		t.Error("a figure shows a phone, or what a stranger wrote")
	}
	if status, _ := h.scraped("/debug/pprof/profile?seconds=1"); status != http.StatusOK {
		t.Errorf("a profile is answered %d", status)
	}
	// A halt, a bad file and a reload are seen in the next scrape.
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	if h.figure(`nudgewire_holds{kind="halt",scope="all"}`) != "1" || h.figure(`nudgewire_troubles{code="halt"}`) != "1" {
		t.Error("a halt is not shown")
	}
	h.edit("thanks:", "danke:")
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := h.figure(`nudgewire_decisions_total{outcome="planned",trigger="thanks"}`); got != "" {
		t.Errorf("a trigger that is gone has %s decisions", got)
	}
	h.edit("danke:", "danke: {}}:")
	if err := h.Reload(t.Context()); err == nil {
		t.Fatal("a broken config was taken")
	}
	if h.figure(`nudgewire_config_reloads_total{outcome="taken"}`) != "1" || h.figure(`nudgewire_config_reloads_total{outcome="refused"}`) != "1" || h.figure("nudgewire_config_refused") != "1" {
		t.Error("reloads are not shown")
	}
}

// The listener of webhooks shows no figures, and without metrics.listen nobody does.
func TestTheHooksListenerShowsNoFigures(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: shownConfig})
	for _, path := range []string{"/metrics", "/debug/pprof/", "/hooks/metrics"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if status, body := h.do(req); status != http.StatusNotFound || strings.Contains(body, "nudgewire_") {
			t.Errorf("%s is answered %d %s", path, status, body)
		}
	}
	if plain := open(t, options{}); plain.MetricsAddr() != nil {
		t.Error("figures are shown though nobody asked for it")
	}
}

// Figures are shown until the last part has stopped; an address that is taken is told with its key.
func TestAnAddressForFiguresThatIsTaken(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	taken, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	h := open(t, options{})
	h.stop()
	h.edit("\nserver:", "\nmetrics: {listen: \""+taken.Addr().String()+"\"}\nserver:")
	_, err = app.New(t.Context(), app.Options{ConfigFile: h.file(), Env: testEnv, Log: zap.NewNop()})
	port, is := errors.AsType[*app.PortError](err)
	if !is || port.Key != "metrics.listen" || !strings.Contains(port.Hint(), "metrics.listen") {
		t.Errorf("the error is %v", err)
	}
}
