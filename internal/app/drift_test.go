package app_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

const driftConfig = `
defaults: {country: GB, language: en}
connectors:
  crm: {verify: {kind: token, from: bearer, secret: "${SHOP_SECRET}"}, event: {type: type, id: id}, map: {phone: customer.phone, first_name: customer.given, order.id: order}}
triggers:
  thanks: {on: crm.order.created, category: utility, mode: shadow, send: {template: x, language: en, variables: ['{{ customer.first_name | default: "there" }}']}}
`

// posted is the body of an order, with the phone under a name.
func posted(phone string) string {
	return `{"type":"order.created","id":"` + phone + `%d","order":"1","customer":{"` + phone + `":"+447700900123","given":"Ada"}}`
}

// drifts are the fields that a sender changed, a line each.
func (h *house) drifts() (out []string) {
	h.t.Helper()
	all, err := server.ListDrift.Call(h.t.Context(), h.ask, drift.Query{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, v := range all {
		line := fmt.Sprintf("%s %s.%s %s %d/%d %d by %s", v.What, v.Connector, v.Kind, v.Path, v.With, v.Of, v.Without, strings.Join(v.ReadBy, ", "))
		if v.Todo {
			line = "todo " + line
		}
		out = append(out, line)
	}
	return out
}

// drifted is the trouble of fields; nil for none.
func (h *house) drifted() *messaging.Trouble {
	h.t.Helper()
	all := h.status().Troubles
	if i := slices.IndexFunc(all, func(t messaging.Trouble) bool { return t.Code == messaging.TroubleDrift }); i >= 0 {
		return &all[i]
	}
	return nil
}

// A week of events, then a field of another name: it is told with the YAML, which pasted and taken up ends it.
func TestASenderThatRenamesAFieldIsTold(t *testing.T) {
	t.Parallel()
	ahead := &atomic.Int64{}
	o := options{config: driftConfig, now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}
	h := open(t, o)
	s := &scene{house: h, ahead: ahead}
	for day := range 6 {
		s.forward(time.Duration(day) * 24 * time.Hour)
		for i := range 5 {
			s.posts("crm", 1, strings.Replace(posted("phone"), "%d", fmt.Sprintf("%d-%d-%%d", day, i), 1))
		}
	}
	s.posts("crm", 9, posted("mobile"))
	h.eventually("all are counted", func() bool { return h.counted() == 39 })
	if got := h.drifts(); len(got) > 0 || h.drifted() != nil {
		t.Fatalf("after nine: %q", got)
	}
	s.posts("crm", 1, strings.Replace(posted("mobile"), "%d", "x%d", 1))
	h.eventually("it is told", func() bool { return h.drifted() != nil })
	want := []string{
		"todo gone crm.order.created customer.phone 30/30 10 by contact.phone, trigger thanks", "new crm.order.created customer.mobile 10/30 0 by ",
	}
	if got := h.drifts(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	told := h.drifted()
	const yaml = `connectors: {crm: {map_for: {order.created: {phone: [customer.mobile, customer.phone]}}}}`
	if told.Subject != "crm.order.created" || told.Severity != messaging.Bad || !strings.Contains(told.Hint, yaml) || !strings.Contains(told.Words, "customer.phone was in 30 of 30 events, and is in none of the 10") {
		t.Errorf("%+v", told)
	}

	h.stop()
	o.folder = h.folder
	h = open(t, o)
	s.house = h
	if h.drifted() == nil {
		t.Error("it is not told after a restart")
	}
	entry := regexp.MustCompile(`map_for: \{.*\}\}`).FindString(strings.TrimSuffix(yaml, "}}"))
	s.takeUp("map: {phone", entry+", map: {phone")
	if told := h.drifted(); told != nil {
		t.Errorf("after the paste: %+v", told)
	}
	h.eventually("the phone is read", func() bool {
		s.posts("crm", 1, strings.Replace(posted("mobile"), "%d", fmt.Sprint(time.Now().UnixNano(), "-%d"), 1))
		events, err := server.ListEvents.Call(t.Context(), h.ask, server.ListQuery{Limit: 1})
		return err == nil && len(events) == 1 && events[0].Phone != ""
	})
}

// counted is how many events of the week had their fields counted.
func (h *house) counted() (n int64) {
	h.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+h.folder+"/nudgewire.db?mode=ro")
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(h.t.Context(), "SELECT coalesce(sum(events), 0) FROM drift_kinds").Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

// What a person takes as it is ends at once, is in the audit, and what comes from then on is the ground. Requests that prove nothing are none, and
// of a connector that left the config nothing is told.
func TestWhatAPersonTakesAsItIs(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: driftConfig})
	s := &scene{house: h, ahead: &atomic.Int64{}}
	s.posts("crm", 25, posted("phone"))
	s.posts("crm", 12, posted("mobile"))
	h.eventually("it is told", func() bool { return h.drifted() != nil })
	got, err := server.AcceptDrift.Call(t.Context(), h.ask, drift.AcceptRequest{Connector: "crm", Kind: "order.created"})
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if h.drifted() != nil || len(h.drifts()) > 0 {
		t.Error("it is still told")
	}
	entries, err := server.ListAudit.Call(t.Context(), h.ask, server.AuditQuery{Limit: 5})
	if err != nil || !slices.ContainsFunc(entries, func(e server.AuditView) bool { return strings.Contains(e.Action, "/connectors/drift/accept") }) {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
	for range 12 {
		if status, _ := h.hook("crm", posted("phone"), "Authorization", "Bearer no"); status != http.StatusUnauthorized {
			t.Fatalf("answered %d", status)
		}
	}
	s.posts("crm", 10, strings.Replace(posted("mobile"), "%d", "n%d", 1))
	h.eventually("what comes from now on is counted", func() bool { return h.counted() == 10 })
	if got := h.drifts(); !slices.Equal(got, []string{"not_enough crm.order.created  0/10 0 by "}) {
		t.Errorf("then %q", got)
	}

	file := filepath.Join(h.folder, "config.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "crm", "other")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := h.drifts(); len(got) > 0 {
		t.Errorf("of a connector that is gone: %q", got)
	}
}
