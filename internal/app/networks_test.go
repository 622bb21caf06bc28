package app_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/networks"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/server"
)

// stopsByLanguage are how people say it, in fourteen languages.
var stopsByLanguage = []string{"Stop.", "STOPP", "Arrêt", "baja, por favor", "SAIR", "Basta!", "afmelden", "СТОП", "İPTAL", "توقف", "退订", "停止してください", "बंद करें", "หยุด"}

// networksConfig has a connector for every network, under its own name, and a trigger that a reply by it ends.
func networksConfig(settings, triggers string) string {
	var connectors, ended strings.Builder
	for _, n := range networks.All {
		fmt.Fprintf(&connectors, "  %s: {address: \"https://hooks.example.com/in/%s\", %s%s}\n", n.Name, n.Name, n.Settings, settings)
		fmt.Fprintf(&ended, "  ask-%s: {on: crm.deal.won, if: raw.by == %q, wait: 1h, cancel_on: %s.message.received, category: utility, send: {template: ask}}\n", n.Name, n.Name, n.Name)
	}
	return `
defaults: {country: GB, language: en}
connectors:
  crm: {verify: {kind: token, from: header, field: X-Token, secret: "${SHOP_SECRET}"}, event: {type: type, id: id, time: at}, map: {phone: phone}}
` + connectors.String() + `triggers:
  offer: {on: crm.deal.open, key: raw.id, send: {template: offer}}
` + ended.String() + triggers + "tracking: {poll: [1s]}\n"
}

// networkPosts posts replies as a network does.
func (h *house) networkPosts(n *networks.Network, all ...networks.Message) {
	h.t.Helper()
	h.networkPostsTo(n.Name, n, all...)
}

func (h *house) networkPostsTo(connector string, n *networks.Network, all ...networks.Message) {
	h.t.Helper()
	post := n.Post("https://hooks.example.com/in/"+n.Name, time.Now(), all...)
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/hooks/"+connector+"?"+post.Query, strings.NewReader(string(post.Body)))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header = post.Header
	h.mustTake(req)
}

func (h *house) isBlocked(person string) bool {
	h.t.Helper()
	v, err := server.ShowContact.Call(h.t.Context(), h.ask, person)
	if err != nil {
		h.t.Fatal(err)
	}
	return v.Block != nil
}

// filesWith are the files of the database that hold a text.
func (h *house) filesWith(text string) (found []string) {
	h.t.Helper()
	files, err := filepath.Glob(filepath.Join(h.folder, "nudgewire.db*"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, f := range files {
		if content, err := os.ReadFile(f); err == nil && bytes.Contains(content, []byte(text)) {
			found = append(found, filepath.Base(f))
		}
	}
	return found
}

// ago is a moment before now, in whole seconds as networks write them.
func ago(d time.Duration) time.Time { return time.Now().Add(-d).Truncate(time.Second) }

// A STOP in any language, from any network, written or tapped, alone or among others, blocks in the commit that stores it: the
// answer to the network comes after it. START lifts the block, and a STOP that comes once more does not bring it back. On both engines.
func TestAStopFromEveryNetworkBlocks(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"SQLite", "PostgreSQL"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			o := options{config: networksConfig("", "")}
			if engine == "PostgreSQL" {
				_, o.storage = onPostgres(t)
			}
			h := open(t, o)
			for i := range networks.All {
				n, people := &networks.All[i], 40*i
				next := func(text string) networks.Message {
					people++
					return networks.Message{ID: fmt.Sprintf("%s-%d", n.Name, people), Phone: phone(people)[1:], Name: "Ada", Text: text, At: ago(time.Minute)}
				}
				must := func(m networks.Message, want bool, why string) {
					t.Helper()
					if h.isBlocked("+"+m.Phone) != want {
						t.Errorf("%s, %s (%q): blocked is not %v", n.Name, why, m.Text, want)
					}
				}
				for _, word := range stopsByLanguage {
					m := next(word)
					h.networkPosts(n, m)
					must(m, true, "a word")
				}
				if n.Name != "telnyx" { // an SMS has no buttons
					titled, given := next("Stop promotions"), next("No, thanks")
					titled.Button, given.Button = "offers-off", "STOP"
					h.networkPosts(n, titled)
					h.networkPosts(n, given)
					must(titled, true, "the title of a button")
					must(given, true, "the payload of a button")
				}
				plain := next("Do not stop, I like it")
				if n.Batch {
					among := next("STOP")
					h.networkPosts(n, plain, among, next("Hello"))
					must(among, true, "among others")
				} else {
					h.networkPosts(n, plain)
				}
				must(plain, false, "an ordinary reply")
				helps := next("HELP")
				h.networkPosts(n, helps)
				must(helps, false, "a call for help")

				m := next("STOP")
				h.networkPosts(n, m)
				start := m
				start.ID, start.Text, start.At = m.ID+"s", "START", ago(30*time.Second)
				h.networkPosts(n, start)
				must(start, false, "a start")
				h.networkPosts(n, m)
				must(m, false, "the stop, delivered once more")
				if n.Timed {
					late := m
					late.ID += "-late"
					h.networkPosts(n, late)
					must(late, false, "another stop from before the start")
				}
			}
		})
	}
}

// A reply ends what asked for it, and nobody else's; one that is delivered twice is one event; one that says nothing of consent changes none.
func TestAReplyFromEveryNetworkEndsWhatAskedForIt(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: networksConfig("", "")})
	for i := range networks.All {
		n := &networks.All[i]
		t.Run(n.Name, func(t *testing.T) {
			trigger, first, second := "ask-"+n.Name, phone(10*i), phone(10*i+1)
			for j, person := range []string{first, second} {
				h.fromCRM(fmt.Sprintf(`{"type":"deal.won","by":%q,"id":"%s-%d","phone":%q,"at":%q}`, n.Name, n.Name, j, person, ago(2*time.Minute).UTC().Format(time.RFC3339)))
			}
			h.consents(messaging.ConsentGiven, first)
			state := func(person string) messaging.State {
				if m := h.of(trigger, person); m != nil {
					return m.State
				}
				return ""
			}
			h.eventually("both wait", func() bool {
				return state(first) == messaging.StateWaiting && state(second) == messaging.StateWaiting
			})
			reply := networks.Message{ID: "r1", Phone: first[1:], Name: "Ada", Text: "Yes, on Friday", At: ago(time.Minute)}
			h.networkPosts(n, reply)
			h.eventually("the reply ends it", func() bool { return state(first) == messaging.StateCancelled })
			if state(second) != messaging.StateWaiting {
				t.Errorf("somebody else's is %s", state(second))
			}
			h.networkPosts(n, reply)
			if got := h.eventsOf(n.Name); len(got) != 1 {
				t.Errorf("a redelivery is an event of its own: %d", len(got))
			}
			again := reply
			again.ID, again.Text = "r2", "At ten"
			h.networkPosts(n, again)
			if got := h.eventsOf(n.Name); len(got) != 2 {
				t.Errorf("a second reply is a duplicate: %d", len(got))
			}
			v, err := server.ShowContact.Call(t.Context(), h.ask, first)
			if err != nil || v.Block != nil || len(v.Consents) != 1 || v.Consents[0].Consent != messaging.ConsentGiven {
				t.Errorf("after a reply that says nothing of it: %+v, %v", v, err)
			}
		})
	}
}

// What waits when STOP comes does not go.
func TestAStopHoldsWhatWaits(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: networksConfig("", "")})
	all := server.HaltRequest{Scope: messaging.ScopeAll}
	if _, err := server.Halt.Call(t.Context(), h.ask, all); err != nil {
		t.Fatal(err)
	}
	for i := range networks.All {
		h.crm("deal.open", fmt.Sprint("d", i), phone(i), "")
	}
	h.eventually("all wait", func() bool { return len(h.messages()) == len(networks.All) })
	for i := range networks.All {
		h.networkPosts(&networks.All[i], networks.Message{ID: "s", Phone: phone(i)[1:], Text: "Stop", At: time.Now()})
	}
	if err := h.resumes(all.Scope, ""); err != nil {
		t.Fatal(err)
	}
	h.eventually("all end", func() bool { return h.inState("offer", messaging.StateDropped) == len(networks.All) })
	for _, m := range h.messages() {
		if !strings.HasPrefix(m.Reason, "the contact is blocked: opted out (event ") {
			t.Errorf("message %d: %s, %q", m.ID, m.State, m.Reason)
		}
	}
}

// HELP blocks nobody and can be answered; so can a STOP where opt_out is off, which then blocks nobody either.
func TestWhatAReplySaysIsForTriggers(t *testing.T) {
	t.Parallel()
	const answers = `  help: {on: [whatsapp.message.received, twilio.message.received], if: message.says == "help", key: event.id, category: utility, send: {template: help}}
  size: {on: whatsapp.message.received, if: 'message.button == "size-l" and message.text == "Large"', category: utility, send: {template: size}}
  bye: {on: whatsapp.message.received, if: message.says == "stop", category: utility, send: {template: bye}}
`
	h := open(t, options{config: networksConfig(", opt_out: off", answers)})
	whatsapp := networks.Named("whatsapp")
	h.networkPosts(whatsapp, networks.Message{ID: "1", Phone: phone(1)[1:], Text: "Ayuda!", At: time.Now()})
	h.networkPosts(networks.Named("twilio"), networks.Message{ID: "2", Phone: phone(2)[1:], Text: "info"})
	h.networkPosts(whatsapp, networks.Message{ID: "3", Phone: phone(3)[1:], Text: "Large", Button: "size-l", At: time.Now()})
	h.networkPosts(whatsapp, networks.Message{ID: "4", Phone: phone(4)[1:], Text: "Large", At: time.Now()})
	h.networkPosts(whatsapp, networks.Message{ID: "5", Phone: phone(5)[1:], Text: "STOP", At: time.Now()})
	h.eventually("they are answered", func() bool {
		return h.service.Accepted(phone(1)[1:]) == 1 && h.service.Accepted(phone(2)[1:]) == 1 && h.service.Accepted(phone(3)[1:]) == 1 && h.service.Accepted(phone(5)[1:]) == 1
	})
	if h.isBlocked(phone(5)) || h.service.Accepted(phone(4)[1:]) != 0 {
		t.Error("opt_out: off blocked, or a text passed for a button")
	}
}

// A STOP among imported messages of the past blocks, and a START of then lifts it.
func TestAStopInImportedHistory(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: networksConfig(", history: true", "")})
	for i := range networks.All {
		n := &networks.All[i]
		m := networks.Message{ID: "h1", Phone: phone(i)[1:], Text: "STOP", At: ago(48 * time.Hour)}
		if n.Name == "telnyx" || n.Name == "vonage" {
			m.At = ago(time.Minute) // what is signed is when it was posted; any moment in the body will do
		}
		h.networkPosts(n, m)
		if !h.isBlocked(phone(i)) {
			t.Errorf("%s: a stop of the past does not block", n.Name)
		}
		m.ID, m.Text, m.At = "h2", "START", ago(time.Second)
		h.networkPosts(n, m)
		if h.isBlocked(phone(i)) {
			t.Errorf("%s: a start of the past does not lift it", n.Name)
		}
	}
}

// A block outlives that its connector gets another name, is not made again when the stop is replayed after a start, and what was
// written goes when its writer is forgotten.
func TestAStopAndWhatComesLater(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: networksConfig("", "")})
	whatsapp := networks.Named("whatsapp")
	stop := networks.Message{ID: "1", Phone: phone(1)[1:], Name: "Ada", Text: "stop sending me the quokka", At: ago(time.Minute)}
	h.networkPosts(whatsapp, stop)
	was := h.eventsOf("whatsapp")[0].ID
	h.edit("  whatsapp: {address", "  replies: {preset: whatsapp, address")
	h.edit("whatsapp.message.received", "replies.message.received")
	h.reload()
	if !h.isBlocked(phone(1)) {
		t.Error("a rename lifts the block")
	}
	start := stop
	start.ID, start.Text, start.At = "2", "START", ago(30*time.Second)
	h.networkPostsTo("replies", whatsapp, start)
	if h.isBlocked(phone(1)) {
		t.Error("under its new name the connector does not lift what it did under the old one")
	}
	h.edit("  replies: {preset: whatsapp, address", "  whatsapp: {address")
	h.edit("replies.message.received", "whatsapp.message.received")
	h.reload()
	if got := h.replay(preview.ReplayEventsRequest{Events: []messaging.EventID{was}}); got.Count != 1 || h.isBlocked(phone(1)) {
		t.Errorf("replayed: %+v, blocked: %v", got, h.isBlocked(phone(1)))
	}
	if found := h.filesWith("quokka"); len(found) == 0 {
		t.Fatal("the words are in no file, so that they are gone shows nothing")
	}
	h.forget(phone(1))
	if found := append(h.filesWith("quokka"), h.stored(phone(1))...); len(found) > 0 {
		t.Errorf("after forgetting it stands in %s", strings.Join(found, ", "))
	}
}

// Where nothing is signed, the word that the network repeats counts alone, in a header or behind the URL.
func TestNetworksThatSignNothing(t *testing.T) {
	t.Parallel()
	h := open(t, options{config: networksConfig("", "")})
	body := networks.Named("360dialog").Body(networks.Message{ID: "1", Phone: phone(1)[1:], Text: "STOP", At: time.Now()})
	for query, want := range map[string]int{"": 401, "?token=wrong": 401} {
		if code, _ := h.hook("360dialog"+query, body, "Content-Type", "application/json"); code != want {
			t.Errorf("%q: %d", query, code)
		}
	}
	if h.isBlocked(phone(1)) {
		t.Error("somebody without the word blocked a contact")
	}
	if code, text := h.hook("360dialog?token="+networks.Secret, body, "Content-Type", "application/json"); code != http.StatusOK || !h.isBlocked(phone(1)) {
		t.Errorf("with the word: %d %s", code, text)
	}
}
