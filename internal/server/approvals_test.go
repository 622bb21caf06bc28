package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
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
	first, second := w.token("first", time.Time{}, server.Operate, server.Read), w.token("second", time.Time{}, server.Operate, server.Manage)
	made := with(second.Token, "POST", "/tokens", `{"name":"third","scopes":["operate"]}`, w.access).Body.String()
	_, third, _ := strings.Cut(made, `"token":"`)
	third, _, _ = strings.Cut(third, `"`)
	reader := w.token("reader", time.Time{}, server.Read, server.Phones)
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
	r := httptest.NewRequestWithContext(server.WithWho(t.Context(), server.Who{Name: "ben", Scopes: []server.Scope{server.Operate}, From: server.FromSession}), "POST", server.Base+"/runs/1/approve", http.NoBody)
	rec := httptest.NewRecorder()
	api.ServeHTTP(rec, r)
	run, err := w.store.Run(t.Context(), 1)
	if rec.Code != http.StatusOK || err != nil || run.State != messaging.RunUploading || run.Approved != "first ("+first.ID+"), ben" || run.Approvals.By[1].Via != "session" {
		t.Errorf("the second person: %d %s; %+v, %v", rec.Code, rec.Body, run.Approvals, err)
	}
	all, err := w.ask.Audit(t.Context(), 0, 50)
	if err != nil || all[0].Who != "ben" || all[0].Action != "POST /runs/{id}/approve" || all[0].Subject != "/runs/1/approve" {
		t.Errorf("the audit: %+v, %v", all[0], err)
	}
}
