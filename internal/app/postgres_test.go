//go:build unix

package app_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/sqlite"
	"github.com/nudgewire/nudgewire/test/testserver"
)

// onPostgres starts a database server that the test may stop, and gives the address of an empty database.
func onPostgres(t *testing.T, flags ...string) (p *testserver.Postgres, address string) {
	t.Helper()
	p = testserver.ForTest(t, append(flags, "fsync=off")...)
	address, err := p.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p, address
}

func TestADatabaseServerThatGoesAndComesBack(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testserver.Postgres) error{"restart": (*testserver.Postgres).Stop, "crash": (*testserver.Postgres).Kill} {
		t.Run(name, func(t *testing.T) {
			p, address := onPostgres(t)
			core, lines := observer.New(zap.ErrorLevel)
			d := newDesk(t)
			alerting := plainConfig + fmt.Sprintf("\nalerts: [{name: ops, when: data for 0s, webhook: %q, allow_private: true}]\n", d.url)
			h := open(t, options{storage: address, log: zap.New(core), config: alerting, alerts: quick})
			if s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{}); err != nil || !strings.HasSuffix(s.Retention.SpaceWords(), " MB on the database server, which fills free space again by itself") {
				t.Errorf("its space is %q, %v", s.Retention.SpaceWords(), err)
			}
			h.mustTake(h.shopify("orders/create", "", order("one", phone(1), "10")))
			h.eventually("the message of the first order is taken", func() bool { return h.service.Accepted(phone(1)[1:]) == 1 })
			if err := end(p); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			res, err := http.DefaultClient.Do(h.shopify("orders/create", "two", another(order("two", phone(2), "10"))))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
				t.Errorf("answered %d, Retry-After %q; want 503 and when to come again", res.StatusCode, res.Header.Get("Retry-After"))
			}
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("the answer took %s", took)
			}
			h.eventually("the log tells", func() bool { return lines.FilterMessage("webhooks are rejected and nothing is sent").Len() > 0 })
			h.eventually("an alert tells", func() bool { d.mu.Lock(); defer d.mu.Unlock(); return len(d.hints) > 0 })
			d.mu.Lock()
			if hint := d.hints[0]; !strings.HasPrefix(hint, "data: look at the database server and the way to it") {
				t.Errorf("the alert's hint is %q; %q", hint, lines.All()[0].ContextMap())
			}
			d.mu.Unlock()
			if err := p.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.eventually("the order is taken when it comes again", func() bool {
				status, _ := h.do(h.shopify("orders/create", "two", another(order("two", phone(2), "10"))))
				return status == http.StatusOK
			})
			h.eventually("its message is taken", func() bool { return h.service.Accepted(phone(2)[1:]) == 1 })
			h.eventually("status is well again", func() bool {
				s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
				return err == nil && s.Daemon.DataError == ""
			})
			if n := lines.FilterMessage("webhooks are rejected and nothing is sent").Len(); n > 2 {
				t.Errorf("the log tells %d times of one outage", n)
			}
			if n := h.service.Accepted(phone(1)[1:]); n != 1 {
				t.Errorf("the first order's message was taken %d times", n)
			}
			if n := len(h.events()); n != 2 {
				t.Errorf("%d events are stored, want 2", n)
			}
		})
	}
}

// A database server that takes connections and answers nothing: senders hear so while it hangs, people are told, and nothing is stored or
// sent twice when it goes on.
func TestADatabaseServerThatHangs(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t)
	w, by := testserver.NewWire(t, address)
	core, lines := observer.New(zap.ErrorLevel)
	h := open(t, options{storage: by, log: zap.New(core)})
	h.mustTake(h.shopify("orders/create", "", order("one", phone(1), "10")))
	h.eventually("the message of the first order is taken", func() bool { return h.service.Accepted(phone(1)[1:]) == 1 })
	w.Hang(true)
	for range 3 { // as a sender does that comes again
		began := time.Now()
		res, err := http.DefaultClient.Do(h.shopify("orders/create", "two", another(order("two", phone(2), "10"))))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		t.Logf("answered %d after %s", res.StatusCode, time.Since(began).Round(time.Millisecond))
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("answered %d, Retry-After %q; want 503 and when to come again", res.StatusCode, res.Header.Get("Retry-After"))
		}
	}
	h.eventually("the log tells", func() bool { return lines.FilterMessage("webhooks are rejected and nothing is sent").Len() > 0 })
	began := time.Now()
	res, err := http.Get(h.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	t.Logf("not ready after %s", time.Since(began).Round(time.Millisecond))
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("readyz answers %d", res.StatusCode)
	}
	began = time.Now()
	_, err = server.ShowStatus.Call(t.Context(), h.ask, server.None{})
	t.Logf("status after %s: %v", time.Since(began).Round(time.Millisecond), err)
	if told, is := errors.AsType[*refusal.Error](err); !is || told.Status != http.StatusServiceUnavailable || !strings.HasPrefix(told.Hint, "look at the database server") {
		t.Errorf("status says %+v", err)
	}
	w.Hang(false)
	h.eventually("the order is taken when it comes again", func() bool {
		status, _ := h.do(h.shopify("orders/create", "two", another(order("two", phone(2), "10"))))
		return status == http.StatusOK
	})
	h.eventually("its message is taken", func() bool { return h.service.Accepted(phone(2)[1:]) == 1 })
	h.eventually("status is well again", func() bool {
		s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
		return err == nil && s.Daemon.DataError == ""
	})
	if n := len(h.events()); n != 2 {
		t.Errorf("%d events are stored, want 2", n)
	}
	for n := range 2 {
		if got := h.service.Accepted(phone(n + 1)[1:]); got != 1 {
			t.Errorf("the message of order %d was taken %d times", n+1, got)
		}
	}
}

// A database server whose connections others have: senders hear so, nothing is sent, people are told what to do, and all goes on by itself
// when there are some again.
func TestADatabaseServerWithoutAConnectionToSpare(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t, "max_connections=30")
	h := open(t, options{storage: address})
	h.mustTake(h.shopify("orders/create", "", order("one", phone(1), "10")))
	h.eventually("the message of the first order is taken", func() bool { return h.service.Accepted(phone(1)[1:]) == 1 })
	second := func() *http.Request { return h.shopify("orders/create", "two", another(order("two", phone(2), "10"))) }
	status := func() (*refusal.Error, bool) {
		_, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
		return errors.AsType[*refusal.Error](err)
	}
	free := testserver.Fill(t, address, func() bool {
		told, is := status()
		return is && strings.Contains(told.Error(), "53300")
	})
	h.eventually("status says what to do", func() bool { // the last connection that was ended may be asked first
		told, is := status()
		return is && told.Status == http.StatusServiceUnavailable && strings.HasPrefix(told.Hint, "raise max_connections of the server")
	})
	for range 3 {
		res, err := http.DefaultClient.Do(second())
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
			t.Errorf("answered %d, Retry-After %q; want 503 and when to come again", res.StatusCode, res.Header.Get("Retry-After"))
		}
	}
	if n := h.service.Accepted(phone(2)[1:]); n != 0 {
		t.Errorf("%d messages of what nobody could store", n)
	}
	free()
	h.eventually("the order is taken when it comes again", func() bool {
		code, _ := h.do(second())
		return code == http.StatusOK
	})
	h.eventually("its message is taken", func() bool { return h.service.Accepted(phone(2)[1:]) == 1 })
	if n := len(h.events()); n != 2 {
		t.Errorf("%d events are stored, want 2", n)
	}
	if n := h.service.Accepted(phone(1)[1:]); n != 1 {
		t.Errorf("the first message was taken %d times", n)
	}
}

func TestAStartWaitsForTheDatabaseServer(t *testing.T) {
	t.Parallel()
	p, address := onPostgres(t)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	core, lines := observer.New(zap.ErrorLevel)
	started := make(chan error, 1)
	go func() {
		for lines.Len() == 0 { // the daemon says that it waits, and only then comes the server
			time.Sleep(5 * time.Millisecond)
		}
		started <- p.Start(t.Context())
	}()
	h := open(t, options{storage: address, await: true, log: zap.New(core)})
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if words := lines.All()[0].Message; !strings.Contains(words, "the database server cannot be reached") {
		t.Errorf("it said %q while it waited", words)
	}
	h.mustTake(h.shopify("orders/create", "", order("one", phone(1), "10")))
	h.eventually("its message is taken", func() bool { return h.service.Accepted(phone(1)[1:]) == 1 })
}

func TestTwoDaemonsOnOneDatabase(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t)
	one := open(t, options{storage: address})
	two := open(t, options{storage: address})
	one.mustTake(one.shopify("orders/create", "", order("one", phone(1), "10")))
	two.mustTake(two.shopify("orders/create", "", another(order("two", phone(2), "10"))))
	one.eventually("both messages are taken, once", func() bool {
		return one.service.Accepted(phone(1)[1:])+two.service.Accepted(phone(1)[1:]) == 1 && one.service.Accepted(phone(2)[1:])+two.service.Accepted(phone(2)[1:]) == 1
	})
	for _, h := range []*house{one, two} {
		if n := len(h.events()); n != 2 {
			t.Errorf("a node shows %d events, want 2", n)
		}
		s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Storage != engine.Name(address) || strings.Contains(s.Storage, "sslmode") {
			t.Errorf("the data is called %q", s.Storage)
		}
	}

	// A third one cannot keep its notes where the first one does.
	_, err := app.New(t.Context(), app.Options{ConfigFile: one.file(), Version: "test", Env: testEnv})
	if _, is := errors.AsType[*sqlite.LockedError](err); !is {
		t.Errorf("two nodes in one folder: %v", err)
	}
	if _, is := errors.AsType[*net.OpError](err); is {
		t.Errorf("it is a matter of the port: %v", err)
	}
}

// Nodes are listed, and those that run different configs are told of until all have the same.
func TestNodesThatRunDifferentConfigs(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t)
	d := newDesk(t)
	alerting := plainConfig + fmt.Sprintf("\nalerts: [{name: ops, when: nodes for 0s, webhook: %q, allow_private: true}]\n", d.url)
	folders := []string{t.TempDir(), t.TempDir()}
	var all []*house
	for _, folder := range folders { // each has a service, and so a config, of its own
		all = append(all, open(t, options{storage: address, config: alerting, folder: folder, alerts: quick, env: func(name string) (string, bool) {
			if name == "NODE_FOLDER" {
				return folder, true
			}
			return testEnv(name)
		}}))
	}
	tells := func(want ...string) {
		t.Helper()
		all[0].eventually(fmt.Sprint("it is told ", want), func() bool { told, _ := d.state(); return slices.Equal(told, want) })
	}
	tells("begun nodes")
	for i, h := range all {
		s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Nodes) != 2 || s.Nodes[0].Own == s.Nodes[1].Own || s.Nodes[0].Leads == s.Nodes[1].Leads || s.Nodes[0].Config == s.Nodes[1].Config {
			t.Fatalf("node %d lists %+v", i, s.Nodes)
		}
		own := s.Nodes[0]
		if !own.Own {
			own = s.Nodes[1]
		}
		if own.Config != s.Daemon.Config || own.Version != "test" || !own.Alive {
			t.Errorf("node %d says of itself %+v", i, own)
		}
		told := slices.IndexFunc(s.Troubles, func(one messaging.Trouble) bool { return one.Code == messaging.TroubleNodes })
		if told < 0 || !strings.Contains(s.Troubles[told].Words, s.Daemon.Config) || s.Troubles[told].Hint == "" {
			t.Errorf("node %d is troubled by %+v", i, s.Troubles)
		}
	}
	text, err := os.ReadFile(all[0].file())
	if err != nil {
		t.Fatal(err)
	}
	same := strings.Replace(string(text), folders[0], `"${NODE_FOLDER}"`, 1)
	for _, h := range all {
		h.write(same)
		if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	tells("begun nodes", "over nodes")
	if s, err := server.ShowStatus.Call(t.Context(), all[0].ask, server.None{}); err != nil || s.Nodes[0].Config != s.Nodes[1].Config {
		t.Errorf("%+v, %v", s.Nodes, err)
	}
}

// Of two daemons one warns of a connector that is silent, and both show it.
func TestOneNodeWarnsOfASilentConnector(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t)
	config := strings.Replace(plainConfig, "secret: \"${SHOP_SECRET}\",", "secret: \"${SHOP_SECRET}\", silent_after: 24h,", 1)
	warned, led := 0, 0
	var passed atomic.Int64 // on the machines
	var all []*house
	var logs []*observer.ObservedLogs
	for range 2 {
		core, lines := observer.New(zap.WarnLevel)
		all = append(all, open(t, options{storage: address, config: config, log: zap.New(core), now: func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }}))
		logs = append(logs, lines)
	}
	passed.Store(int64(26 * time.Hour))
	for i, h := range all {
		app.LookForSilence(h.App)
		s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Daemon.Silent) != 1 {
			t.Errorf("node %d shows %+v", i, s.Daemon.Silent)
		}
		if logs[i].FilterMessage("a connector is silent").Len() > 0 {
			warned++
			for _, n := range s.Nodes {
				if n.Own && n.Leads {
					led++
				}
			}
		}
	}
	if warned != 1 || led != 1 {
		t.Errorf("%d nodes warn, %d of them lead", warned, led)
	}
}

// A standby that need not have all commits takes over under a daemon: webhooks are taken, what was due is in doubt, and a person lets it go on.
func TestAStandbyThatNeedNotHaveAll(t *testing.T) {
	t.Parallel()
	p, address := onPostgres(t)
	standby, err := p.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = standby.Close() })
	both := strings.Replace(address, fmt.Sprint(":", p.Port), fmt.Sprintf(":%d,127.0.0.1:%d", p.Port, standby.Port), 1) + "&target_session_attrs=read-write"
	h := open(t, options{storage: both})
	if _, err := server.Halt.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err != nil {
		t.Fatal(err)
	}
	h.mustTake(h.shopify("orders/create", "", order("one", phone(1), "10"))) // due, and held
	inDatabase := func(dsn, query string) (n int64) {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err == nil {
			err = errors.Join(conn.QueryRow(t.Context(), query).Scan(&n), conn.Close(t.Context()))
		}
		if err != nil {
			t.Log(err)
		}
		return n
	}
	name := address[strings.LastIndexByte(address, '/')+1 : strings.IndexByte(address, '?')]
	h.eventually("the standby has it", func() bool { return inDatabase(standby.DSN(name), `SELECT count(*) FROM messages`) == 1 })
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if inDatabase(standby.DSN("postgres"), `SELECT CASE WHEN pg_promote() THEN 1 ELSE 0 END`) != 1 {
		t.Fatal("the standby does not take over")
	}
	h.eventually("an order is taken", func() bool {
		status, _ := h.do(h.shopify("orders/create", "two", another(order("two", phone(2), "10"))))
		return status == http.StatusOK
	})
	h.eventually("what was due is in doubt", func() bool {
		s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
		return err == nil && s.InDoubt >= 1 && slices.ContainsFunc(s.Troubles, func(one messaging.Trouble) bool { return one.Code == messaging.TroubleReview })
	})
	if _, err := server.Resume.Call(t.Context(), h.ask, server.HaltRequest{Scope: messaging.ScopeAll}); err != nil {
		t.Fatal(err)
	}
	if err := h.reviewed(time.Time{}); err != nil {
		t.Fatal(err)
	}
	third := another(order("three", phone(3), "10"))
	third["id"] = 9007199254740997
	h.mustTake(h.shopify("orders/create", "three", third))
	h.eventually("it sends again", func() bool { return h.service.Accepted(phone(3)[1:]) == 1 })
	if n := h.service.Accepted(phone(1)[1:]); n != 0 {
		t.Errorf("what is in doubt was sent %d times", n)
	}
}

func TestNoPasswordOfTheDatabaseIsShown(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t)
	const password = "pass-of-the-tests"
	address = strings.Replace(address, "nudgewire@", "nudgewire:"+password+"@", 1)
	core, lines := observer.New(zap.DebugLevel)
	h := open(t, options{storage: strings.Replace(address, password, "${DB_PASSWORD}", 1), log: zap.New(core), env: func(name string) (string, bool) {
		return password, name == "DB_PASSWORD"
	}})
	h.edit("/nudgewire_1", "/another_one")
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	s, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Daemon.NeedsRestart) == 0 || !strings.Contains(s.Daemon.NeedsRestart[0], "storage is still postgres://127.0.0.1:") {
		t.Errorf("needs a restart: %q", s.Daemon.NeedsRestart)
	}
	var all strings.Builder
	all.WriteString(strings.Join(s.Daemon.NeedsRestart, "\n"))
	all.WriteString(s.Storage)
	for _, line := range lines.All() {
		all.WriteString(line.Message)
		for _, v := range line.ContextMap() {
			if text, ok := v.(string); ok {
				all.WriteString(text)
			}
		}
	}
	if strings.Contains(all.String(), password) {
		t.Error("the password is shown")
	}
}

// another makes an order one of its own: those of order are one order of the shop.
func another(o map[string]any) map[string]any {
	o["id"] = 9007199254740995
	return o
}
