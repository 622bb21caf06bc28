package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/store"
)

// approving is jobs whose runs are only approved.
type approving struct {
	week
	store *store.Store
}

func (a approving) Approve(ctx context.Context, id messaging.RunID, by messaging.Approval) error {
	return a.store.ApproveRun(ctx, id, func(r *messaging.Run) error {
		if r.State != messaging.RunAwaiting {
			return messaging.ErrMoved
		}
		return r.Approve(by)
	})
}

// Who approves is whom the request proves: not its body, not a second token of the same person, and not the same request again.
func TestTwoPeopleApproveARunByTheAPI(t *testing.T) {
	w := newTower(t)
	api := server.Admin(server.AdminOptions{Store: w.store, Daemon: w, Jobs: approving{store: w.store}, Country: "GB", Now: func() time.Time { return w.now }, Log: zap.NewNop()})
	w.access = console(api, w.store, func() time.Time { return w.now })
	id, _, err := w.store.StartRun(t.Context(), messaging.Run{
		Job: "winback", Slot: "2026-03-02 10:00", DueAt: w.now, Cause: messaging.CauseCron, Deliver: messaging.DeliverCSV, State: messaging.RunAwaiting, Reason: "12,000 rows are too many",
		CreatedAt: w.now, Tally: messaging.Tally{Kept: 12_000, SHA256: "ab"}, Approvals: messaging.Approvals{Need: 2},
	})
	if err != nil || id != 1 {
		t.Fatal(id, err)
	}
	first, second := w.token("first", time.Time{}, access.Operate, access.Read), w.token("second", time.Time{}, access.Operate, access.Manage)
	made := with(second.Token, "POST", "/tokens", `{"name":"third","scopes":["operate"]}`, w.access).Body.String()
	_, third, _ := strings.Cut(made, `"token":"`)
	third, _, _ = strings.Cut(third, `"`)
	reader := w.token("reader", time.Time{}, access.Read, access.Phones)
	if rec := with(reader.Token, "POST", "/runs/1/approve", "", w.access); rec.Code != http.StatusForbidden {
		t.Errorf("without the scope: %d", rec.Code)
	}
	for i, token := range []string{first.Token, first.Token, second.Token, third} { // all of them are ann's
		rec := with(token, "POST", "/runs/1/approve", `{"who":"ben","person":"ben"}`, w.access)
		if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"words":"1 of 2 approved: first (`+first.ID+`)"`) || !strings.Contains(rec.Body.String(), `"state":"awaiting_approval"`) {
			t.Errorf("approval %d: %d %s", i, rec.Code, rec.Body)
		}
	}
	if rec := with(first.Token, "GET", "/status", "", w.access); !strings.Contains(rec.Body.String(), "run 1 of winback waits to be approved: 12,000 rows are too many; 1 of 2 approved: first (") {
		t.Errorf("status: %s", rec.Body)
	}
	r := httptest.NewRequestWithContext(access.WithWho(t.Context(), access.Who{Name: "ben", Scopes: []access.Scope{access.Operate}, From: access.FromSession}), "POST", server.Base+"/runs/1/approve", http.NoBody)
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, r)
	run, err := w.store.Run(t.Context(), 1)
	if rec.Code != http.StatusOK || err != nil || run.State != messaging.RunUploading || run.Approved != "first ("+first.ID+"), ben" || run.Approvals.By[1].Via != "session" {
		t.Errorf("the second person: %d %s; %+v, %v", rec.Code, rec.Body, run.Approvals, err)
	}
	all, err := server.ListAudit.Call(t.Context(), w.ask, server.AuditQuery{Limit: 50})
	if err != nil || all[0].Who != "ben" || all[0].Action != "POST /runs/{id}/approve" || all[0].Subject != "/runs/1/approve" {
		t.Errorf("the audit: %+v, %v", all[0], err)
	}
}

// One admin is one person: whoever she lets in, by whatever way and over however many steps, does not approve beside her.
func TestOneAdminIsNotTwoPeople(t *testing.T) {
	type world struct {
		*tower
		as  func(who access.Who, method, path, body string) *httptest.ResponseRecorder
		who func(answer string) access.Who // the user of an answer
	}
	eve := access.Who{Name: "eve", Scopes: access.Scopes, From: access.FromSession, Makers: []string{"root (0)"}}
	add := func(w *world, by access.Who, name string) access.Who {
		return w.who(w.as(by, "POST", "/users", `{"name":"`+name+`","role":"admin"}`).Body.String())
	}
	token := func(w *world, by access.Who, name string) access.Who {
		_, text, _ := strings.Cut(w.as(by, "POST", "/tokens", `{"name":"`+name+`","scopes":["operate","admin"]}`).Body.String(), `"token":"`)
		text, _, _ = strings.Cut(text, `"`)
		who, err := (&signin.Tokens{Store: auth.Records{Store: w.store}, Now: func() time.Time { return w.now }, Log: zap.NewNop()}).Who(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		return who
	}
	for name, tt := range map[string]struct {
		second func(w *world, ben access.Who) access.Who
		status int
		words  string
	}{
		"a user whom she added":        {func(w *world, ben access.Who) access.Who { return add(w, eve, "pup") }, 409, "pup was let in by eve"},
		"a user of a token of hers":    {func(w *world, ben access.Who) access.Who { return add(w, token(w, eve, "crm"), "pup") }, 409, "pup was let in by eve"},
		"a user of a user":             {func(w *world, ben access.Who) access.Who { return add(w, add(w, eve, "pup"), "pup2") }, 409, "pup2 was let in by eve"},
		"a token of a user of hers":    {func(w *world, ben access.Who) access.Who { return token(w, add(w, eve, "pup"), "crm") }, 409, "was let in by eve"},
		"a token of a token of a user": {func(w *world, ben access.Who) access.Who { return token(w, token(w, add(w, eve, "pup"), "crm"), "erp") }, 409, "was let in by eve"},
		"a user of one who was removed": {func(w *world, ben access.Who) access.Who {
			second := add(w, add(w, eve, "pup"), "pup2")
			w.as(eve, "DELETE", "/users/pup", "")
			return second
		}, 409, "pup2 was let in by eve"},
		"somebody whose password she reset": {func(w *world, ben access.Who) access.Who {
			return w.who(w.as(eve, "POST", "/users/ben/reset", "").Body.String())
		}, 409, "ben was let in by eve"},
		"somebody whom she gave a role": {func(w *world, ben access.Who) access.Who {
			w.as(eve, "POST", "/users/ben/role", `{"role":"viewer"}`)
			return ben
		}, 200, ""},
		"somebody else's user": {func(w *world, ben access.Who) access.Who { return ben }, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{tower: newTower(t)}
			door := &signin.Sessions{Store: auth.Records{Store: w.store}, Now: func() time.Time { return w.now }, Log: zap.NewNop()}
			w.api = server.Admin(server.AdminOptions{
				Store: w.store, Daemon: w.tower, Jobs: approving{store: w.store}, Country: "GB", Now: func() time.Time { return w.now }, Log: zap.NewNop(), SignIns: door, ConsoleURL: func() string { return "https://c.example" },
			})
			w.as = func(who access.Who, method, path, body string) *httptest.ResponseRecorder {
				rec := httptest.NewRecorder()
				w.api.ServeHTTP(rec, httptest.NewRequestWithContext(access.WithWho(t.Context(), who), method, server.Base+path, strings.NewReader(body)))
				return rec
			}
			w.who = func(answer string) access.Who {
				_, name, _ := strings.Cut(answer, `"name":"`)
				name, _, _ = strings.Cut(name, `"`)
				u, err := w.door().Store.User(t.Context(), name)
				if err != nil {
					t.Fatal(answer, err)
				}
				return access.Who{Name: u.Name, Scopes: access.Scopes, From: access.FromSession, Makers: u.Makers, LetInAt: u.LetInAt} // as a session has it
			}
			add(w, access.Process("root (0)"), "another")
			second := tt.second(w, add(w, access.Process("root (0)"), "ben"))
			_, _, err := w.store.StartRun(t.Context(), messaging.Run{
				Job: "winback", Slot: "2026-03-02 10:00", DueAt: w.now, Cause: messaging.CauseCron, Deliver: messaging.DeliverCSV, State: messaging.RunAwaiting, Reason: "many",
				CreatedAt: w.now.Add(time.Second), Tally: messaging.Tally{Kept: 12_000, SHA256: "ab"}, Approvals: messaging.Approvals{Need: 2},
			})
			if err != nil {
				t.Fatal(err)
			}
			if rec := w.as(eve, "POST", "/runs/1/approve", ""); rec.Code != http.StatusOK {
				t.Fatalf("eve: %d %s", rec.Code, rec.Body)
			}
			rec := w.as(second, "POST", "/runs/1/approve", "")
			run, err := w.store.Run(t.Context(), 1)
			if rec.Code != tt.status || !strings.Contains(rec.Body.String(), tt.words) || err != nil || (run.State == messaging.RunUploading) != (tt.status == 200) {
				t.Errorf("%d %s; %s by %+v, %v", rec.Code, rec.Body, run.State, run.Approvals.By, err)
			}
		})
	}
}
