package app_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/sandbox"
	"github.com/nudgewire/nudgewire/internal/server"
)

const spellingsConfig = `
defaults: {country: GB, language: en, quiet_hours: off, limit: off}
connectors:
  crm: {verify: {kind: token, from: header, field: X-Token, secret: "${SHOP_SECRET}"}, event: {type: type, id: id, time: at}, map: {phone: phone, message.text: text}}
triggers:
  promo: {on: crm.promo, key: raw.id, consent: optional, send: {template: promo}}
  agreed: {on: crm.agreed, key: raw.id, consent: required, send: {template: agreed}}
  rare: {on: crm.rare, key: raw.id, limit: 1 per 7d, send: {template: rare}}
  cool: {on: crm.cool, cooldown: 3d, send: {template: cool}}
  begun: {on: crm.begun, wait: 1h, cancel_on: crm.ended, send: {template: begun}}
  series: {on: crm.entered, key: raw.id, wait: 1h, stop_on: crm.left, send: {template: series}}
jobs:
  winback:
    source: {csv: "FOLDER/winback.csv"}
    columns: {phone: mobile}
    exclude: {messaged_within: 7d}
    deliver: per_message
    send: {template: winback}
  weekly:
    source: {csv: "FOLDER/weekly.csv"}
    columns: {phone: mobile}
    campaign: {name: 'Weekly {{ run.date }}', template_id: 1042}
tracking: {poll: [1s]}
`

// spellings are the two ways to write a phone in a country that has two: two digits, eight more, and what stands around them.
var spellings = map[string]struct{ rest, with, without string }{
	"Brazil":    {`([1-9][1-9])([6-9]\d{7})`, "55%s9%s", "55%s%s"},
	"Mexico":    {`([2-9]\d)(\d{8})`, "521%s%s", "52%s%s"},
	"Argentina": {`(11|2[2-9]|3[3-8])(\d{8})`, "549%s%s", "54%s%s"},
}

// One person who writes, buys and is messaged under two spellings of one number is one person wherever people are told
// apart. Each cell is one feature with one country, with the first spelling used first and the other second, or the other
// way round. What is sent keeps the spelling that the shop gave.
func TestASpellingOfAPhoneIsNoOtherPerson(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	h := open(t, options{folder: folder, config: strings.ReplaceAll(spellingsConfig, "FOLDER", folder), sandbox: sandbox.Options{ListIDs: true, Phones: true}})
	cells := 0
	for _, feature := range slices.Sorted(maps.Keys(spellingFeatures)) {
		for _, country := range slices.Sorted(maps.Keys(spellings)) {
			for _, turned := range []bool{false, true} {
				cells++
				s := spellings[country]
				number := rapid.StringMatching(s.rest).Example(cells)
				first, second := fmt.Sprintf(s.with, number[:2], number[2:]), fmt.Sprintf(s.without, number[:2], number[2:])
				if turned {
					first, second = second, first
				}
				t.Run(fmt.Sprintf("%s, %s, %s then %s", feature, country, first, second), func(t *testing.T) {
					one := *h
					one.t = t
					spellingFeatures[feature](&spelled{house: &one, n: cells}, first, second)
				})
			}
		}
	}
}

// A spelled is the house for one cell.
type spelled struct {
	*house
	n     int
	posts int
}

// post has the shop tell of that number.
func (h *spelled) post(kind, digits string) {
	h.t.Helper()
	h.posts++
	h.crm(kind, fmt.Sprintf("%d-%d", h.n, h.posts), "+"+digits, time.Now().UTC().Format(time.RFC3339Nano))
}

// last is the newest message of a trigger to that person once it rests.
func (h *spelled) last(trigger, digits string) (m server.MessageView) {
	h.t.Helper()
	h.eventually("the message of "+trigger+" ends", func() bool {
		m = h.newest(trigger, digits)
		return m.State.Final()
	})
	return m
}

func (h *spelled) newest(trigger, digits string) server.MessageView {
	h.t.Helper()
	rows, err := server.ListMessages.Call(h.t.Context(), h.ask, server.ListQuery{Phone: "+" + digits, Trigger: trigger})
	if err != nil || len(rows) == 0 {
		h.t.Fatalf("messages of %s to %s: %v, %v", trigger, digits, rows, err)
	}
	return rows[0]
}

// sends posts an event and sees that its message goes to exactly that spelling.
func (h *spelled) sends(kind, trigger, digits string) {
	h.t.Helper()
	h.post(kind, digits)
	m := h.last(trigger, digits)
	if m.State != messaging.StateAccepted || !h.got(trigger, digits) {
		h.t.Errorf("%s to %s: %s, %s", trigger, digits, m.State, m.Reason)
	}
}

// keeps posts an event and sees that its message does not go.
func (h *spelled) keeps(kind, trigger, digits, why string) {
	h.t.Helper()
	h.post(kind, digits)
	m := h.last(trigger, digits)
	if m.State == messaging.StateAccepted || !strings.Contains(m.Reason, why) {
		h.t.Errorf("%s to %s: %s, %q, want a reason with %q", trigger, digits, m.State, m.Reason, why)
	}
}

// got reports whether the service got a template for that spelling.
func (h *spelled) got(template, digits string) bool {
	for _, m := range h.service.Messages(digits) {
		if m.Name == template {
			return true
		}
	}
	return false
}

// decided is what a trigger said to the newest event of that person.
func (h *spelled) decided(trigger, digits string) (d messaging.Decision) {
	h.t.Helper()
	rows, err := server.ListEvents.Call(h.t.Context(), h.ask, server.ListQuery{Phone: "+" + digits, Limit: 1})
	if err != nil || len(rows) == 0 {
		h.t.Fatalf("events of %s: %v, %v", digits, rows, err)
	}
	for _, one := range rows[0].Decisions {
		if one.Trigger == trigger {
			d = one
		}
	}
	return d
}

// list runs a job on a list of these phones.
func (h *spelled) list(job string, digits ...string) server.RunView {
	h.t.Helper()
	text := "mobile\n"
	for _, one := range digits {
		text += "+" + one + "\n"
	}
	if err := os.WriteFile(filepath.Join(h.folder, job+".csv"), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return h.fire(job)
}

var spellingFeatures = map[string]func(h *spelled, first, second string){
	"a reply of STOP blocks, as a network writes who sent it": func(h *spelled, first, second string) {
		body := fmt.Sprintf(`{"type":"message.received","id":"%d-stop","phone":%q,"text":"STOP"}`, h.n, first)
		h.fromCRM(body)
		h.keeps("promo", "promo", second, "blocked")
		h.keeps("promo", "promo", first, "blocked")
	},
	"a block by hand, and its end": func(h *spelled, first, second string) {
		if _, err := server.BlockContacts.Call(h.t.Context(), h.ask, server.BlockRequest{Phones: []string{"+" + first}, Reason: "asked"}); err != nil {
			h.t.Fatal(err)
		}
		h.keeps("promo", "promo", second, "blocked")
		if _, err := server.AllowContact.Call(h.t.Context(), h.ask, "+"+second); err != nil {
			h.t.Fatal(err)
		}
		h.sends("promo", "promo", first)
	},
	"consent is recorded, and withdrawn": func(h *spelled, first, second string) {
		says := func(digits string, word messaging.Consent) {
			rows := []server.ConsentRow{{Phone: "+" + digits, Consent: word}}
			if _, err := server.RecordConsents.Call(h.t.Context(), h.ask, server.ConsentRequest{Rows: rows}); err != nil {
				h.t.Fatal(err)
			}
		}
		h.keeps("agreed", "agreed", second, "consent is required")
		says(first, messaging.ConsentGiven)
		h.sends("agreed", "agreed", second)
		says(second, messaging.ConsentWithdrawn)
		h.keeps("agreed", "agreed", first, "consent")
	},
	"forgetting, and its mark": func(h *spelled, first, second string) {
		h.sends("promo", "promo", first)
		h.list("weekly", first)
		if _, err := server.ForgetContacts.Call(h.t.Context(), h.ask, server.ForgetRequest{Phones: []string{"+" + second}}); err != nil {
			h.t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(h.folder, "weekly.csv")); err != nil { // the shop's own list
			h.t.Fatal(err)
		}
		h.eventually("all is forgotten", func() bool { return len(h.status().Forgetting) == 0 && h.status().ForgettingRest == "" })
		for _, digits := range []string{first, second} {
			if found := h.stored("+" + digits); len(found) > 0 {
				h.t.Errorf("%s stands in %v", digits, found)
			}
		}
		for _, digits := range []string{first, second} {
			h.keeps("promo", "promo", digits, "forgotten")
		}
	},
	"an export of one's data, and why": func(h *spelled, first, second string) {
		h.sends("promo", "promo", first)
		data, err := server.ShowContactData.Call(h.t.Context(), h.ask, "+"+second)
		if err != nil || len(data.Stories) != 1 || len(data.Stories[0].Messages) != 1 {
			h.t.Fatalf("the data of %s: %+v, %v", second, data, err)
		}
		why, err := server.Why.Call(h.t.Context(), h.ask, server.ListQuery{Phone: "+" + second, Limit: 10})
		if err != nil || len(why) != 1 || len(why[0].Messages) != 1 {
			h.t.Fatalf("why %s: %+v, %v", second, why, err)
		}
		for _, m := range []server.MessageView{data.Stories[0].Messages[0], why[0].Messages[0]} {
			if m.Phone.Spelled(m.SentAs) != first {
				h.t.Errorf("it says that %s (%s) was sent to", m.SentAs, m.Phone)
			}
		}
	},
	"a limit": func(h *spelled, first, second string) {
		h.sends("rare", "rare", first)
		h.keeps("rare", "rare", second, "1 of 1 per 7d was sent to this contact")
	},
	"a cooldown": func(h *spelled, first, second string) {
		h.sends("cool", "cool", first)
		h.post("cool", second)
		if d := h.decided("cool", second); d.Outcome != messaging.Skipped || !strings.Contains(d.Reason, "cooldown") {
			h.t.Errorf("the second: %s, %s", d.Outcome, d.Reason)
		}
	},
	"cancelled by phone": func(h *spelled, first, second string) {
		h.post("begun", first)
		h.post("ended", second)
		if m := h.last("begun", first); m.State != messaging.StateCancelled {
			h.t.Errorf("it is %s", m.State)
		}
	},
	"cancelled by a tombstone of the phone": func(h *spelled, first, second string) {
		early := time.Now().UTC().Add(-time.Minute).Format(time.RFC3339)
		h.post("ended", first)
		h.crm("begun", fmt.Sprintf("%d-late", h.n), "+"+second, early)
		if d := h.decided("begun", second); d.Outcome != messaging.Cancelled {
			h.t.Errorf("what was cancelled before: %s, %s", d.Outcome, d.Reason)
		}
	},
	"stopped by stop_on": func(h *spelled, first, second string) {
		h.post("entered", first)
		h.post("left", second)
		if m := h.last("series", first); m.State != messaging.StateCancelled {
			h.t.Errorf("it is %s", m.State)
		}
	},
	"messaged_within, from a message to a list and from a list to a list": func(h *spelled, first, second string) {
		h.sends("promo", "promo", first)
		r := h.list("winback", second)
		if r.Tally.Kept != 0 || len(r.Tally.Excluded) != 1 || !strings.Contains(r.Tally.Excluded[0].Reason, "messaged within 7d") {
			h.t.Errorf("kept %d, excluded %+v", r.Tally.Kept, r.Tally.Excluded)
		}
	},
	"messaged_within, from a file to a list": func(h *spelled, first, second string) {
		if r := h.list("weekly", first); r.Tally.Kept != 1 {
			h.t.Fatalf("kept %d", r.Tally.Kept)
		}
		if r := h.list("winback", second); r.Tally.Kept != 0 {
			h.t.Errorf("kept %d", r.Tally.Kept)
		}
		why, err := server.Why.Call(h.t.Context(), h.ask, server.ListQuery{Phone: "+" + second, Limit: 10})
		if err != nil || len(why) != 2 { // the row of the file, and the one that was left out
			h.t.Errorf("why %s: %+v, %v", second, why, err)
		}
	},
	"unique": func(h *spelled, first, second string) {
		r := h.list("winback", first, second)
		if r.Tally.Kept != 1 || len(r.Tally.Excluded) != 1 || r.Tally.Excluded[0].Reason != "an earlier row has the same phone" {
			h.t.Errorf("kept %d, excluded %+v", r.Tally.Kept, r.Tally.Excluded)
		}
		h.eventually("the row leaves as the list spells it", func() bool { return h.got("winback", first) })
		if h.got("winback", second) {
			h.t.Error("the other spelling got it, too")
		}
	},
	"a file keeps the spelling of its list": func(h *spelled, first, second string) {
		if r := h.list("weekly", first); r.State != messaging.RunDone {
			h.t.Fatalf("the run is %s: %s", r.State, r.Reason)
		}
		if n, others := h.service.Messages(first), h.service.Messages(second); len(n) != 1 || n[0].Kind != "upload" || len(others) != 0 {
			h.t.Errorf("the service got %+v and %+v", n, others)
		}
		if m := h.newest("weekly", second); m.Phone == "" {
			h.t.Errorf("whose message the answer named is not known: %+v", m)
		}
	},
	"a message by hand": func(h *spelled, first, second string) {
		in := server.SendRequest{Phone: "+" + first, Category: messaging.Utility, Send: messaging.Send{Template: "hello", Language: "en"}}
		if _, err := server.SendMessage.Call(h.t.Context(), h.ask, in); err != nil {
			h.t.Fatal(err)
		}
		h.eventually("it goes as it is written", func() bool { return h.got("hello", first) })
		if m := h.last("", second); m.To() == "" || m.Phone.Spelled(m.SentAs) != first {
			h.t.Errorf("it is shown as sent to %s", m.To())
		}
	},
}
