package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// states are those of all messages, by number.
func (h *house) states() (out []messaging.State) {
	h.t.Helper()
	all := h.messages()
	slices.SortFunc(all, func(a, b server.MessageView) int { return int(a.ID - b.ID) })
	for _, m := range all {
		out = append(out, m.State)
	}
	return out
}

// show is a message with all that is known of it.
func (h *house) show(id messaging.MessageID) server.MessageView {
	h.t.Helper()
	m, err := server.ShowMessage.Call(h.t.Context(), h.ask, strconv.FormatInt(int64(id), 10))
	if err != nil {
		h.t.Fatal(err)
	}
	return m
}

// A limit of the config holds over triggers, its numbers are told, and what waits obeys a reload at once.
func TestALimitPutsOffAndAReloadThatLiftsItLetsGo(t *testing.T) {
	t.Parallel()
	const limited = "language: en, limit: 1 per 6h}"
	config := strings.NewReplacer("wait: 1h", "wait: 1s", "language: en}", limited).Replace(plainConfig)
	h := open(t, options{config: config})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	h.eventually("the first is accepted", func() bool { return slices.Equal(h.states(), []messaging.State{messaging.StateAccepted}) })
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(1), "61.00")))
	deferred := func() bool { return len(h.messages()) == 2 && len(h.show(2).Verdicts) == 1 }
	h.eventually("the second is put off", deferred)
	m := h.show(2)
	v := m.Verdicts[0]
	if m.State != messaging.StateWaiting || v.Rule != "limit" || v.Action != messaging.DeferSend || v.Until.IsZero() || !v.Until.Equal(m.DueAt) ||
		!strings.Contains(v.Reason, "1 of 1 per 6h was sent to this contact") || m.FirstDue.IsZero() || !m.DueAt.After(time.Now().Add(5*time.Hour)) {
		t.Errorf("the second: %+v", m)
	}
	if s := h.status(); s.Deferred != 1 || !slices.Equal(s.Rules, []server.RuleCountView{{Rule: "limit", Action: messaging.DeferSend, Times: 1}}) {
		t.Errorf("status: %d deferred, rules %+v", s.Deferred, s.Rules)
	}
	h.edit(limited, "language: en, limit: 1 per 12h}")
	h.reload()
	h.eventually("a longer limit holds at once", func() bool { return len(h.show(2).Verdicts) == 2 })
	if m := h.show(2); !m.DueAt.After(time.Now().Add(11 * time.Hour)) {
		t.Errorf("by the longer limit: %+v", m)
	}
	h.edit("language: en, limit: 1 per 12h}", "language: en}")
	h.reload()
	h.eventually("both are accepted", func() bool {
		return slices.Equal(h.states(), []messaging.State{messaging.StateAccepted, messaging.StateAccepted})
	})
}

// Two triggers and two jobs mean one phone. Two messages a day are allowed, so two arrive, and each of the others
// says why it did not, with the numbers.
func TestFourSendersShareOneLimit(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	rows := "mobile,first_name\n" + phone(1) + ",Ann\n" + phone(2) + ",Bea\n"
	if err := os.WriteFile(filepath.Join(folder, "list.csv"), []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	const limited = `
defaults: {country: GB, language: en, limit: 2 per 24h}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
triggers:
  cart:
    on: shopify.cart.updated
    send: {template: cart_reminder}
  thanks:
    on: shopify.order.created
    send: {template: order_thanks}
jobs:
  rows:
    source: {csv: "FOLDER/list.csv"}
    columns: {phone: mobile, var_1: first_name}
    deliver: per_message
    send: {template: winback, language: en}
  file:
    source: {csv: "FOLDER/list.csv"}
    columns: {phone: mobile, var_1: first_name}
    campaign: {name: Winback, template_id: 1042}
`
	h := open(t, options{folder: folder, config: strings.ReplaceAll(limited, "FOLDER", folder)})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	h.mustTake(h.shopify("orders/create", "", order("c9", phone(1), "60.00")))
	h.eventually("both triggers sent", func() bool {
		return slices.Equal(h.states(), []messaging.State{messaging.StateAccepted, messaging.StateAccepted})
	})
	if _, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "rows"}); err != nil {
		t.Fatal(err)
	}
	h.eventually("one row is sent, the other is put off", func() bool {
		all := h.states()
		return len(all) == 4 && all[3] == messaging.StateAccepted && len(h.show(3).Verdicts) == 1
	})
	if v := h.show(3).Verdicts[0]; v.Rule != "limit" || !strings.Contains(v.Reason, "2 of 2 per 24h were sent to this contact") ||
		!strings.Contains(v.Reason, "by cart") || !strings.Contains(v.Reason, "by thanks") {
		t.Errorf("the row says %+v", v)
	}
	started, err := server.RunJob.Call(t.Context(), h.ask, server.JobOrder{Job: "file"})
	if err != nil {
		t.Fatal(err)
	}
	var file server.RunView
	h.eventually("the file of the second phone left", func() bool {
		file, err = server.ShowRun.Call(t.Context(), h.ask, started.ID)
		return err == nil && file.Waits == messaging.WaitLimits && len(file.Parts) == 2 && file.Parts[0].State == messaging.PartAccepted
	})
	if open := file.Parts[1]; file.Parts[0].Rows != 1 || open.State != messaging.PartWaiting || open.Rows != 1 || !strings.Contains(open.Reason, "2 of 2 per 24h were sent to this contact") {
		t.Errorf("the file's parts are %+v", file.Parts)
	}
	// The second phone had a row and a place in the file: a third message is one too many.
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(2), "60.00")))
	h.eventually("a cart of the second phone is put off", func() bool { return len(h.states()) == 5 && len(h.show(5).Verdicts) == 1 })
	if v := h.show(5).Verdicts[0]; !strings.Contains(v.Reason, "by rows") || !strings.Contains(v.Reason, "by file") {
		t.Errorf("the cart says %+v", v)
	}
	if s := h.service.Stats(); s.Messages != 4 || s.Duplicates != 0 {
		t.Errorf("the service counts %+v", s)
	}
}

// The file of holidays decides as the config does, so an edit of it is another version, known before and after a reload.
func TestAnEditOfTheHolidaysIsAnotherVersion(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	days := filepath.Join(folder, "days.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(days, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("2020-12-25\n")
	config := strings.NewReplacer("wait: 1h", "wait: 1s", "language: en}", "language: en, quiet_hours: {holidays: days.txt}}").Replace(plainConfig)
	h := open(t, options{folder: folder, config: config})
	first := h.status().Daemon.Config
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(1), "60.00")))
	h.eventually("a message goes on a working day", func() bool { return slices.Equal(h.states(), []messaging.State{messaging.StateAccepted}) })
	today := time.Now().UTC()
	write(today.AddDate(0, 0, -1).Format(time.DateOnly) + "\n" + today.Format(time.DateOnly) + "\n" + today.AddDate(0, 0, 1).Format(time.DateOnly) + "\n")
	h.reload()
	second := h.status().Daemon.Config
	if second == first {
		t.Fatalf("the version is %s before and after", first)
	}
	h.mustTake(h.shopify("checkouts/update", "", cart("c2", phone(2), "61.00")))
	h.eventually("a message is held on a holiday", func() bool {
		return len(h.messages()) == 2 && (len(h.show(2).Verdicts) == 1 || h.show(2).State == messaging.StateDropped)
	})
	write("2020-12-25\n")
	h.reload()
	if third := h.status().Daemon.Config; third != first {
		t.Errorf("with the same days again the version is %s, want %s", third, first)
	}
}
