package app_test

import (
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

// due are the times of what waits, soonest first.
func (h *house) due() (all []time.Time) {
	h.t.Helper()
	rows, err := server.ListMessages.Call(h.t.Context(), h.ask, server.ListQuery{State: "waiting"})
	if err != nil {
		h.t.Fatal(err)
	}
	for i := range rows {
		all = append(all, rows[i].DueAt)
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// hasBegun waits until the start is in the history: the daemon notes it when everything runs.
func (h *house) hasBegun() {
	h.t.Helper()
	h.eventually("its start is in the history", func() bool {
		all, err := server.ListVersions.Call(h.t.Context(), h.ask, server.AuditQuery{})
		return err == nil && len(all) == 1
	})
}

// onDisk are the files of the config's folder that are no data, by name.
func (h *house) onDisk() map[string]string {
	h.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(h.folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(d.Name(), ".yaml") {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(h.folder, path)
		found[name] = string(text)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

// What was planned is what is taken up, and a rollback has it as before: the files, what waits, and who did it.
func TestAPlanIsTakenUpAndRolledBack(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: with("migrate")})
	h.hasBegun()
	h.threeCarts()
	files, due := h.onDisk(), h.due()
	first := h.status().Daemon.Config

	h.edit("wait: 1h", "wait: 2h")
	plan, err := server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if plan.Running != first || plan.Version == first || len(plan.Edits) != 1 || plan.Edits[0].Words() != "triggers.reminder.wait: 2h, was 1h" ||
		plan.Edits[0].Means != "It waits for 2 hours, counted from when the event happened." {
		t.Errorf("the plan: %+v", plan)
	}
	same(t, "what waits", words(plan.Waiting, nil), changed["migrate"].before)
	h.edit("cart_reminder", "cart_news")
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{Version: plan.Version}); err == nil || !strings.Contains(err.Error(), "the config files were changed since") {
		t.Errorf("another config than planned: %v", err)
	}
	if now := h.due(); !slices.Equal(now, due) || h.status().Daemon.Config != first {
		t.Errorf("something was changed: %v, config %s", now, h.status().Daemon.Config)
	}
	h.edit("cart_news", "cart_reminder")
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{Version: plan.Version}); err != nil {
		t.Fatal(err)
	}
	for i, at := range h.due() {
		if !at.Equal(due[i].Add(time.Hour)) {
			t.Errorf("due at %v, before %v", at, due[i])
		}
	}

	back, err := server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{Version: first})
	if err != nil || back.Version != first || len(back.Edits) != 1 || back.Edits[0].Words() != "triggers.reminder.wait: 1h, was 2h" {
		t.Errorf("the plan of going back: %+v, %v", back, err)
	}
	edited := h.onDisk()["config.yaml"]
	done, err := server.RollBack.Call(t.Context(), h.ask, server.RollbackRequest{Version: first})
	if err != nil {
		t.Fatal(err)
	}
	if now := h.due(); !slices.Equal(now, due) || done.Daemon.Config != first {
		t.Errorf("due at %v, before %v; config %s", now, due, done.Daemon.Config)
	}
	now := h.onDisk()
	if now["config.yaml"] != files["config.yaml"] || len(now) != 2 || len(done.Kept) != 1 || now[filepath.Base(done.Kept[0])] != edited || !strings.HasPrefix(filepath.Base(done.Kept[0]), ".") {
		t.Errorf("files %v, kept %v", now, done.Kept)
	}
	all, err := server.ListVersions.Call(t.Context(), h.ask, server.AuditQuery{})
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	if all[0].How != "rollback" || all[0].Version != first || all[0].Who == "" || all[0].Edits[0].Words() != "triggers.reminder.wait: 1h, was 2h" || all[1].How != "reload" || all[2].How != "start" {
		t.Errorf("history %+v", all)
	}
	if _, err := server.RollBack.Call(t.Context(), h.ask, server.RollbackRequest{Version: "0123456789ab"}); err == nil || !strings.Contains(err.Error(), "no files of a config") {
		t.Errorf("one that was never used: %v", err)
	}
}

// A pinned rule moves nobody.
func TestAPlanOfAPinnedRuleMovesNobody(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: with("pin")})
	h.threeCarts()
	due := h.due()
	h.edit("wait: 1h", "wait: 2h")
	plan, err := server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{})
	same(t, "what waits", words(plan.Waiting, err), changed["pin"].before)
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{Version: plan.Version}); err != nil || !slices.Equal(h.due(), due) {
		t.Errorf("%v: due at %v, before %v", err, h.due(), due)
	}
}

// Of several files each is as it was: one that came since is taken away, one that went is there again, and a secret that stands in them is found in
// those of today, wherever it stands there.
func TestARollbackOfSeveralFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rule := func(name string) string {
		return "triggers:\n  " + name + ": {on: shopify.cart.updated, wait: 1h, send: {template: t}}\n"
	}
	put("more/a.yaml", rule("a"))
	put("more/b.yaml", rule("b"))
	config := strings.Replace(plainConfig, `"${SHOP_SECRET}"`, "literal-shop-secret-1234567890", 1) + "include: [\"more/*\"]\n"
	h := open(t, options{folder: folder, config: config})
	first, files := h.status().Daemon.Config, h.onDisk()

	if err := os.Remove(filepath.Join(folder, "more/a.yaml")); err != nil {
		t.Fatal(err)
	}
	put("more/b.yaml", rule("b2"))
	put("more/c.yaml", rule("c")+"connectors: {other: {preset: shopify, secret: literal-shop-secret-1234567890}}\n")
	h.edit("secret: literal-shop-secret-1234567890", "secret: another-shop-secret-1234567890")
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	done, err := server.RollBack.Call(t.Context(), h.ask, server.RollbackRequest{Version: first})
	if err != nil {
		t.Fatal(err)
	}
	now := h.onDisk()
	for name := range now {
		if strings.HasPrefix(filepath.Base(name), ".") {
			delete(now, name)
		}
	}
	if len(now) != len(files) || now["config.yaml"] != files["config.yaml"] || now["more/a.yaml"] != files["more/a.yaml"] || now["more/b.yaml"] != files["more/b.yaml"] {
		t.Errorf("files %v, want %v", now, files)
	}
	if len(done.Wrote) != 3 || len(done.Removed) != 1 || len(done.Kept) != 3 || done.Daemon.Config != first {
		t.Errorf("done %+v", done)
	}

	// Once nothing of today has the secret, nothing is changed, and the line is named.
	put("more/c.yaml", rule("c"))
	h.edit("secret: literal-shop-secret-1234567890", "secret: third-shop-secret-1234567890")
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	before := h.onDisk()
	_, err = server.RollBack.Call(t.Context(), h.ask, server.RollbackRequest{Version: first})
	if err == nil || !strings.Contains(err.Error(), "had 1 secret written into it that today's files do not have") || !strings.Contains(err.Error(), "config.yaml:") || strings.Contains(err.Error(), "literal") {
		t.Errorf("without the secret: %v", err)
	}
	if _, err := server.PlanConfig.Call(t.Context(), h.ask, server.PlanRequest{Version: first}); err == nil {
		t.Error("the plan does not say so")
	}
	if now := h.onDisk(); len(now) != len(before) || now["config.yaml"] != before["config.yaml"] {
		t.Errorf("files %v, were %v", now, before)
	}
	kept, err := server.ShowVersion.Call(t.Context(), h.ask, first)
	if err != nil || len(kept.Files) != 3 || strings.Contains(strings.Join(kept.Files[0].Lines, "\n"), "literal") {
		t.Errorf("%+v, %v", kept, err)
	}
}

// withoutItsInclude is a daemon that took up its config without the file that it included first. first is the version with it, more the folder of that file.
func withoutItsInclude(t *testing.T) (h *house, first, more string) {
	t.Helper()
	folder := t.TempDir()
	more = filepath.Join(folder, "more")
	if err := os.Mkdir(more, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(more, "a.yaml"), []byte("triggers: {a: {on: shopify.cart.updated, wait: 1h, send: {template: t}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h = open(t, options{folder: folder, config: plainConfig + "include: [more/a.yaml]\n"})
	first = h.status().Daemon.Config
	h.edit("include: [more/a.yaml]\n", "")
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	return h, first, more
}

// Where the files cannot be written, nothing is changed.
func TestARollbackThatCannotBeWrittenChangesNothing(t *testing.T) {
	t.Parallel()
	h, first, more := withoutItsInclude(t)
	if err := os.RemoveAll(more); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(more, nil, 0o600); err != nil { // a file where the folder was
		t.Fatal(err)
	}
	before, running := h.onDisk(), h.status().Daemon.Config
	_, err := server.RollBack.Call(t.Context(), h.ask, server.RollbackRequest{Version: first})
	no, is := errors.AsType[*refusal.Error](err)
	if !is || !strings.Contains(no.Words, "cannot be written here, and nothing was changed: ") || !strings.Contains(no.Words, "a.yaml") || !strings.Contains(no.Hint, "nudgewire config show "+first) {
		t.Errorf("it says %+v", err)
	}
	if now := h.onDisk(); len(now) != len(before) || now["config.yaml"] != before["config.yaml"] || h.status().Daemon.Config != running {
		t.Errorf("files %v, were %v", now, before)
	}
}

// Files that were changed and are not taken up are told after a while, and no more once they are what is in use.
func TestFilesThatAreNotTakenUpAreTold(t *testing.T) {
	t.Parallel()
	clock := newHandClock()
	h := open(t, options{config: plainConfig, now: clock.now})
	trouble := func() (words string) {
		for _, one := range h.status().Troubles {
			if one.Code == messaging.TroubleConfig {
				words += one.Words
			}
		}
		return words
	}
	h.edit("wait: 1h", "wait: 2h")
	app.LookAtConfigFile(h.App)
	if words := trouble(); words != "" {
		t.Errorf("at once: %s", words)
	}
	clock.on(11 * time.Minute)
	app.LookAtConfigFile(h.App)
	if words := trouble(); !strings.HasPrefix(words, "the config files were changed and not taken up: they are config ") {
		t.Errorf("after 11 minutes: %q", words)
	}
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if words := trouble(); words != "" {
		t.Errorf("taken up: %s", words)
	}
}

// In the browser it is seen what an earlier config had otherwise, and one goes back to it.
func TestTheConfigPageGoesBack(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: withPages(plainConfig)})
	h.hasBegun()
	first := h.status().Daemon.Config
	h.edit("cart.total >= 50", "cart.total >= 55")
	if _, err := server.Reload.Call(t.Context(), h.ask, server.ReloadRequest{}); err != nil {
		t.Fatal(err)
	}
	b := h.browser()
	b.signIn(false)
	b.says(b.page("/config"), "triggers.reminder.if: ", "Go back to it…", "compare")
	b.says(b.page("/config?version="+first), "Config "+first+" and the one in use", "cart.total &gt;= 50", "cart.total &gt;= 55")
	asks := b.send(http.MethodPost, "/do/rollback", url.Values{"version": {first}, "back": {"/config"}}, nil)
	b.says(asks.body, "Go back to config "+first+"?", "cart.total &gt;= 50")
	done := b.send(http.MethodPost, "/do/rollback", url.Values{"version": {first}, "sure": {"yes"}, "back": {"/config"}}, nil)
	b.says(done.body, "Config "+first+" is in use again", "went back")
	viewer := h.browser()
	viewer.signIn(true)
	if res := viewer.send(http.MethodPost, "/do/rollback", url.Values{"version": {first}, "sure": {"yes"}, "back": {"/config"}}, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer goes back: %d", res.StatusCode)
	}
}
