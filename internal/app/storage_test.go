package app_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// Where the database is moved away, webhooks are refused, nothing is sent, and the log says it; moved back, all goes on.
func TestADatabaseThatIsMovedAwayIsNotWrittenTo(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	h := open(t, options{log: zap.New(core)})
	path, aside := filepath.Join(h.folder, "nudgewire.db"), filepath.Join(t.TempDir(), "aside")
	ready := func() int {
		t.Helper()
		res, err := http.Get(h.url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode
	}
	if code := ready(); code != http.StatusOK {
		t.Fatalf("/readyz is %d", code)
	}
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	if code, _ := h.do(h.shopify("orders/create", "", numbered(1))); code != http.StatusServiceUnavailable {
		t.Errorf("a webhook is answered %d", code)
	}
	if code := ready(); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz is %d", code)
	}
	h.eventually("a line in the log", func() bool { return logs.FilterMessage("webhooks are rejected and nothing is sent").Len() == 1 })
	if err := os.Rename(aside, path); err != nil {
		t.Fatal(err)
	}
	h.eventually("another line", func() bool { return logs.FilterMessage("the data is back; webhooks are taken again").Len() == 1 })
	h.mustTake(h.shopify("orders/create", "", numbered(2)))
	h.eventually("the message", func() bool { return h.service.Accepted(phone(2)[1:]) == 1 })
	if code := ready(); code != http.StatusOK {
		t.Errorf("back again, /readyz is %d", code)
	}
	h.stop()
	all := logs.FilterMessage("ready").All()
	if len(all) != 1 || all[0].ContextMap()["database"] != path || all[0].ContextMap()["version"] != "test" || len(all[0].ContextMap()["triggers"].([]any)) == 0 || logs.FilterMessage("stopped").Len() != 1 {
		t.Errorf("the log does not say what began and that it ended: %v", all)
	}
}
