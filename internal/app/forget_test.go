package app_test

import (
	"database/sql"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/zeebo/xxh3"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A tracer finds what is stored of a phone, in whatever form: as text in any notation, compressed, in a web form, in base64,
// as a number, and as the hash that files of runs are known by.
type tracer struct {
	home   string // the digits behind the country's code
	binary [][]byte
}

func newTracer(phone string) tracer {
	digits := strings.TrimPrefix(phone, "+")
	at := tracer{home: digits[2:]}
	var n uint64
	_, _ = fmt.Sscan(digits, &n)
	var hashed []byte
	for _, part := range []string{"contact", digits} {
		hashed = append(binary.AppendUvarint(hashed, uint64(len(part))), part...)
	}
	at.binary = [][]byte{
		binary.BigEndian.AppendUint64(nil, n), binary.LittleEndian.AppendUint64(nil, n), binary.AppendUvarint(nil, n),
		binary.BigEndian.AppendUint64(nil, xxh3.Hash(hashed)),
	}
	return at
}

// readings are what bytes can be read as.
func readings(b []byte) (all []string) {
	text := string(b)
	all = append(all, text)
	if len(b) > 1 && b[0] == 1 { // as package store writes it
		if plain, err := s2.Decode(nil, b[1:]); err == nil {
			all = append(all, string(plain))
		}
	}
	for _, one := range all {
		if plain, err := url.QueryUnescape(one); strings.ContainsAny(one, "%+") && err == nil {
			all = append(all, plain)
		}
		if plain, err := base64.StdEncoding.DecodeString(one); err == nil {
			all = append(all, string(plain))
		}
	}
	return all
}

// in looks at the digits alone, whatever stands between them.
func (a tracer) in(b []byte) bool {
	for _, text := range readings(b) {
		for _, n := range a.binary {
			if strings.Contains(text, string(n)) {
				return true
			}
		}
		digits := make([]byte, 0, len(text))
		for _, c := range []byte(strings.ReplaceAll(text, `\u00a0`, " ")) {
			if '0' <= c && c <= '9' {
				digits = append(digits, c)
			}
		}
		if strings.Contains(string(digits), a.home) {
			return true
		}
	}
	return false
}

// stored lists where a daemon's data tells of the phone: every column of every table, and every file but its config.
func (h *house) stored(phone string) (found []string) {
	h.t.Helper()
	trace := newTracer(phone)
	db, err := sql.Open("sqlite3", "file:"+h.folder+"/nudgewire.db?mode=ro")
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	ask := func(query string, each func(columns []string, row []any)) {
		h.t.Helper()
		rows, err := db.QueryContext(h.t.Context(), query)
		if err != nil {
			h.t.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			h.t.Fatal(err)
		}
		for rows.Next() {
			row, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range row {
				into[i] = &row[i]
			}
			if err := rows.Scan(into...); err != nil {
				h.t.Fatal(err)
			}
			each(columns, row)
		}
		if err := rows.Err(); err != nil {
			h.t.Fatal(err)
		}
	}
	var tables []string
	ask(`SELECT name FROM sqlite_master WHERE type = 'table'`, func(_ []string, row []any) { tables = append(tables, fmt.Sprint(row[0])) })
	for _, table := range tables {
		ask(`SELECT * FROM "`+table+`"`, func(columns []string, row []any) {
			for i, v := range row {
				b, ok := v.([]byte)
				if !ok {
					b = fmt.Append(nil, v)
				}
				if trace.in(b) {
					found = append(found, table+"."+columns[i])
				}
			}
		})
	}
	err = filepath.WalkDir(h.folder, func(path string, one fs.DirEntry, err error) error {
		if err != nil || !one.Type().IsRegular() || path == h.file() {
			return err
		}
		b, err := os.ReadFile(path)
		if trace.in(b) {
			found = append(found, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// forget has contacts forgotten, and waits until it is done.
func (h *house) forget(phones ...string) {
	h.t.Helper()
	if a, err := server.ForgetContacts.Call(h.t.Context(), h.ask, server.ForgetRequest{Phones: phones}); err != nil || a.Ordered != len(phones) {
		h.t.Fatalf("forget: %+v, %v", a, err)
	}
	h.forgotten(phones...)
}

func (h *house) forgotten(phones ...string) {
	h.t.Helper()
	for _, p := range phones {
		h.eventually("it is forgotten", func() bool {
			v, err := server.ShowContact.Call(h.t.Context(), h.ask, p)
			if err != nil {
				h.t.Fatal(err)
			}
			return !v.ForgottenAt.IsZero() && v.Forgetting == ""
		})
	}
	// The last step, the file that is written anew, comes when the order is gone.
	h.eventually("nothing is left between the rows", func() bool { return h.rewritten() })
}

func (h *house) rewritten() (done bool) {
	h.t.Helper()
	db, err := sql.Open("sqlite3", "file:"+h.folder+"/nudgewire.db?mode=ro")
	if err != nil {
		h.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(h.t.Context(), `SELECT count(*) = 0 FROM counters WHERE name = 'forgetting/rewrite' AND value <> 0`).Scan(&done); err != nil {
		h.t.Fatal(err)
	}
	return done
}

// forgetConfig has senders of several shapes, a trigger of each category, and three jobs: files in parts, row by row, and one
// that is held.
func forgetConfig(lists string) string {
	source := "    source: {csv: " + lists + "/list.csv}\n    columns: {phone: mobile, var_1: first_name}\n"
	return `
defaults: {country: GB, language: en}
connectors:
  shopify: {secret: "${SHOP_SECRET}", defaults: {country: GB}}
  forms: {preset: jotform, secret: "${SHOP_SECRET}"}
  crm: {verify: {kind: token, from: header, field: X-Token, secret: "${SHOP_SECRET}"}, event: {type: type, id: id, time: at}, map: {phone: phone, name: name}}
triggers:
  thanks:
    on: shopify.order.created
    category: utility
    send: {template: order_update, variables: ['{{ customer.first_name | default: "there" }}', 'Call {{ customer.phone }}']}
  reminder: {on: shopify.cart.updated, wait: 1h, cancel_on: shopify.order.created, send: {template: cart_reminder, variables: ['{{ customer.name }}']}}
  form: {on: forms.form.submitted, if: customer.phone != "+447700900998", send: {template: form, variables: ['{{ customer.first_name | default: "you" }}']}}
  deal: {on: crm.deal.won, key: raw.id, cancel_on: crm.deal.lost, send: {template: deal, variables: ['{{ raw.note }}']}}
jobs:
  files:
` + source + `    campaign: {template_id: 1042}
    max_size: 1kB
  rows:
` + source + `    deliver: per_message
    send: {template: winback}
  held:
` + source + `    campaign: {template_id: 1042}
    guard: {approve_over: 1}
tracking: {poll: [1s]}
`
}

// form is a form as Jotform posts it.
func (h *house) form(id, phone, note string) *http.Request {
	h.t.Helper()
	values := url.Values{"formID": {"1"}, "submissionID": {id}, "rawRequest": {fmt.Sprintf(`{"q3_name":{"first":"Ada"},"q4_phoneNumber":{"full":%q},"q9":%q}`, phone, note)}}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/forms?token="+shopSecret, strings.NewReader(values.Encode()))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return req
}

// A program that reads the database all the time keeps the last step of forgetting back: it is told, and tried again.
func TestForgettingTriesItsLastStepAgain(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: plainConfig})
	h.mustTake(h.shopify("checkouts/update", "", cart("c1", phone(0), "60.00")))
	db, err := sql.Open("sqlite3", "file:"+h.folder+"/nudgewire.db?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	reader, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRowContext(t.Context(), `SELECT count(*) FROM events`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ForgetContacts.Call(t.Context(), h.ask, server.ForgetRequest{Phones: []string{phone(0)}}); err != nil {
		t.Fatal(err)
	}
	const waits = "the database to be written anew"
	h.eventually("the last step waits", func() bool {
		v, err := server.ShowContact.Call(t.Context(), h.ask, phone(0))
		return err == nil && v.Forgetting == waits
	})
	if v, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{}); err != nil || !strings.HasSuffix(v.ForgettingRest, waits) {
		t.Errorf("status says %q (%v)", v.ForgettingRest, err)
	}
	time.Sleep(12 * time.Second) // the log is tried to be emptied for 10 s at the most
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !h.rewritten(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it was not tried again")
		}
	}
	h.forgotten(phone(0))
}

// A thousand events, three runs and an export later a contact is forgotten: nothing that is stored can be read as its phone,
// and it stays blocked, with the reason, over a restart.
func TestNothingStoredCanBeReadAsAForgottenPhone(t *testing.T) {
	t.Parallel()
	began := time.Now()
	lists := t.TempDir()
	const gone = "+447700900123"
	o := options{folder: t.TempDir(), config: forgetConfig(lists)}
	h := open(t, o)
	var text strings.Builder
	text.WriteString("first_name,mobile\n")
	for i := range 120 {
		number := phone(i)
		switch i % 40 {
		case 7:
			number = []string{"07700 900123", gone, "+44 (0)7700-900123"}[i/40]
		case 9:
			number = "0044 7700 900123 ext" // cannot be read, and is told with what stands there
		}
		fmt.Fprintf(&text, "Ada %d,%s\n", i, number)
	}
	if err := os.WriteFile(filepath.Join(lists, "list.csv"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	events := 0
	post := func(requests ...*http.Request) {
		t.Helper()
		var all sync.WaitGroup
		work := make(chan *http.Request)
		for range 8 {
			all.Go(func() {
				for req := range work {
					res, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Error(err)
						continue
					}
					_ = res.Body.Close()
					if res.StatusCode != http.StatusOK {
						t.Errorf("%s answered %d", req.URL.Path, res.StatusCode)
					}
				}
			})
		}
		for _, req := range requests {
			work <- req
		}
		close(work)
		all.Wait()
		events += len(requests)
	}
	var first, then []*http.Request
	for i := range 250 {
		number := phone(i)
		if i%4 == 0 {
			number = []string{"07700 900123", gone, "+44 7700 900 123"}[i/4%3]
		}
		c := cart(fmt.Sprint("c", i), number, "60.00")
		if i%10 == 3 { // a friend's cart names it
			c["note"] = "a present, call 07700/900 123 or https://shop.example/t?to=%2B447700900123"
			c["shipping_address"] = map[string]any{"phone": "07700 900123", "first_name": "Ada", "country_code": "GB"}
		}
		first = append(first, h.shopify("checkouts/update", "", c))
		o := order(fmt.Sprint("c", i), number, "60.00")
		o["id"] = 1000 + i
		o["customer"] = map[string]any{"first_name": "Ada +44 7700 900123", "last_name": "Byrne"}
		then = append(then, h.shopify("orders/create", "", o))
		first = append(first, h.form(fmt.Sprint(i), number, "call 07700\u00a0900123"))
		kind, id := "deal.won", fmt.Sprint("d", i, " of 447700900123")
		if i%5 == 0 {
			kind = "deal.lost"
		}
		body, err := json.Marshal(map[string]any{"type": kind, "id": id, "phone": number, "at": time.Now().UTC(), "note": "ring 0044 7700 900123", "digits": 447700900123, "name": "Ada"})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/hooks/crm", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Token", shopSecret)
		first = append(first, req)
	}
	post(first...)
	post(then...)
	if events != 1000 {
		t.Fatalf("%d events", events)
	}
	for _, body := range []string{`{"phone":"+447700900123"`, "phone=%2B44+7700+900123"} { // cut off, and forged
		req := h.signed("orders/create", "", []byte(body))
		if strings.HasPrefix(body, "phone") {
			req.Header.Set("X-Shopify-Hmac-Sha256", "bm9uZQ==")
		}
		if status, _ := h.do(req); status == http.StatusOK {
			t.Errorf("%s was taken", body)
		}
	}
	// A config that names it, and one after it that does not.
	h.edit("+447700900998", gone)
	h.reload()
	h.mustTake(h.form("f1", phone(1), "x")) // a clause that names it, in a decision about another
	h.edit(gone, "+447700900998")
	h.reload()
	if _, err := server.RecordConsents.Call(t.Context(), h.ask, server.ConsentRequest{Rows: []server.ConsentRow{{Phone: gone, Consent: messaging.ConsentGiven, Proof: "said so by " + gone}}}); err != nil {
		t.Fatal(err)
	}
	files, rows, held := h.fire("files"), h.fire("rows"), h.fire("held")
	if files.State != messaging.RunDone || len(files.Parts) < 2 || rows.State != messaging.RunDone || held.State != messaging.RunAwaiting {
		t.Fatalf("the runs are %s with %d parts, %s and %s", files.State, len(files.Parts), rows.State, held.State)
	}
	exported := h.export(files.ID)
	data, err := server.ShowContactData.Call(t.Context(), h.ask, gone)
	if err != nil || len(exported) == 0 || len(data.Stories) < 100 || len(data.Payloads) < 100 {
		t.Fatalf("exported %d rows, %d stories, %d payloads: %v", len(exported), len(data.Stories), len(data.Payloads), err)
	}
	h.eventually("messages have left", func() bool { s := h.status(); return s.Sending == 0 && h.service.Accepted(gone[1:]) > 20 })
	before := h.stored(gone)
	for _, place := range []string{
		"events.content", "decisions.reason", "events.phone", "events.dedupe_key", "messages.phone", "messages.send", "messages.correlation_key", "messages.phone", "configs.text", "consents.phone",
		"list_rows.phone", "tombstones.correlation_key",
	} {
		if !slices.Contains(before, place) {
			t.Errorf("the test is weak: %s does not hold it", place)
		}
	}

	h.forget("07700 900123")
	if found := h.stored(gone); len(found) > 0 {
		t.Errorf("it stands in %s", strings.Join(found, ", "))
	}
	// Another's data is still there.
	if len(h.stored(phone(1))) < 5 {
		t.Errorf("of another there is only %s", h.stored(phone(1)))
	}
	refused := func() {
		t.Helper()
		next := order("again", gone, "60.00")
		next["id"] = time.Now().UnixNano()
		h.mustTake(h.shopify("orders/create", "", next))
		var m server.MessageView
		h.eventually("the thanks end", func() bool {
			m = h.messages()[0]
			return m.Phone == messaging.Phone(gone[1:]) && m.State.Final()
		})
		if m.State != messaging.StateDropped || m.Reason != "the contact is blocked: it was forgotten" {
			t.Errorf("a new event leads to %s, %q", m.State, m.Reason)
		}
	}
	refused()
	h.stop()
	h = open(t, o)
	refused()
	// The run that was held goes out without it.
	if _, err := server.ApproveRun.Call(t.Context(), h.ask, held.ID); err != nil {
		t.Fatal(err)
	}
	if r := h.ended(held.ID); r.State != messaging.RunDone || h.service.Stats().Messages < 50 {
		t.Errorf("approved, the held run is %s with %d messages: %s", r.State, h.service.Stats().Messages, r.Reason)
	}
	if n := h.service.Accepted(gone[1:]); n > 0 {
		t.Errorf("%d messages after it was forgotten", n)
	}
	h.forget(gone)
	if found := h.stored(gone); len(found) > 0 {
		t.Errorf("the second time it stands in %s", strings.Join(found, ", "))
	}
	t.Logf("took %s", time.Since(began).Round(time.Millisecond))
}

// A run that sends row by row and of which somebody is forgotten: who waits is called off, who is in doubt is given up, who was sent to stays
// counted; the rows of files, and what jobs export tells, name none of them; the rest goes on, and a retry brings none of them back.
func TestForgettingInARunThatSendsRowByRow(t *testing.T) {
	t.Parallel()
	lists := t.TempDir()
	var text strings.Builder
	text.WriteString("first_name,mobile,city,code\n")
	for range 2 { // the second time as excluded rows
		for i := range 30 {
			fmt.Fprintf(&text, "Ada,%s,York,a\n", phone(i))
		}
	}
	if err := os.WriteFile(filepath.Join(lists, "list.csv"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	const limit = "unique_contacts: 10 per"
	o := options{folder: t.TempDir(), config: jobConfig(lists, byMessage) + "limits: {" + limit + " 24h}\ntracking: {poll: [1s]}\n"}
	h := open(t, o)
	states := func() (all map[messaging.State][]string) {
		all = map[messaging.State][]string{}
		for _, m := range h.messages() {
			all[m.State] = append(all[m.State], string("+"+m.Phone))
		}
		return all
	}
	r := h.fire("winback")
	h.eventually("ten have left", func() bool { return len(states()[messaging.StateAccepted]) == 10 })
	h.service.SetFaults(sandbox.Faults{CutAfter: 1})
	h.edit(limit, "unique_contacts: 20 per")
	h.reload()
	h.eventually("ten are in doubt", func() bool { return len(states()[messaging.StateInDoubt]) == 10 })
	h.service.SetFaults(sandbox.Faults{})
	at := states()
	if len(at[messaging.StateWaiting]) != 10 {
		t.Fatalf("states: %v", at)
	}
	gone := []string{at[messaging.StateAccepted][0], at[messaging.StateInDoubt][0], at[messaging.StateWaiting][0]}
	for _, p := range gone {
		if found := h.stored(p); !slices.Contains(found, "list_rows.phone") || !slices.Contains(found, "messages.phone") {
			t.Fatalf("the test is weak: %s stands in %v", p, found)
		}
	}
	h.forget(gone...)
	for i, p := range gone {
		if found := h.stored(p); len(found) > 0 {
			t.Errorf("number %d stands in %s", i, strings.Join(found, ", "))
		}
	}
	now := states()
	if len(now[messaging.StateAccepted]) != 10 || len(now[messaging.StateInDoubt]) != 9 || len(now[messaging.StateWaiting]) != 9 || len(now[messaging.StateCancelled]) != 1 || len(now[messaging.StateDropped]) != 1 {
		t.Errorf("states: %v", now)
	}
	if v, err := server.ShowRun.Call(t.Context(), h.ask, r.ID); err != nil || v.Tally.Kept != 30 || v.State != messaging.RunDone {
		t.Errorf("the run: %+v, %v", v, err)
	}
	rows := h.export(r.ID)
	for _, row := range rows {
		if slices.Contains(gone, "+"+row.Phone) {
			t.Errorf("jobs export tells of %+v", row)
		}
	}
	if len(rows) != 60 {
		t.Errorf("jobs export has %d rows", len(rows))
	}
	h.stop()
	o.config = strings.Replace(o.config, limit, "unique_contacts: 1000 per", 1)
	h = open(t, o)
	h.eventually("the others have left", func() bool { return len(states()[messaging.StateWaiting]) == 0 && h.status().Sending == 0 })
	for _, m := range h.messages() {
		if m.State == messaging.StateInDoubt {
			if _, err := server.ResolveMessage.Call(t.Context(), h.ask, server.ResolveRequest{ID: m.ID, As: messaging.ResolveResend, Reason: ""}); err != nil {
				t.Error(err)
			}
		}
	}
	h.eventually("those in doubt have left", func() bool { return h.service.Stats().Messages == 9+9 })
	if retried, err := server.RetryRun.Call(t.Context(), h.ask, server.RetryOrder{Run: r.ID}); err == nil {
		h.ended(retried.ID)
	}
	h.eventually("nothing waits", func() bool { return len(states()[messaging.StateWaiting]) == 0 })
	for _, p := range gone {
		if n := h.service.Accepted(p[1:]); n > 0 {
			t.Errorf("%s got %d messages after it was forgotten", p, n)
		}
	}
}
