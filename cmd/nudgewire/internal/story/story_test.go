package story

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
)

// "messages show" and "why" both tell a message by TellMessage.
func TestAPersonsWordIsToldAsTheirs(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	const words = "resolved as accepted by ann: seen on phone"
	m := server.MessageView{
		MessageStory: store.MessageStory{Message: messaging.Message{
			ID: 27, Phone: "447700900123", Trigger: "thanks", State: messaging.StateAccepted,
			Status: messaging.StatusUntracked, Reason: words, AcceptedAt: at, UpdatedAt: at,
		}, Resolved: []store.Resolved{{As: messaging.ResolveAccepted, Reason: words, At: at}}}, What: `template "thanks"`,
	}
	told := func() string {
		var out bytes.Buffer
		c := &terminal.CLI{Streams: terminal.Streams{Out: &out, Err: &out}}
		TellMessage(c, m, "")
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
		MessageStory: store.MessageStory{Message: messaging.Message{
			ID: 27, Phone: "447700900123", Trigger: "offer", State: messaging.StateAccepted, ServiceID: "9", AcceptedAt: at, UpdatedAt: at,

			Status: messaging.StatusFailed, FailedAt: at, Error: "the user has unsubscribed", ErrorClass: messaging.ErrorOptOut,
		}, Attempts: []messaging.Attempt{
			{Number: 1, At: at, State: messaging.StateWaiting, Reason: "frequency cap", Class: messaging.ErrorRecipientLimit},
			{Number: 2, At: at, State: messaging.StateWaiting, Reason: "busy"},
		}}, What: `template "offer"`,
	}
	var out bytes.Buffer
	TellMessage(&terminal.CLI{Streams: terminal.Streams{Out: &out, Err: &out}}, m, "")
	for _, want := range []string{"frequency cap (class recipient_limit)\n", "waiting: busy\n", "the user has unsubscribed (class opt_out)\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestWhatHoldsAMessageAndABlockAreTold(t *testing.T) {
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var out bytes.Buffer
	c := &terminal.CLI{Streams: terminal.Streams{Out: &out, Err: &out}}
	TellMessage(c, server.MessageView{MessageStory: store.MessageStory{Message: messaging.Message{ID: 27, State: messaging.StateWaiting, Attempt: 1, CreatedAt: at, DueAt: at, UpdatedAt: at}}, Held: `trigger "offer" is off`}, "")
	TellStory(c, server.StoryView{Block: &store.Block{At: at, Source: "by hand (Ann)", Reason: "rude\x1b[31m"}})
	for _, want := range []string{"  planned\n", "\n  trigger \"offer\" is off\n", "  blocked since then, by hand (Ann): rude·[31m\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
