package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// "messages show" and "why" both tell a message by tellMessage.
func TestAPersonsWordIsToldAsTheirs(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	const words = "resolved as accepted by ann: seen on phone"
	m := server.MessageView{
		ID: 27, What: `template "thanks"`, Phone: "447700900123", Trigger: "thanks", State: messaging.StateAccepted,
		Status: messaging.StatusUntracked, Reason: words, AcceptedAt: &at, UpdatedAt: at,
		Resolved: []server.ResolvedView{{As: messaging.ResolveAccepted, Words: words, At: at}},
	}
	told := func() string {
		var out bytes.Buffer
		c := &cli{streams: streams{out: &out, err: &out}}
		c.tellMessage(m, "")
		return out.String()
	}
	if got := told(); strings.Count(got, words) != 1 || strings.Contains(got, "by the service") {
		t.Errorf("a person's acceptance:\n%s", got)
	}
	m.Resolved = nil
	if got := told(); !strings.Contains(got, "accepted by the service without a message_id") || strings.Contains(got, words) {
		t.Errorf("the service's acceptance:\n%s", got)
	}
}

func TestTheClassOfTheServicesWordsIsTold(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	m := server.MessageView{
		ID: 27, What: `template "offer"`, Phone: "447700900123", Trigger: "offer", State: messaging.StateAccepted, ServiceID: "9", AcceptedAt: &at, UpdatedAt: at,
		Attempts: []server.AttemptView{
			{Number: 1, At: at, State: messaging.StateWaiting, Words: "frequency cap", Class: messaging.ErrorRecipientLimit},
			{Number: 2, At: at, State: messaging.StateWaiting, Words: "busy"},
		},
		Status: messaging.StatusFailed, FailedAt: &at, Error: "the user has unsubscribed", Class: messaging.ErrorOptOut,
	}
	var out bytes.Buffer
	(&cli{streams: streams{out: &out, err: &out}}).tellMessage(m, "")
	for _, want := range []string{"frequency cap (class recipient_limit)\n", "waiting: busy\n", "the user has unsubscribed (class opt_out)\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// A request of one's data is answered by the daemon, not by a trigger.
func TestAnEventThatNoTriggerDecidedAboutSaysWhatWasDone(t *testing.T) {
	for kind, want := range map[string]string{"contact.data_requested": "nudgewire contacts requests", "cart.updated": "no trigger listens"} {
		var out bytes.Buffer
		c := &cli{streams: streams{out: &out, err: &out}}
		e := server.EventView{ID: 1, Event: "shop." + kind}
		c.tell(server.StoryView{Event: e})
		if got := c.cameOf(&e); !strings.Contains(got, want) || !strings.Contains(out.String(), want) {
			t.Errorf("%s: the list says %q, and why\n%s", kind, got, &out)
		}
		out.Reset()
		if c.tellTried(server.TriedEvent{Event: e.Event}); !strings.Contains(out.String(), want) {
			t.Errorf("%s: try says\n%s", kind, &out)
		}
	}
}

func TestAListThatIsCutSaysSo(t *testing.T) {
	for n, want := range map[int]string{49: "", 50: "the newest 50; --limit shows more, if there are more\n"} {
		var out, err bytes.Buffer
		c := &cli{streams: streams{out: &out, err: &err}}
		if c.cut(nil, n, 50) != nil || out.Len() > 0 || err.String() != want {
			t.Errorf("%d of 50: %q, %q", n, out.String(), err.String())
		}
	}
}

func TestWhatHoldsAMessageAndABlockAreTold(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	c := &cli{streams: streams{out: &out, err: &out}}
	c.tellMessage(server.MessageView{ID: 27, State: messaging.StateWaiting, Attempt: 1, Held: `trigger "offer" is off`, CreatedAt: at, DueAt: at, UpdatedAt: at}, "")
	c.tell(server.StoryView{Block: &server.BlockView{At: at, Source: "by hand (Ann)", Reason: "rude\x1b[31m"}})
	for _, want := range []string{"  planned\n", "\n  trigger \"offer\" is off\n", "  blocked since then, by hand (Ann): rude·[31m\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
