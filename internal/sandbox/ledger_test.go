package sandbox

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var at = time.Date(2026, 3, 8, 14, 0, 0, 0, time.UTC)

func TestTheOldestMessagesAreForgotten(t *testing.T) {
	l := newLedger(1, 2*chunkSize, -1, 0)
	about := subject{"campaign", "417", ""}
	var last int64
	for i := range 5 * chunkSize {
		n, _ := parseNumber(strconv.Itoa(447700900000 + i%7))
		last = l.accept(&parcel{phone: n, subject: about, variables: []string{"x"}}, at)
	}
	if _, ok := l.find(1); ok {
		t.Error("the first message is still known")
	}
	if _, ok := l.find(last - 2*chunkSize + 1); !ok {
		t.Error("a message that should be kept is forgotten")
	}
	if _, ok := l.find(last + 1); ok {
		t.Error("a message that never was is known")
	}
	s := &Sandbox{options: Options{Now: func() time.Time { return at }, Reasons: defaultReasons}}
	s.book.Store(l)
	if n, all := len(s.Messages("447700900000")), s.Accepted("447700900000"); n >= all || n == 0 {
		t.Errorf("remembers %d of %d messages of a phone", n, all)
	}
}

func TestVariablesAreDroppedBeforeTheirMessages(t *testing.T) {
	l := newLedger(1, 100*chunkSize, -1, 0)
	p := &parcel{phone: 14477009001, subject: subject{kind: "text"}, variables: []string{"x"}}
	for range (keepVariables + 2) * chunkSize {
		l.accept(p, at)
	}
	for position, want := range map[uint32]bool{0: false, l.next - 1: true} {
		if _, v, ok := l.at(position); !ok || (v != nil) != want {
			t.Errorf("message %d: known %v, variables %v, want them %v", position, ok, v, want)
		}
	}
}

func TestNumbersKeepEveryDigit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9]{7,15}`).Draw(t, "phone")
		n, ok := parseNumber(text)
		if !ok || n.String() != text {
			t.Errorf("%s became %s, %v", text, n, ok)
		}
		if end, err := strconv.Atoi(text[len(text)-4:]); err != nil || end != n.ending() {
			t.Errorf("%s ends in %d", text, n.ending())
		}
	})
	for _, bad := range []string{"", "123456", "1234567890123456", "+4477009001", "44 7700900", "٤٤٧٧٠٠٩٠٠"} {
		if _, ok := parseNumber(bad); ok {
			t.Errorf("%q is a phone", bad)
		}
	}
}

// A message never goes back, whatever the pace.
func TestAStatusNeverGoesBack(t *testing.T) {
	order := map[string]int{"": 0, "queued": 1, "sent": 2, "delivered": 3, "read": 4, "failed": 5}
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.IntRange(-1, 5000).Draw(t, "ms")) * time.Millisecond
		})
		o := Options{
			Seed: rapid.Uint64().Draw(t, "seed"), FailRate: rapid.Float64Range(0, 1).Draw(t, "fail"), Reasons: defaultReasons,
			Pace: Pace{step.Draw(t, "queued"), step.Draw(t, "sent"), step.Draw(t, "delivered"), step.Draw(t, "read"), rapid.Float64Range(0, 1).Draw(t, "jitter")},
		}
		e := entry{phone: number(10_000_000 + rapid.IntRange(0, 9_999_999).Draw(t, "phone")), at: at.UnixNano(), short: rapid.Bool().Draw(t, "short")}
		id := rapid.Int64Range(1, 1<<54).Draw(t, "id")
		last := progress{}
		for ms := 0; ms < 50_000; ms += rapid.IntRange(1, 5000).Draw(t, "later") {
			now := at.Add(time.Duration(ms) * time.Millisecond)
			s := o.progress(e, id, now)
			if order[s.status] < order[last.status] || (s.status == "failed" && (last.status == "sent" || last.status == "delivered")) {
				t.Fatalf("went from %q to %q", last.status, s.status)
			}
			if s.since.After(now) || s.since.Before(last.since) || s.delivered.After(now) {
				t.Fatalf("%+v is not in order at %s", s, now)
			}
			last = s
		}
	})
}

func BenchmarkAccept(b *testing.B) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l := newLedger(1, keepMessages, -1, 0)
	about := subject{"template", "cart_reminder", "en"}
	variables := []string{"Ada", "Kettle"}
	n := number(1_447700_000000)
	b.ReportAllocs()
	for b.Loop() {
		n++
		l.accept(&parcel{phone: n, subject: about, variables: variables}, at)
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(l.next), "heap-B/message")
	runtime.KeepAlive(l)
}
