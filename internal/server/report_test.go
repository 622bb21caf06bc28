package server_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

func TestAReportCountsWhatHappenedInDaysOfTheZone(t *testing.T) {
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	today := time.Date(2026, 7, 15, 14, 30, 0, 0, zone)
	now := today
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "n.db"), Settle: triggers.Settle, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ask := server.Local(server.Admin(server.AdminOptions{
		Store: s, Country: "GB", Zone: func() *time.Location { return zone }, Now: func() time.Time { return today }, Log: zap.NewNop(),
	}), access.Process("Ann"))
	number := 0
	sent := func(at time.Time, trigger string, phone messaging.Phone, end func(*messaging.Attempt), polls ...messaging.Poll) {
		t.Helper()
		now = at
		number++
		key := fmt.Sprint(number)
		d := messaging.Message{Trigger: trigger, Key: key, Phone: phone, Category: messaging.Utility, Send: messaging.Send{Template: "t-" + trigger}, DueAt: at, CreatedAt: at}
		_, err := s.Accept(t.Context(), []messaging.Plan{{
			Event: messaging.Event{Connector: "shop", Kind: "order.created", DedupeKey: key, ReceivedAt: at, Contact: messaging.Contact{Phone: phone}},
			Proposals: []messaging.Proposal{{
				Decision: messaging.Decision{Trigger: trigger, Outcome: messaging.Planned, At: at}, Correlation: messaging.Correlation{Trigger: trigger, Key: key, Phone: phone},
				Message: d, OnRepeat: messaging.OnRepeat{Mode: messaging.Parallel}, Cooldown: messaging.Cooldown{Mode: messaging.CooldownNone}, EventAt: at,
			}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Claim(t.Context(), messaging.ClaimRequest{Owner: "me", Now: at, Lease: time.Minute, Authentication: 1, Utility: 1})
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		a := messaging.Attempt{
			MessageID: got[0].ID, Owner: "me", Number: 1, At: at, State: messaging.StateAccepted,
			Message: &messaging.Message{ServiceID: messaging.ServiceID(key), Phone: phone, Category: d.Category, NextPollAt: at.Add(time.Minute)},
		}
		if end != nil {
			end(&a)
		}
		if err := s.Finish(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		for _, p := range polls {
			p.MessageID = got[0].ID
			if err := s.FinishPoll(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
	}
	delivered := func(at time.Time) messaging.Poll {
		return messaging.Poll{Status: messaging.StatusDelivered, At: at, Final: true}
	}
	weekAgo := time.Date(2026, 7, 8, 0, 30, 0, 0, zone) // still the 7th in UTC
	sent(weekAgo, "hello", "447700900123", nil)
	morning := time.Date(2026, 7, 15, 9, 0, 0, 0, zone)
	sent(morning, "hello", "447700900123", nil, delivered(morning.Add(4*time.Second)))
	sent(morning, "hello", "5511999990000", nil, delivered(morning.Add(20*time.Minute)))
	sent(morning, "bye", "447700900123", func(a *messaging.Attempt) {
		a.State, a.Message, a.Class, a.Reason = messaging.StateRejected, nil, messaging.ErrorPermanent, "no such number"
	})
	day := func(d int) time.Time { return time.Date(2026, 7, d, 0, 0, 0, 0, zone) }
	v, err := server.ShowReport.Call(t.Context(), ask, report.Query{Since: day(15), By: "day", Group: "trigger"})
	if err != nil {
		t.Fatal(err)
	}
	want := report.View{
		Zone: "Europe/London", Since: day(15).UTC(), Until: today.UTC(), CountedSince: time.Date(2026, 7, 7, 23, 0, 0, 0, time.UTC),
		Total:  report.Stages{Events: 3, Decisions: 3, Queued: 3, Accepted: 2, Delivered: 2, Rejected: 1},
		Before: report.Stages{Events: 1, Decisions: 1, Queued: 1, Accepted: 1},
		Rows: []report.Row{
			{At: day(15).UTC(), Group: "hello", Stages: report.Stages{Decisions: 2, Queued: 2, Accepted: 2, Delivered: 2}},
			{At: day(15).UTC(), Group: "bye", Stages: report.Stages{Decisions: 1, Queued: 1, Rejected: 1}},
		},
		Ended:    []report.EndedCount{{State: "rejected", Reason: "permanent", Messages: 1}},
		Outcomes: []report.OutcomeCount{{Outcome: "planned", Decisions: 3}},
	}
	arrivals := v.Arrivals
	v.Arrivals = report.ArrivalsView{}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	// One took 2 to 5 seconds, the other 15 minutes to an hour.
	if arrivals.Messages != 2 || arrivals.P50 != 5 || arrivals.P95 < 900 || arrivals.P95 > 3600 {
		t.Errorf("arrivals %+v", arrivals)
	}
	if of := arrivals.Times; len(of) != 1 || of[0] != (report.ArrivalTime{At: day(15).UTC(), Messages: 2, P50: arrivals.P50, P95: arrivals.P95}) {
		t.Errorf("arrivals by day %+v", of)
	}
	for group, want := range map[string]string{"country": "[BR GB]", "template": "[t-bye t-hello]", "connector": "[shop]", "job": "[(triggers)]"} {
		v, err := server.ShowReport.Call(t.Context(), ask, report.Query{Since: day(15), Group: group})
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, row := range v.Rows {
			names = append(names, row.Group)
		}
		for i := range names {
			for j := range names[:i] {
				if names[i] < names[j] {
					names[i], names[j] = names[j], names[i]
				}
			}
		}
		if got := fmt.Sprint(names); got != want {
			t.Errorf("groups by %s: %s, want %s", group, got, want)
		}
	}
	if v, err = server.ShowReport.Call(t.Context(), ask, report.Query{By: "day", Trigger: "hello"}); err != nil || !v.Since.Equal(day(9)) || v.Total.Queued != 2 || v.Total.Events != 0 {
		t.Errorf("the usual report of one trigger is %+v, %v", v, err)
	}
	rows, err := server.ShowReport.Call(t.Context(), ask, report.Query{Since: day(15), By: "day", Group: "trigger", Only: report.OnlyRows})
	if diff := cmp.Diff(want.Rows, rows.Rows); err != nil || diff != "" || rows.Total != (report.Stages{}) {
		t.Errorf("the rows alone: %v %+v (-want +got):\n%s", err, rows.Total, diff)
	}
	for _, one := range []struct {
		q     report.Query
		field string
		words string
	}{
		{report.Query{By: "week"}, "by", `by "week": want hour or day`},
		{report.Query{Group: "phone"}, "group", `group "phone": want trigger, job`},
		{report.Query{Trigger: "a", Job: "b"}, "job", "and not of both"},
		{report.Query{Since: day(10), Until: day(9)}, "since", "is not before"},
		{report.Query{Since: day(1).AddDate(-3, 0, 0)}, "since", "400 days at the most"},
		{report.Query{Since: day(1).AddDate(0, -4, 0), By: "hour"}, "by", "62 days at the most"},
	} {
		_, err := server.ShowReport.Call(t.Context(), ask, one.q)
		e, is := errors.AsType[*refusal.Error](err)
		if !is || e.Status != 400 || e.Field != one.field || !strings.Contains(e.Words, one.words) {
			t.Errorf("%+v: %v", one.q, err)
		}
	}
}
