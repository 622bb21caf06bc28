package server

import (
	"testing"

	"github.com/nudgewire/nudgewire/internal/store/chain"
)

// What the audit keeps of a request is told as a sentence, with the names that it knows.
func TestTheAuditIsToldInSentences(t *testing.T) {
	for _, tt := range []struct {
		e    chain.Entry
		want string
	}{
		{chain.Entry{Action: "POST /runs/{id}/approve", Subject: "/runs/2/approve"}, "approved run 2"},
		{chain.Entry{Action: "POST /halt", Subject: "/halt", Detail: `{"scope":"trigger","name":"vip","reason":"x"}`}, "halted trigger vip"},
		{chain.Entry{Action: "POST /halt", Subject: "/halt", Detail: `{"scope":"all"}`}, "halted everything"},
		{chain.Entry{Action: "POST /resume", Subject: "/resume", Detail: `{"scope":"all"}`}, "let everything go on"},
		{chain.Entry{Action: "POST /messages/{id}/resolve", Subject: "/messages/7/resolve", Detail: `{"as":"drop"}`}, "said of message 7 in doubt: drop"},
		{chain.Entry{Action: "POST /messages/resolve", Subject: "/messages/resolve", Detail: `{"as":"resend"`}, "said of messages in doubt:"},
		{chain.Entry{Action: "POST /users/{user}/role", Subject: "/users/ann/role", Detail: `{"role":"admin"}`}, "gave ann the role admin"},
		{chain.Entry{Action: "POST /jobs/{name}/run", Subject: "/jobs/a/b/run"}, "ran the job"},
		{chain.Entry{Action: "GET /why", Subject: "contact 568708ac5f79f6a3"}, "read the story of a contact"},
		{chain.Entry{Action: "sign-in", Subject: "by a password"}, "signed in by a password"},
		{chain.Entry{Action: "start", Subject: "config 3f2a9c81d07e"}, "started with config 3f2a9c81d07e"},
		{chain.Entry{Action: "POST /of-a-later-version", Subject: "/of-a-later-version"}, "POST /of-a-later-version /of-a-later-version"},
	} {
		if got := auditWords(&tt.e); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.e.Action, tt.e.Subject, got, tt.want)
		}
	}
}

// A route is told in words exactly where the audit has it.
func TestEachRouteOfTheAuditHasItsWords(t *testing.T) {
	for _, rt := range Routes() {
		if in := rt.Changes || rt.discloses != 0; in != (rt.Record != "") {
			t.Errorf("%s is in the audit: %t; its words there are %q", rt.action(), in, rt.Record)
		}
	}
}
