package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
)

// Who is told of a contact is in the audit before: once an hour for each who asks, however often a page asks by itself, and each time for what hands out
// all of one or rows of many. A contact stands there as a hash, by which whoever may see phones and the audit finds who looked.
func TestWhoIsToldOfAContactIsInTheAudit(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 5, 0, 0, time.UTC)
	h := livelyAt(t, func() time.Time { return now })
	ann, bob := access.Process("ann"), access.Who{Name: "bob", Scopes: access.Scopes, From: access.FromToken}
	read := func(who *access.Who, path string) (all []server.AuditView, status int) {
		t.Helper()
		res := call(h, who, http.MethodGet, server.Base+path, "")
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(path, "/audit") && res.StatusCode == http.StatusOK {
			if strings.Contains(string(text), shopper[2:]) {
				t.Errorf("the audit has the phone: %s", text)
			}
			if err := json.Unmarshal(text, &all); err != nil {
				t.Fatal(err)
			}
		}
		return all, res.StatusCode
	}
	each := map[string]bool{}
	for _, rt := range server.Routes() { // no route that takes a phone, and none that hands out rows, is left out
		named := strings.Contains(rt.Path, "{phone}") || slices.Contains(rt.Query, "phone") || slices.Contains(rt.Query, "find")
		if rt.Method == http.MethodGet && rt.Path != "/audit" && (named || rt.Scope == access.Phones || strings.HasSuffix(rt.Path, "/export")) {
			each[rt.Path] = strings.HasSuffix(rt.Path, "/export") || rt.Scope == access.Phones
		}
	}
	if len(each) != 10 {
		t.Errorf("%d routes tell of people: %v", len(each), each)
	}
	for path, always := range each {
		now = now.Add(time.Hour)
		before, _ := read(&ann, "/audit?limit=1000")
		at := strings.NewReplacer("{phone}", "+"+shopper, "{id}", "1").Replace(path)
		switch {
		case path == "/contacts":
			at += "?find=%2B" + shopper
		case !strings.Contains(path, "{phone}") && path != "/consents" && path != "/runs/{id}/rows":
			at += "?phone=%2B" + shopper
		}
		for _, who := range []*access.Who{&ann, &ann, &bob} {
			read(who, at)
		}
		after, _ := read(&ann, "/audit?limit=1000")
		want := 2
		if always {
			want = 3
		}
		if got := len(after) - len(before); got != want {
			t.Errorf("GET %s is in the audit %d times, want %d", at, got, want)
		}
		subject, is := strings.CutPrefix(after[0].Subject, "contact ")
		if by := path == "/consents" || path == "/runs/{id}/rows"; is == by || is && len(subject) != 16 || after[0].Who != "bob" || after[0].Via != "token" || after[0].Action != "GET "+path {
			t.Errorf("GET %s stands there as %+v", at, after[0])
		}
	}
	now = now.Add(time.Hour)
	for _, at := range []string{"/why?phone=%2B" + shopper, "/contacts/" + shopper, "/messages?phone=" + shopper, "/why?phone=07700900123"} { // one page asks for several
		read(&ann, at)
	}
	if all, _ := read(&ann, "/audit"); all[0].Action != "GET /why" || all[1].Who != "bob" {
		t.Errorf("a page is recorded as %+v", all[:2])
	}
	for _, at := range []string{"/messages", "/events", "/contacts/nobody", "/messages?state=waiting"} { // about nobody
		read(&bob, at)
	}
	if all, _ := read(&ann, "/audit"); all[0].Action != "GET /why" {
		t.Errorf("what is about nobody is recorded: %+v", all[0])
	}
	about, _ := read(&ann, "/audit?phone=07700900123")
	for _, e := range about {
		if e.Subject != about[0].Subject {
			t.Errorf("%+v is not about the contact", e)
		}
	}
	if other, _ := read(&ann, "/audit?phone=447700900789"); len(about) < 17 || len(other) != 0 {
		t.Errorf("%d entries are about the contact, %d about another one", len(about), len(other))
	}
	if _, status := read(&access.Who{Name: "eve", Scopes: []access.Scope{access.Manage}}, "/audit?phone="+shopper); status != http.StatusForbidden {
		t.Errorf("who may see no phones asks whose hash is whose: %d", status)
	}
}

// A search that cannot be read is no search for everything.
func TestASearchOfTheAuditIsReadOrRefused(t *testing.T) {
	h := lively(t)
	for query, status := range map[string]int{
		"configs=true": http.StatusOK, "configs=yes": http.StatusBadRequest, "configs=true&phone=%2B447700900123": http.StatusBadRequest, "before=x": http.StatusBadRequest,
	} {
		ann := access.Process("ann")
		res := call(h, &ann, http.MethodGet, server.Base+"/audit?"+query, "")
		if err := res.Body.Close(); err != nil || res.StatusCode != status {
			t.Errorf("%s: %d (%v), want %d", query, res.StatusCode, err, status)
		}
	}
}
