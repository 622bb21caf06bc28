package outbox_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/outbox"
)

// The page shows every kind, a body about each thing, and every key that a body can have.
func TestThePageShowsWhatIsPosted(t *testing.T) {
	page, err := os.ReadFile("../../docs/webhooks-out.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range messaging.ChangeKinds {
		if !strings.Contains(string(page), "`"+kind+"`") {
			t.Errorf("the page does not name %s", kind)
		}
	}
	shown := map[string]bool{}
	keys := map[string]bool{}
	for _, block := range strings.Split(string(page), "```json\n")[1:] {
		text, _, _ := strings.Cut(block, "\n```")
		var b outbox.Body
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&b); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		about, _, _ := strings.Cut(b.Type, ".")
		if shown[about] = true; len(messaging.KindsOf(b.Type)) != 1 {
			t.Errorf("%s is no kind", b.Type)
		}
		again, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Compact(&want, []byte(text)); err != nil || want.String() != string(again) {
			t.Errorf("%v\npage   %s\nposted %s", err, &want, again)
		}
		var raw struct{ Data map[string]any }
		if err := json.Unmarshal(again, &raw); err != nil {
			t.Fatal(err)
		}
		for key := range raw.Data {
			keys[key] = true
		}
	}
	for _, about := range []string{messaging.AboutMessage, messaging.AboutRun, messaging.AboutDecision} {
		if !shown[about] {
			t.Errorf("no body of %s is shown", about)
		}
	}
	full, err := json.Marshal(messaging.Change{
		Message: 1, MessageID: "1", Phone: "1", Trigger: "t", Job: "j", Run: 1, Event: 1, Request: "r", Step: 1, Account: "a", State: "s",
		Status: "s", Outcome: "o", Reason: "r", ErrorClass: "e", Rows: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(full, &all); err != nil {
		t.Fatal(err)
	}
	for key := range all {
		if !keys[key] {
			t.Errorf("no body on the page has %q", key)
		}
	}
}
