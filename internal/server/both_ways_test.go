package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
)

// overHTTP is a client that asks as whom a test says, by a socket of the network.
func overHTTP(t *testing.T, api http.Handler, who *access.Who) *server.Client {
	t.Helper()
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		api.ServeHTTP(w, r.WithContext(access.WithWho(r.Context(), *who)))
	}))
	t.Cleanup(at.Close)
	ask, err := server.Remote(at.URL, "of this test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ask.Close)
	return ask
}

// byChance is what differs from answer to answer.
var byChance = regexp.MustCompile(`nw_[a-z0-9]+_[a-z0-9]+|link=[^"]+|"hash":"[^"]*"|"id":"[a-z0-9]{12}"|"key":"[A-Z0-9]{26}"|contact [0-9a-f]{16}|\d{4}-\d\d-\d\d[T ][0-9:.]+(Z| UTC)|/[^" ]*/data-requests|\b[1-9]\d{5}\b`)

// told is what came of a call, as text.
func told(t *testing.T, v any, err error) string {
	t.Helper()
	if no, is := errors.AsType[*refusal.Error](err); is {
		v = no
	} else if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &v) // the order of what is in it is none
	}
	if err == nil {
		text, err = json.Marshal(v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return byChance.ReplaceAllString(string(text), "#")
}

// Every route, asked in this process and over HTTP, gives the same answer, or the same refusal, and leaves the same in the audit.
func TestBothWaysOfAskingAreOne(t *testing.T) {
	at := time.Now().UTC().Truncate(time.Second)
	clock := func() time.Time { return at }
	here, there := livelyAt(t, clock), livelyAt(t, clock)
	blind := slices.DeleteFunc(slices.Clone(access.Scopes), func(s access.Scope) bool { return s == access.Phones })
	boss := access.Process("boss")
	for _, who := range []access.Who{
		{Name: "nobody", From: access.FromToken}, {Name: "blind", Scopes: blind, From: access.FromToken}, {Name: "ann", Scopes: access.Scopes, From: access.FromSocket},
	} {
		far := overHTTP(t, there, &who)
		near := server.Local(here, who)
		for _, rt := range server.Routes() {
			path := map[string]string{
				"phone": shopper, "name": "winback-weekly", "id": "1", "number": "1", "event": "1", "token": "crm", "user": "ann", "connector": "open",
			}
			bodies, queries := []string{body(&rt)}, []url.Values{{}}
			if rt.In != nil {
				bodies = append(bodies, string(server.ExampleRequest(&rt)))
			}
			for _, name := range rt.Query {
				if value := map[string]string{"phone": shopper, "find": "ada", "limit": "1", "state": "waiting", "since": "2026-01-02T15:04:05Z", "version": "3.0", "class": "retry", "by": "day", "format": ""}[name]; value != "" {
					queries = append(queries, url.Values{name: {value}})
				}
			}
			call := server.CallOf(&rt)
			for _, body := range bodies {
				for _, query := range queries {
					a, errA := call(t.Context(), near, path, query, []byte(body))
					b, errB := call(t.Context(), far, path, query, []byte(body))
					if a, b := told(t, a, errA), told(t, b, errB); a != b {
						t.Errorf("%s %s?%s as %q: in this process\n%s\nover HTTP\n%s", rt.Method, rt.Path, query.Encode(), who.Name, a, b)
					}
				}
			}
		}
	}
	audit := func(api *server.API) []string {
		all, err := server.ListAudit.Call(t.Context(), server.Local(api, boss), server.AuditQuery{Limit: server.MaxRows})
		if err != nil {
			t.Fatal(err)
		}
		lines := make([]string, len(all))
		for i, one := range all {
			one.ID = 0
			lines[i] = told(t, one, nil)
		}
		return lines
	}
	if a, b := audit(here), audit(there); len(a) < 100 || !slices.Equal(a, b) {
		t.Errorf("the audit has %d entries of this process and %d over HTTP:\n%s\n\n%s", len(a), len(b), strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
}

// What a value cannot be is refused by the same words, though no text of it is read in this process.
func TestBothWaysRefuseTheSameValues(t *testing.T) {
	api, ann := lively(t), access.Process("ann")
	far, near := overHTTP(t, api, &ann), server.Local(api, ann)
	for name, ask := range map[string]func(*server.Client) error{
		"no run":             func(c *server.Client) error { _, err := server.ShowRun.Call(t.Context(), c, -1); return err },
		"no number of a run": func(c *server.Client) error { _, err := server.ShowRun.Call(t.Context(), c, 0); return err },
		"no name":            func(c *server.Client) error { _, err := server.DisableUser.Call(t.Context(), c, ""); return err },
		"a name of a folder": func(c *server.Client) error { _, err := server.DisableUser.Call(t.Context(), c, ".."); return err },
		"a name with signs":  func(c *server.Client) error { _, err := server.DisableUser.Call(t.Context(), c, "a/b c?"); return err },
		"too many": func(c *server.Client) error {
			_, err := server.ListEvents.Call(t.Context(), c, server.ListQuery{Limit: 10_001})
			return err
		},
		"another's filter": func(c *server.Client) error {
			_, err := server.ListEvents.Call(t.Context(), c, server.ListQuery{Template: "a"})
			return err
		},
		"no number before": func(c *server.Client) error {
			_, err := server.ListEvents.Call(t.Context(), c, server.ListQuery{Before: -1})
			return err
		},
		"nothing to send": func(c *server.Client) error {
			_, err := server.SendMessage.Call(t.Context(), c, server.SendRequest{})
			return err
		},
		"no role": func(c *server.Client) error {
			_, err := server.SetRole.Call(t.Context(), c, signin.RoleRequest{User: "ann"})
			return err
		},
		"two keys": func(c *server.Client) error {
			_, err := server.SendMessage.Call(t.Context(), c, server.SendRequest{Phone: shopper, Send: messaging.Send{Text: "a"}, IdempotencyKey: []string{"a", "b"}})
			return err
		},
		"no rows": func(c *server.Client) error {
			return server.ExportRows.Each(t.Context(), c, 9, func(*server.RowView) error { return nil })
		},
		"no list": func(c *server.Client) error {
			return server.ExportMessages.Each(t.Context(), c, server.ListQuery{State: "lost"}, func(*server.MessageView) error { return nil })
		},
	} {
		a, b := ask(near), ask(far)
		if _, is := errors.AsType[*refusal.Error](a); !is || told(t, nil, a) != told(t, nil, b) {
			t.Errorf("%s: in this process %v, over HTTP %v", name, told(t, nil, a), told(t, nil, b))
		}
	}
}

// What a page does with an answer is not done to what the daemon has.
func TestAnAnswerIsTheCallersOwn(t *testing.T) {
	own := server.ConfigView{Files: []server.ConfigFileView{{Name: "config.yaml", Lines: []string{"mode: live"}}}}
	ask := server.Local(server.Admin(server.AdminOptions{
		Daemon: named{}, Config: func(context.Context) (server.ConfigView, error) { return own, nil }, Log: zap.NewNop(),
	}), access.Process("ann"))
	told, err := server.ShowConfig.Call(t.Context(), ask, server.None{})
	if err != nil {
		t.Fatal(err)
	}
	told.Files[0].Lines[0] = "edited"
	if own.Files[0].Lines[0] != "mode: live" {
		t.Errorf("the daemon has %q", own.Files[0].Lines)
	}
}
