package suite

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/tally"
)

// counted are the counts of a query, a line each, in the order of the lines.
func (l *ledger) counted(q report.HourQuery) (out []string) {
	l.t.Helper()
	if q.Until.IsZero() {
		q.From, q.Until = noon.Add(-1000*day), noon.Add(1000*day)
	}
	all, err := l.report().Hours(l.ctx, q)
	l.must(err)
	for _, c := range all {
		at := ""
		if !c.At.IsZero() {
			at = c.At.Format("02 15:04 ")
		}
		out = append(out, fmt.Sprintf("%s%s %s %s/%s/%s/%s %d", at, c.About, c.What, c.Name, c.Detail, c.Country, c.Class, c.N))
	}
	slices.Sort(out)
	return out
}

// everything tells all apart.
var everything = report.HourQuery{By: report.ByHour, Names: true, Details: true, Countries: true, Classes: true}

// rehour compares what the counts by the hour say with the rows themselves.
func (l *ledger) rehour(events []store.EventRow, messages []store.MessageStory) {
	l.t.Helper()
	want := map[string]int64{}
	for _, e := range events {
		want["event"]++
		for _, d := range e.Decisions {
			want["decision "+string(d.Outcome)]++
		}
	}
	for _, d := range messages {
		want["queued"]++
		switch d.State {
		case messaging.StateAccepted, messaging.StateRejected, messaging.StateCancelled, messaging.StateDropped:
			want[string(d.State)]++
		}
		if m := &d.Message; m.Status != "" {
			for what, is := range map[string]bool{
				"delivered": !m.DeliveredAt.IsZero() || !m.ReadAt.IsZero(), "read": !m.ReadAt.IsZero(), "failed": !m.FailedAt.IsZero(),
				"expired": m.Status == messaging.StatusExpired,
			} {
				if is {
					want[what]++
				}
			}
		}
	}
	all, err := l.report().Hours(l.ctx, report.HourQuery{From: noon.Add(-1000 * day), Until: noon.Add(1000 * day), Details: true, Classes: true})
	l.must(err)
	got := map[string]int64{}
	for _, c := range all {
		switch c.What {
		case "decision":
			got["decision "+c.Detail] += c.N
		case "dropped", "cancelled":
			got[c.What] += c.N
			if c.Class == "" {
				l.t.Errorf("%d messages of %s %s, and no count says why", c.N, c.What, c.Detail)
			}
		case "duplicate", "again", "in_doubt", "refused": // of these no rows are left to count
		default:
			got[c.What] += c.N
		}
	}
	same(l.t, "counts by the hour", want, got)
}

func (s suite) hours(t *testing.T) {
	t.Run("what happens is counted in its hour, by whom it is of, what it says, where it goes and why it failed", s.whatHappensIsCountedInItsHour)
	t.Run("rows of a job, handed over, uploaded and cancelled, are counted as the job's", s.rowsOfAJobAreCountedAsTheJobs)
	t.Run("rows of a file are counted by country, with what they cost", s.uploadsByCountry)
	t.Run("rows of a file that the service took are counted once, whoever says so, without those that are messages", s.hoursOfFiles)
	t.Run("days are those of a zone, whatever its clock does", s.daysAreThoseOfAZone)
	t.Run("they leave after 400 days, an hour at a time", s.countsLeaveAfter400Days)
	t.Run("an hour has room for so many kinds and names, and strangers take none from messages", s.anHourHasRoomForSoManyNames)
}

func (s suite) whatHappensIsCountedInItsHour(t *testing.T) {
	l := s.open(t)
	read := l.claimed("1")
	doubled := cart("1")
	if _, err := l.Accept(l.ctx, []messaging.Plan{doubled}); err != nil {
		t.Fatal(err)
	}
	l.at(noon.Add(time.Hour))
	l.mustFinish(read, messaging.StateAccepted)
	if err := l.Finish(l.ctx, attempt(read, messaging.StateAccepted)); err == nil {
		t.Error("the same attempt ends twice")
	}
	l.at(noon.Add(2 * time.Hour))
	accepted := read.UpdatedAt.Add(time.Second)
	l.seen(read.ID, messaging.Poll{Status: messaging.StatusSent, At: accepted.Add(time.Minute)})
	l.seen(read.ID, messaging.Poll{Status: messaging.StatusRead, At: accepted.Add(time.Hour), ToldAt: accepted.Add(4 * time.Second), Final: true})
	brazil := l.claimedAt(noon.Add(2*time.Hour), "2", phone("5511999990000"))
	a := attempt(brazil, messaging.StateRejected)
	a.Class = messaging.ErrorPermanent
	l.must(l.Finish(l.ctx, a))
	again := l.claimedAt(noon.Add(2*time.Hour), "3")
	l.mustFinish(again, messaging.StateWaiting)
	l.mustAccept(order("3"))
	l.must(l.RejectRequest(l.ctx, messaging.RejectedRequest{Connector: "shop", Status: 401, Stage: "verify", Reason: "no", At: noon}))
	same(t, "counts", []string{
		"02 12:00 connector duplicate shop/// 1",
		"02 12:00 connector event shop/cart.updated// 1",
		"02 12:00 trigger decision remind/planned// 1",
		"02 12:00 trigger queued remind/reminder/GB/ 1",
		"02 13:00 trigger accepted remind/reminder/GB/ 1",
		"02 14:00 connector event shop/cart.updated// 2",
		"02 14:00 connector event shop/order.created// 1",
		"02 14:00 connector refused shop/verify// 1",
		"02 14:00 trigger again remind/reminder/GB/ 1",
		"02 14:00 trigger cancelled remind/reminder/GB/event 1",
		"02 14:00 trigger decision remind/cancelling// 1",
		"02 14:00 trigger decision remind/planned// 2",
		"02 14:00 trigger delivered remind/reminder/GB/" + tally.ArrivalTime(4*time.Second) + " 1",
		"02 14:00 trigger queued remind/reminder/BR/ 1",
		"02 14:00 trigger queued remind/reminder/GB/ 1",
		"02 14:00 trigger read remind/reminder/GB/ 1",
		"02 14:00 trigger rejected remind/reminder/BR/permanent 1",
	}, l.counted(everything))
	same(t, "one word of one trigger, all hours together", []string{"trigger queued /reminder// 3"},
		l.counted(report.HourQuery{About: "trigger", Name: "remind", What: []string{"queued"}, Details: true}))
	since, ok, err := l.report().HoursSince(l.ctx)
	if err != nil || !ok || !since.Equal(noon) {
		t.Errorf("counted since %v, %v, %v", since, ok, err)
	}
	l.recount()
}

func (s suite) rowsOfAJobAreCountedAsTheJobs(t *testing.T) {
	l := s.open(t)
	r := l.handedOver("1", 3)
	l.mustFinish(l.mustClaim(noon, 1)[0], messaging.StateInDoubt)
	l.mustSet(r, messaging.RunCancelled)
	if n, err := l.CancelRows(l.ctx, r.ID, "not today"); err != nil || n != 2 {
		t.Fatalf("%d rows were cancelled, %v", n, err)
	}
	other := l.uploading("2", 1)
	l.accept(other, 1, []string{"7", "8"}, []string{"447700900101", "5511999990000"})
	all, err := l.Messages(l.ctx, store.MessageFilter{State: messaging.StateAccepted})
	if err != nil || len(all) != 2 {
		t.Fatalf("%d messages of the upload, %v", len(all), err)
	}
	for _, m := range all {
		l.seen(m.ID, messaging.Poll{Status: messaging.StatusDelivered, At: noon.Add(3 * time.Second), Final: true})
	}
	of := "winback/" + other.CampaignName
	same(t, "counts", []string{
		"02 12:00 job accepted " + of + "/BR/ 1",
		"02 12:00 job accepted " + of + "/GB/ 1",
		"02 12:00 job cancelled winback/winback/GG/run 2",
		"02 12:00 job delivered " + of + "/BR/02 1",
		"02 12:00 job delivered " + of + "/GB/02 1",
		"02 12:00 job in_doubt winback/winback/GG/ 1",
		"02 12:00 job queued winback/winback/GG/ 3",
		"02 12:00 job uploaded winback/template 0// 8",
	}, l.counted(everything))
}

func (s suite) daysAreThoseOfAZone(t *testing.T) {
	l := s.open(t)
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	// On 8 March 2026 the clock goes from 02:00 to 03:00, so that the day has 23 hours.
	from := time.Date(2026, 3, 7, 0, 0, 0, 0, zone)
	for hour := range 24 + 23 + 24 {
		l.at(from.Add(time.Duration(hour) * time.Hour))
		l.mustAccept(cart(fmt.Sprint(hour), func(p *messaging.Plan) { p.Proposals = nil }))
	}
	q := report.HourQuery{From: from, Until: from.AddDate(0, 0, 3), By: report.ByDay, Zone: zone}
	same(t, "days", []string{"07 00:00 connector event /// 24", "08 00:00 connector event /// 23", "09 00:00 connector event /// 24"}, l.counted(q))
	q.From, q.Until = q.From.AddDate(0, 0, 1), q.From.AddDate(0, 0, 2)
	same(t, "the short day", []string{"08 00:00 connector event /// 23"}, l.counted(q))
	q.By = report.ByHour
	same(t, "its hours", 23, len(l.counted(q)))
	if q.Zone, err = time.LoadLocation("Asia/Kolkata"); err != nil {
		t.Fatal(err)
	}
	q.By, q.From, q.Until = report.ByDay, time.Date(2026, 3, 8, 0, 0, 0, 0, q.Zone), time.Date(2026, 3, 9, 0, 0, 0, 0, q.Zone)
	same(t, "where a day begins within an hour, that hour is of the day before", []string{"08 00:00 connector event /// 24"}, l.counted(q))
}

func (s suite) countsLeaveAfter400Days(t *testing.T) {
	l := s.open(t)
	l.mustAccept(cart("1"))
	l.at(noon.Add(time.Hour))
	l.mustAccept(cart("2"))
	l.retain(399)
	same(t, "before", 6, len(l.counted(everything)))
	l.at(noon.Add(400*day + time.Hour))
	if _, err := l.privacy().Retain(l.ctx, kept, noon.Add(400*day+time.Hour)); err != nil {
		t.Fatal(err)
	}
	same(t, "after", []string{"02 13:00 connector event shop/cart.updated// 1", "02 13:00 trigger decision remind/planned// 1", "02 13:00 trigger queued remind/reminder/GB/ 1"}, l.counted(everything))
}

func (s suite) anHourHasRoomForSoManyNames(t *testing.T) {
	l := s.open(t)
	var plans []messaging.Plan
	for i := range 400 {
		plans = append(plans, cart(fmt.Sprint(i), func(p *messaging.Plan) { p.Proposals = nil; p.Event.Kind = fmt.Sprint("kind.", i) }))
	}
	if _, err := l.Accept(l.ctx, plans); err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		l.must(l.RejectRequest(l.ctx, messaging.RejectedRequest{Connector: fmt.Sprint("stranger ", i), Status: 404, Stage: "connector", Reason: "no", At: noon}))
	}
	l.mustAccept(cart("message"))
	all := l.counted(everything)
	for _, want := range []string{
		"02 12:00 connector event shop/other// 101", "02 12:00 connector refused other/other// 10",
		"02 12:00 trigger queued remind/reminder/GB/ 1",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("no %q among %d counts", want, len(all))
		}
	}
	same(t, "counts", 300+1+50+1+2, len(all))
}

// seen is an answer about a message.
func (l *ledger) seen(id messaging.MessageID, p messaging.Poll) {
	l.t.Helper()
	p.MessageID = id
	if !p.Final {
		p.NextPollAt = p.At.Add(time.Minute)
	}
	l.must(l.FinishPoll(l.ctx, p))
}
