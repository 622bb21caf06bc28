package sender

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

// A service that repeats a code in its answer does not make it stay: in no attempt, no log, no halt.
func TestWhatTheServiceRepeatsOfACodeIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := queued(messaging.Authentication)
		d.Send.Variables, d.Send.Forget = []string{"480193", "a"}, true
		store := newMemory(d)
		api := &service{answer: func(context.Context, int, made) (apiclient.Answer, error) {
			return apiclient.Answer{Raw: `{"error":"480193"}`}, refusal(apiclient.Rejected, 400, 0, "variable 480193 is bad")
		}}
		run := start(t, store, api, nil)
		synctest.Wait()
		pass(1)
		run.stop()
		got := store.row(1)
		for _, entry := range run.logs.All() {
			if line := fmt.Sprint(entry.Message, entry.ContextMap()); strings.Contains(line, "480193") {
				t.Errorf("the log says %s", line)
			}
		}
		if want := "refused by the service (400): variable (variable 1) is bad"; got.Reason != want {
			t.Errorf("reason %q, want %q", got.Reason, want)
		}
	})
}

func TestHush(t *testing.T) {
	send := messaging.Send{
		Variables: []string{"ab", "480193"}, Text: "your code is 77", Header: &messaging.Header{URL: "https://a.example/9.pdf", Filename: "9.pdf"},
	}
	for said, want := range map[string]string{
		"ab 480193, 480193":             "ab (variable 2), (variable 2)",
		"no your code is 77":            "no (the text)",
		"https://a.example/9.pdf 9.pdf": "(the header's address) (the file's name)",
	} {
		if got := redact(&send, said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
	if got := redact(&messaging.Send{}, strings.Repeat("x", 9)); got != "xxxxxxxxx" {
		t.Error(got)
	}
}
