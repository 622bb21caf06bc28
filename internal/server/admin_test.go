package server_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// still is a daemon that does nothing.
type still struct{ reload error }

func (still) View() server.DaemonView { return server.DaemonView{Config: "v1"} }

func (s still) Reload(context.Context, string) ([]preview.RuleChange, error) { return nil, s.reload }

func (s still) Plan(context.Context, server.PlanRequest) (p server.ConfigPlan, err error) {
	return p, s.reload
}

func (s still) Rollback(context.Context, string) (v server.RollbackView, _ []preview.RuleChange, err error) {
	return v, nil, s.reload
}

func client(t *testing.T, d server.Daemon) *server.Client {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "n.db"), Settle: triggers.Settle})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.Local(server.Admin(server.AdminOptions{Store: s, Daemon: d, Country: "GB", Now: time.Now, Log: zap.NewNop()}), access.Process("Ann"))
}

func TestTheAdminAPISaysWhatIsWrong(t *testing.T) {
	ask := client(t, still{reload: errors.New("config.yaml cannot be used")})
	ctx := t.Context()
	send := func(r server.SendRequest) func() error {
		return func() error { _, err := server.SendMessage.Call(ctx, ask, r); return err }
	}
	template := messaging.Send{Template: "hello", Language: "en"}
	tests := map[string]struct {
		do     func() error
		status int
		words  string
	}{
		"why of nobody": {func() error {
			_, err := server.Why.Call(ctx, ask, server.ListQuery{Phone: "+447700900123", Limit: 10})
			return err
		}, 404, "nothing is known about 447700900123"},
		"why of no phone": {func() error { _, err := server.Why.Call(ctx, ask, server.ListQuery{Phone: "", Limit: 10}); return err }, 400, "why needs a phone"},
		"a phone that is none": {func() error {
			_, err := server.Why.Call(ctx, ask, server.ListQuery{Phone: "CALL-ME", Limit: 10})
			return err
		}, 400, "that is not a phone number: has letters; no run whose rows are kept excluded it"},
		"an unknown state": {func() error {
			_, err := server.ListMessages.Call(ctx, ask, server.ListQuery{State: "lost"})
			return err
		}, 400, `unknown state "lost"`},
		"an unknown class":       {func() error { _, err := server.ListMessages.Call(ctx, ask, server.ListQuery{Class: "bad"}); return err }, 400, `class "bad": want no_points, recipient_limit, opt_out, template, permanent, retry or unknown`},
		"a list down to nothing": {func() error { _, err := server.ListEvents.Call(ctx, ask, server.ListQuery{DownTo: -1}); return err }, 400, `down_to "-1": want a number from 1 on`},
		"a list too long":        {func() error { _, err := server.ListEvents.Call(ctx, ask, server.ListQuery{Limit: 10_001}); return err }, 400, `limit "10001": want 1 to 10000`},
		"no such message":        {func() error { _, err := server.ShowMessage.Call(ctx, ask, "99"); return err }, 404, "no message 99"},
		"a resolution of nothing": {func() error {
			_, err := server.ResolveMessage.Call(ctx, ask, server.ResolveRequest{ID: 1, As: "maybe", Reason: ""})
			return err
		}, 400, `as "maybe": want accepted, resend or drop`},
		"a reload of a bad file":  {func() error { _, err := server.Reload.Call(ctx, ask, server.ReloadRequest{}); return err }, 422, "config.yaml cannot be used"},
		"a send of nothing":       {send(server.SendRequest{Phone: "07700 900123"}), 400, "want exactly one of a template, a campaign and a text"},
		"a send of two things":    {send(server.SendRequest{Phone: "07700 900123", Send: messaging.Send{Template: "a", Language: "en", Text: "b"}}), 400, "want exactly one of a template, a campaign and a text"},
		"a send without language": {send(server.SendRequest{Phone: "07700 900123", Send: messaging.Send{Template: "a"}}), 400, "a template needs a language"},
		"a send in no category":   {send(server.SendRequest{Phone: "07700 900123", Send: template, Category: "spam"}), 400, `request body: field "category" must be one of marketing, utility, authentication`},
		"a send to nobody":        {send(server.SendRequest{Send: template}), 400, `request body: field "phone" is missing`},
		"a header of no kind":     {send(server.SendRequest{Phone: "07700 900123", Send: messaging.Send{Template: "a", Language: "en", Header: &messaging.Header{Type: "gif", URL: "https://cdn.example.com/a.gif"}}}), 400, `request body: field "send.header.type" must be one of image, video, document`},
		"a header from inside":    {send(server.SendRequest{Phone: "07700 900123", Send: messaging.Send{Template: "a", Language: "en", Header: &messaging.Header{Type: "image", URL: "http://10.0.0.8/a.png"}}}), 400, `the header's image: "http://10.0.0.8/a.png" cannot be fetched from outside: its host is not one of the public internet`},
		"a header from nowhere":   {send(server.SendRequest{Phone: "07700 900123", Send: messaging.Send{Template: "a", Language: "en", Header: &messaging.Header{Type: "image", URL: "ftp://cdn.example.com/a.png"}}}), 400, `request body: field "send.header.url" must be an http or https address`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.do()
			e, ok := errors.AsType[*refusal.Error](err)
			if !ok || e.Status != tt.status || e.Words != tt.words {
				t.Errorf("%#v, want %d %q", err, tt.status, tt.words)
			}
		})
	}
}

func TestAMessageSentByHandHasAnEventAndADecision(t *testing.T) {
	ask := client(t, still{})
	in := server.SendRequest{Phone: "07700 900123", Send: messaging.Send{Template: "hello", Language: "en"}, DryRun: true}
	m, err := server.SendMessage.Call(t.Context(), ask, in)
	if err != nil || m.ID != 0 || m.Phone != "447700900123" {
		t.Fatalf("dry run: %+v, %v", m, err)
	}
	if _, err := server.Why.Call(t.Context(), ask, server.ListQuery{Phone: "447700900123", Limit: 10}); err == nil {
		t.Fatal("a dry run left something behind")
	}
	in.DryRun = false
	if m, err = server.SendMessage.Call(t.Context(), ask, in); err != nil || m.ID != 1 || m.State != messaging.StateWaiting {
		t.Fatalf("send: %+v, %v", m, err)
	}
	story, err := server.Why.Call(t.Context(), ask, server.ListQuery{Phone: "07700900123", Limit: 10})
	if err != nil || len(story) != 1 || story[0].Event.Event != "people.message.requested" || story[0].Event.Decisions[0].Reason == "" {
		t.Fatalf("why: %+v, %v", story, err)
	}
	if m, err = server.CancelMessage.Call(t.Context(), ask, server.CancelRequest{ID: 1, Reason: "wrong person"}); err != nil || m.State != messaging.StateCancelled || m.Reason != "cancelled by Ann: wrong person" {
		t.Fatalf("cancel: %+v, %v", m, err)
	}
	_, err = server.CancelMessage.Call(t.Context(), ask, server.CancelRequest{ID: 1, Reason: ""})
	if e, ok := errors.AsType[*refusal.Error](err); !ok || e.Status != 409 || e.Words != "message 1 was cancelled already (cancelled); this needs one that is waiting" {
		t.Errorf("a second cancel: %#v", err)
	}
}

func TestWithoutADaemonNothingCanBeChanged(t *testing.T) {
	ask := client(t, nil)
	if _, err := server.ShowStatus.Call(t.Context(), ask, server.None{}); err != nil {
		t.Errorf("status: %v", err)
	}
	if _, err := server.CancelMessage.Call(t.Context(), ask, server.CancelRequest{ID: 1, Reason: ""}); err == nil {
		t.Error("a message was cancelled without a daemon")
	}
}
