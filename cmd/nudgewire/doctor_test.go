package main

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

// A ward is a daemon that the doctor comes to, with a pretended service before it.
type ward struct {
	t       *testing.T
	config  string
	url     string
	service *sandbox.Sandbox
	log     *observer.ObservedLogs
	stop    func()
}

// newWard starts a daemon, after what is to be done before.
func newWard(t *testing.T, before ...func(*ward)) *ward {
	t.Helper()
	s := sandbox.New(sandbox.Options{Keys: []string{"key-of-the-tests-1234"}})
	api := httptest.NewServer(s.Handler())
	folder := t.TempDir()
	w := &ward{t: t, config: filepath.Join(folder, "config.yaml"), service: s}
	// The port is chosen by asking for any: the doctor must find it in the config.
	probe := httptest.NewServer(http.NotFoundHandler())
	address := strings.TrimPrefix(probe.URL, "http://")
	probe.Close()
	w.url = "http://" + address
	text := "api: {base_url: \"" + api.URL + "/api/v1\", key: key-of-the-tests-1234}\ndefaults: {country: GB, language: en}\n" +
		"storage: \"sqlite:" + filepath.Join(folder, "n.db") + "\"\nserver: {listen: \"" + address + "\", public_url: \"" + w.url + "\"}\n" +
		"connectors:\n  shopify: {secret: a-long-enough-secret, silent_after: 24h}\n  paypal: {secret: a-long-enough-secret}\n" +
		"jobs:\n  winback: {source: {csv: none.csv}, deliver: per_message, send: {template: thanks}}\n" +
		"triggers:\n  thanks: {on: shopify.order.created, send: {template: thanks}}\n"
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, do := range before {
		do(w)
	}
	core, log := observer.New(zap.DebugLevel)
	w.log = log
	a, err := app.New(t.Context(), app.Options{ConfigFile: w.config, Env: os.LookupEnv, Version: "test", Log: zap.New(core)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the daemon: %v", err)
		}
	})
	t.Cleanup(func() {
		w.stop()
		api.Close()
		s.Close()
	})
	return w
}

// run is one command line, with what it wrote.
func (w *ward) run(args ...string) (code int, out string) {
	w.t.Helper()
	var text bytes.Buffer
	code = execute(w.t.Context(), terminal.Streams{In: strings.NewReader(""), Out: &text, Err: &text}, append(args, "--config", w.config))
	return code, text.String()
}

func (w *ward) wants(out string, lines ...string) {
	w.t.Helper()
	for _, line := range lines {
		if !regexp.MustCompile(`(?m)` + line).MatchString(out) {
			w.t.Errorf("no line like %q in\n%s", line, out)
		}
	}
}

func TestTheDoctorFindsAHealthyDaemonHealthy(t *testing.T) {
	w := newWard(t)
	if code, out := w.run("trigger", "shopify", "--sample", "order"); code != 0 {
		t.Fatalf("trigger ended with %d: %s", code, out)
	}
	if code, out := w.run("trigger", "paypal"); code != 0 {
		t.Fatalf("a token in the URL: trigger ended with %d: %s", code, out)
	}
	code, out := w.run("doctor")
	w.wants(
		out,
		`^ok    config +.*: 2 connectors, 1 trigger$`, `^ok    secrets `, `^ok    listener +http://127.0.0.1:\d+ answers, and takes webhooks$`,
		`^ok    public address `, `^ok    daemon +running for`, `^ok    connector shopify +last event \d+m?s ago`, `^ok    connector paypal `,
		`^ok    database +.*n.db is whole`, `^ok    service +.* answers, and takes the key$`, `^nothing needs attention$`,
	)
	if code != 0 || strings.Contains(out, "bad ") {
		t.Errorf("ended with %d:\n%s", code, out)
	}
}

func TestTheDoctorSaysWhatWasRefusedAndWhy(t *testing.T) {
	w := newWard(t)
	post := func(body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/hooks/shopify", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Shopify-Hmac-Sha256", "AAAA")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusUnauthorized {
			t.Fatalf("answered %d, %v", res.StatusCode, err)
		}
	}
	post(`{"id":1}`)
	code, out := w.run("doctor")
	w.wants(
		out,
		`^note  connector shopify +no event yet$`,
		`^bad   connector shopify +1 rejected within a day, the last \d+m?s ago with 401 at verify: the signature does not match: 1 signature tried against 1 key, body of 8 bytes$`,
		`nudgewire events rejected --connector shopify$`, `^1 thing needs attention$`,
	)
	if code != exit.Failed {
		t.Errorf("ended with %d, want %d", code, exit.Failed)
	}
	if strings.Contains(out, "a-long-enough-secret") {
		t.Error("the secret is in what it says")
	}

	// Once something got through, one refusal before it is only worth a note.
	if code, out := w.run("trigger", "shopify"); code != 0 {
		t.Fatalf("trigger ended with %d: %s", code, out)
	}
	if code, out = w.run("doctor"); code != 0 {
		t.Errorf("ended with %d:\n%s", code, out)
	}
	w.wants(out, `^note  connector shopify +1 rejected within a day`)
}

func TestTheDoctorKnowsAWrongKey(t *testing.T) {
	w := newWard(t)
	text, err := os.ReadFile(w.config)
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(text), "key: key-of", "key: another-key-of", 1)
	if err := os.WriteFile(w.config, []byte(wrong), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := w.run("doctor")
	w.wants(out, `^bad   service +.* refuses the API key$`, `^note  daemon +runs version [0-9a-f]+ of the config, and the file is version [0-9a-f]+$`)
	if code != exit.Failed || strings.Contains(out, "another-key-of") {
		t.Errorf("ended with %d:\n%s", code, out)
	}
}

// write changes the data behind the daemon's back.
func (w *ward) write(statements ...string) {
	w.t.Helper()
	db, err := sql.Open("sqlite3", w.database())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(w.t.Context(), statement); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *ward) database() string { return filepath.Join(filepath.Dir(w.config), "n.db") }

func TestTheDoctorSeesCampaignsThatNeedAHand(t *testing.T) {
	w := newWard(t)
	w.write(
		`INSERT INTO runs (id, job, slot, due_at, cause, source, config, state, reason, before, deliver, campaign, template_id, template, language,
			category, expires, columns, tally, kept, approved, owner, lease_ends, created_at, started_at, ended_at)
			VALUES (1, 'spring', '2026-11-21T10:00', 1, 'cron', 'csv', 'c', 'awaiting_approval', '500% of the last run', '', 'csv', 'Spring', 7, '', '',
			'marketing', 0, '', '{}', 5, '', '', 0, 1, 1, 0)`,
		`INSERT INTO parts (run_id, number, list_id, row_count, bytes, sha256, state, reason, attempt, retry_at, campaign_id, message_ids,
			answer, http_status, updated_at)
			VALUES (1, 1, 1, 5, 50, 'aa', 'in_doubt', 'the answer did not come', 1, 0, '', '', '', 0, 1)`,
	)
	code, out := w.run("doctor")
	w.wants(
		out,
		`^bad   campaigns +1 uploaded file in doubt: somebody must say what became of it$`, `"nudgewire jobs show RUN" the next step$`,
		`^bad   campaigns +run 1 of spring waits to be approved: 500% of the last run$`, `"nudgewire jobs approve 1"`,
	)
	if code != exit.Failed {
		t.Errorf("ended with %d, want %d", code, exit.Failed)
	}
	_, out = w.run("status")
	w.wants(out, `^trouble     run 1 of spring waits to be approved: 500% of the last run$`, `^            1 uploaded file in doubt: somebody must say what became of it$`)
}
