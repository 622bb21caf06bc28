package store

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/stored"
)

// No byte of the database, nor of its log once that was moved, holds a code that was sent, and no
// row does.
func TestCodesLeaveNoBytesBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	s, err := Open(t.Context(), Options{DSN: "sqlite:" + path, Settle: func(messaging.Proposal, messaging.Facts) messaging.Settlement {
		return messaging.Settlement{Outcome: messaging.Planned, Insert: true}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	plan := func(key string, forget bool, said string) messaging.Plan {
		const phone = "447700900123"
		return messaging.Plan{
			Forgets: forget,
			Event: messaging.Event{
				Connector: "shop", Kind: "login_code", DedupeKey: key, ReceivedAt: now, Contact: messaging.Contact{Phone: phone},
				Payload: fmt.Appendf(nil, `{"code":%q,"rest":%q}`, said, strings.Repeat("x", 300)), ContentType: "application/json",
				Form: messaging.Form{Answers: map[string]string{"code": said}},
			},
			Proposals: []messaging.Proposal{{
				Decision: messaging.Decision{Trigger: "code", Outcome: messaging.Planned, Clauses: []messaging.Clause{
					{Text: "raw.code != nil", Held: true, Values: []messaging.Value{{Name: "raw.code", Value: said}}},
				}},
				Correlation: messaging.Correlation{Trigger: "code", Key: key, Phone: phone}, EventAt: now,
				Message: messaging.Message{
					Trigger: "code", Key: key, Phone: phone, Category: messaging.Authentication, DueAt: now, ExpiresAt: now.Add(time.Hour),
					Send: messaging.Send{Template: "login_code", Language: "en", Variables: []string{said}, Forget: forget},
				},
			}},
		}
	}
	const codes = 600
	var plans []messaging.Plan
	for i := range codes {
		// What is kept stands between, of other lengths.
		plans = append(plans, plan("c"+strconv.Itoa(i), true, fmt.Sprintf("SECRET%06d", i)+strings.Repeat("9", i%7*900)),
			plan("k"+strconv.Itoa(i), false, strings.Repeat("k", i%90)))
	}
	for len(plans) > 0 {
		if _, err := s.Accept(t.Context(), plans[:40]); err != nil {
			t.Fatal(err)
		}
		plans = plans[40:]
	}
	for n := 0; n < 2*codes; {
		got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "a node with a long name", Now: now, Lease: time.Minute, Authentication: 30, Utility: 30})
		if err != nil || len(got) == 0 {
			t.Fatalf("claimed %d of %d: %v", len(got), n, err)
		}
		n += len(got)
		for i, d := range got {
			a := messaging.Attempt{MessageID: d.ID, Owner: d.Owner, Number: d.Attempt, At: now, State: messaging.StateRejected, Reason: "no such phone"}
			if i%2 == 0 {
				a.State, a.Reason, a.Message = messaging.StateAccepted, "", &messaging.Message{ServiceID: "1", NextPollAt: now}
			}
			if err := s.Finish(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
	}
	raw, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{`SELECT content FROM events`, `SELECT reason || clauses FROM decisions`} {
		rows, err := raw.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		n := 0
		for rows.Next() {
			var text []byte
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(query, "events") {
				facts, payload, err := stored.UnpackContent(text)
				if err != nil {
					t.Fatal(err)
				}
				text = append([]byte(facts), payload...)
			}
			if bytes.Contains(text, []byte("SECRET")) {
				t.Errorf("%s says %s", query, text)
			}
			n++
		}
		if err := rows.Err(); err != nil || n == 0 {
			t.Errorf("%d rows of %s: %v", n, query, err)
		}
	}
	for _, file := range []string{path, path + "-wal"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b, []byte("SECRET")); n > 0 {
			t.Errorf("%s of %d bytes holds %d of %d codes", filepath.Base(file), len(b), n, codes)
		}
	}
}
