package suite

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/audit"
	"github.com/nudgewire/nudgewire/internal/auth"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/chain"
)

// apiTokens are kept by their hash, and end at once.
func (s suite) apiTokens(t *testing.T) {
	l := s.open(t)
	crm := auth.Token{ID: "aaaa", Name: "crm", Hash: sha256.Sum256([]byte("one")), Scopes: []string{"read", "send"}, CreatedAt: noon, CreatedBy: "ann (1000)", ExpiresAt: noon.Add(time.Hour), Makers: []string{"root (0)"}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(l.auth().AddToken(l.ctx, crm))
	got, err := l.auth().Token(l.ctx, "aaaa")
	must(err)
	same(t, "kept", crm, got)
	second := crm
	second.ID = "bbbb"
	if err := l.auth().AddToken(l.ctx, second); !errors.Is(err, auth.ErrTokenName) {
		t.Errorf("a second one of a name: %v", err)
	}
	if _, err := l.auth().Token(l.ctx, "cccc"); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("one that is not there: %v", err)
	}
	must(l.auth().TokenUsed(l.ctx, "aaaa", noon.Add(time.Minute)))
	must(l.auth().TokenUsed(l.ctx, "aaaa", noon)) // told late by another node
	crm.UsedAt = noon.Add(time.Minute)
	must(l.auth().RevokeToken(l.ctx, "aaaa", noon.Add(2*time.Minute)))
	crm.RevokedAt = noon.Add(2 * time.Minute)
	if err := l.auth().RevokeToken(l.ctx, "aaaa", noon.Add(time.Hour)); !errors.Is(err, messaging.ErrNotFound) {
		t.Errorf("revoked twice: %v", err)
	}
	second.CreatedAt = noon.Add(3 * time.Minute)
	must(l.auth().AddToken(l.ctx, second)) // the name is free again
	third := second
	third.ID, third.CreatedAt, third.ExpiresAt = "dddd", noon.Add(2*time.Hour), time.Time{}
	must(l.auth().AddToken(l.ctx, third)) // the second one has expired by then
	all, err := l.auth().Tokens(l.ctx)
	must(err)
	same(t, "all", []auth.Token{third, second, crm}, all)
	if crm.Good(noon.Add(30*time.Minute)) || !second.Good(noon.Add(30*time.Minute)) || second.Good(second.ExpiresAt) || !third.Good(noon.Add(9000*time.Hour)) {
		t.Error("what is good is not told from what was revoked or has expired")
	}
}

// audited grows by whole entries, in a chain.
func (s suite) audited(t *testing.T) {
	l := s.open(t)
	auditOf(t, l, l)
}

// nodeAudit is one chain that two nodes add to.
func (p pair) nodeAudit(t *testing.T) {
	a, b := p.two(t)
	auditOf(t, a, b)
}

func auditOf(t *testing.T, a, b *ledger) {
	t.Helper()
	const each, at = 20, 4
	if n, last, err := (audit.Records{Store: a.Store}).Verify(a.ctx, 0, ""); n != 0 || last != "" || err != nil {
		t.Errorf("an empty chain: %d %q %v", n, last, err)
	}
	var all sync.WaitGroup
	for i := range at {
		l := []*ledger{a, b}[i%2]
		all.Go(func() {
			for j := range each {
				e := chain.Entry{At: noon, Who: fmt.Sprint("who ", i), Via: "token", Action: "POST /halt", Subject: "/halt", Detail: fmt.Sprint(j), Outcome: ""}
				if err := l.Audit(l.ctx, e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	n, last, err := audit.Records{Store: b.Store}.Verify(b.ctx, 0, "")
	if n != each*at || len(last) != 64 || err != nil {
		t.Fatalf("the chain: %d entries, %q, %v", n, last, err)
	}
	entries, err := audit.Records{Store: a.Store}.Entries(a.ctx, audit.Search{Limit: 3})
	if err != nil || len(entries) != 3 || entries[0].ID != n || entries[0].Hash != last || entries[2].ID != n-2 {
		t.Errorf("the newest: %+v, %v", entries, err)
	}
	if more, err := (audit.Records{Store: a.Store}).Entries(a.ctx, audit.Search{Before: 3, Limit: 50}); err != nil || len(more) != 2 || more[0].ID != 2 {
		t.Errorf("those before the third: %+v, %v", more, err)
	}
	if _, _, err := (audit.Records{Store: a.Store}).Verify(a.ctx, n, last); err != nil {
		t.Errorf("with its last hash: %v", err)
	}
	wrong, is := errors.AsType[*audit.Error](func() error { _, _, err := audit.Records{Store: a.Store}.Verify(a.ctx, n+1, last); return err }())
	if !is || wrong.ID != n+1 {
		t.Errorf("one entry too few: %v", wrong)
	}
	wrong, is = errors.AsType[*audit.Error](func() error { _, _, err := audit.Records{Store: a.Store}.Verify(a.ctx, n-1, last); return err }())
	if !is || wrong.ID != n-1 {
		t.Errorf("another hash than is known: %v", wrong)
	}
	for _, subject := range []string{"config 3f2a", "/reload", "configs", "/config", "config"} {
		if err := a.Audit(a.ctx, chain.Entry{At: noon, Who: "ann", Via: "process", Action: "start", Subject: subject}); err != nil {
			t.Fatal(err)
		}
	}
	configs, err := audit.Records{Store: b.Store}.Entries(b.ctx, audit.Search{Configs: true, Limit: 10})
	if err != nil || len(configs) != 2 || configs[0].Subject != "/reload" || configs[1].Subject != "config 3f2a" {
		t.Errorf("the configs: %+v, %v", configs, err)
	}
	if older, err := (audit.Records{Store: b.Store}).Entries(b.ctx, audit.Search{Configs: true, Before: configs[0].ID, Limit: 10}); err != nil || len(older) != 1 {
		t.Errorf("older configs: %+v, %v", older, err)
	}
}
