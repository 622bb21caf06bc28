package hours

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func window(t testing.TB, text string) Window {
	t.Helper()
	w, err := ParseWindow(text, Everyday)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return w
}

func TestWindowsReadAndWriteThemselves(t *testing.T) {
	for text, want := range map[string]string{
		"21:00-09:00":                "21:00-09:00",
		" 9:00 - 10:30 ":             "09:00-10:30",
		"mon-fri 21:00-09:00":        "mon-fri 21:00-09:00",
		"Weekdays 21:00-09:00":       "mon-fri 21:00-09:00",
		"weekend 00:00-24:00":        "sat,sun 00:00-24:00",
		"sat, sunday 20:00-11:00":    "sat,sun 20:00-11:00",
		"fri-mon 20:00-24:00":        "mon,fri-sun 20:00-24:00",
		"daily 20:00-08:00":          "20:00-08:00",
		"wed 12:00-13:00":            "wed 12:00-13:00",
		"mon,wed,fri-fri 9:00-10:00": "mon,wed,fri 09:00-10:00",
	} {
		w, err := ParseWindow(text, Everyday)
		if err != nil || w.String() != want {
			t.Errorf("%q is %q (%v), want %q", text, w, err, want)
		}
		if again, err := ParseWindow(w.String(), Everyday); err != nil || again != w {
			t.Errorf("%q is not read back: %v, %v", w, again, err)
		}
	}
}

func TestWindowsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "is empty, wants hours",
		"21:00":                    `"21:00" does not say from when to when`,
		"9pm-9am":                  `"9pm" is not a time of day`,
		"21:00-25:00":              `"25:00" is not a time of day`,
		"24:00-09:00":              `"24:00" is not a time of day`,
		"09:00-09:00":              `"09:00-09:00" begins when it ends`,
		"mo-fr 21:00-09:00":        `"mo-fr" is no day of the week`,
		"mon, fri sat 21:00-09:00": `"mon, fri sat 21:00-09:00" is not a window of hours`,
		"mon- 21:00-09:00":         `"mon-" is no day of the week`,
	} {
		_, err := ParseWindow(text, Everyday)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
			continue
		}
		if e, ok := errors.AsType[*Error](err); !ok || e.Next == "" {
			t.Errorf("%q has no hint", text)
		}
	}
}

func TestANightBelongsToTheDayItBeginsOn(t *testing.T) {
	r := &Rule{Windows: []Window{window(t, "mon-fri 21:00-09:00")}}
	utc := In(time.UTC)
	for at, want := range map[string]bool{
		"2026-11-27T22:00:00Z": true,  // Friday evening
		"2026-11-28T08:59:59Z": true,  // and its morning
		"2026-11-28T09:00:00Z": false, // Saturday
		"2026-11-28T22:00:00Z": false, // Saturday evening
		"2026-11-30T08:00:00Z": false, // the morning after Sunday evening
		"2026-11-30T21:00:00Z": true,  // Monday evening
	} {
		moment, _ := time.Parse(time.RFC3339, at)
		if got := r.Quiet(moment, utc); got != want {
			t.Errorf("%s %s: quiet %v, want %v", moment.Weekday(), at, got, want)
		}
	}
}

func TestHolidaysAreWholeDays(t *testing.T) {
	h, faults := ReadHolidays(strings.NewReader("\ufeff# public holidays\n2026-12-25 # Christmas\n\n01-01\n2026-12-26\n02-29\n"))
	if len(faults) > 0 || h.Len() != 4 {
		t.Fatalf("%d dates, %v", h.Len(), faults)
	}
	r := &Rule{Windows: []Window{window(t, "21:00-09:00")}, Holidays: h}
	auckland, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		zone     *time.Location
		from, at string
	}{
		{time.UTC, "2026-12-24T20:59:00Z", "2026-12-24T20:59:00Z"},
		{time.UTC, "2026-12-24T21:00:00Z", "2026-12-27T09:00:00Z"}, // the evening, both days, and the night after them
		{time.UTC, "2026-12-25T12:00:00Z", "2026-12-27T09:00:00Z"},
		{time.UTC, "2027-01-01T12:00:00Z", "2027-01-02T09:00:00Z"}, // every year
		{time.UTC, "2028-02-29T12:00:00Z", "2028-03-01T09:00:00Z"},
		{time.UTC, "2027-12-25T12:00:00Z", "2027-12-25T12:00:00Z"}, // of 2026 alone
		{auckland, "2026-12-24T11:00:00Z", "2026-12-26T20:00:00Z"}, // where it is the 25th already
	} {
		from, _ := time.Parse(time.RFC3339, tt.from)
		got, ok := r.Free(from, []*Zone{In(tt.zone)})
		if !ok || got.Format(time.RFC3339) != tt.at {
			t.Errorf("from %s in %s: free at %s (%v), want %s", tt.from, tt.zone, got.Format(time.RFC3339), ok, tt.at)
		}
	}
}

func TestFaultsInAFileOfHolidays(t *testing.T) {
	_, faults := ReadHolidays(strings.NewReader("2026-12-25\n25.12.2026\n2026-02-30\n13-01\n# fine\nChristmas, the day on which nobody anywhere wants to be disturbed\n"))
	var got []string
	for _, f := range faults {
		got = append(got, f.Error())
		if f.Hint == "" {
			t.Errorf("%v has no hint", f)
		}
	}
	want := []string{
		`line 2: "25.12.2026" is no date`, `line 3: "2026-02-30" is no date`, `line 4: "13-01" is no day of the year`,
		`line 6: "Christmas, the day on which nobody anywh…" is no date`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	var long strings.Builder
	for i := range mostHolidays + 5 {
		long.WriteString(time.Unix(int64(i)*86400, 0).UTC().Format("2006-01-02\n"))
	}
	if h, faults := ReadHolidays(strings.NewReader(long.String())); len(faults) != 1 || h.Len() > mostHolidays {
		t.Errorf("%d dates were taken, %v", h.Len(), faults)
	}
}

func TestHolidaysInThePast(t *testing.T) {
	now := time.Date(2026, 12, 27, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]bool{"": false, "2025-12-25\n2026-12-25": true, "2026-12-25\n2027-01-01": false, "12-25": false, "2026-12-26": false} {
		h, _ := ReadHolidays(strings.NewReader(text))
		if got := h.Past(now); got != want {
			t.Errorf("%q: past %v, want %v", text, got, want)
		}
	}
}

func TestEveryZoneOfTheNumberMustBeOutside(t *testing.T) {
	zones := NewZones(time.UTC)
	r := &Rule{Windows: []Window{window(t, "21:00-09:00")}}
	for _, tt := range []struct {
		what, digits, name, from, at string
		guessed                      bool
	}{
		{"a British mobile", "447700900123", "", "2026-11-22T22:00:00Z", "2026-11-23T09:00:00Z", false},
		{"New York", "12125550123", "", "2026-11-22T12:00:00Z", "2026-11-22T14:00:00Z", false},
		{"its own zone before the number's", "12125550123", "Asia/Tokyo", "2026-11-22T11:00:00Z", "2026-11-22T11:00:00Z", false},
		{"no zone of its own", "12125550123", "Mars/Olympus", "2026-11-22T12:00:00Z", "2026-11-22T14:00:00Z", false},
		{"the zone of this machine is nobody's", "12125550123", "Local", "2026-11-22T12:00:00Z", "2026-11-22T14:00:00Z", false},
		{"Samoa to Newfoundland", "18005550123", "", "2026-11-22T12:00:00Z", "2026-11-22T23:00:00Z", false},
		{"a satellite phone", "870123456789", "", "2026-11-22T22:00:00Z", "2026-11-23T09:00:00Z", true},
		{"nothing is known", "999", "", "2026-11-22T08:00:00Z", "2026-11-22T09:00:00Z", true},
	} {
		from, _ := time.Parse(time.RFC3339, tt.from)
		for range 2 { // the second time from what was remembered
			in, guessed := zones.Of(tt.digits, tt.name)
			got, ok := r.Free(from, in)
			if !ok || guessed != tt.guessed || got.Format(time.RFC3339) != tt.at {
				t.Errorf("%s: free at %s (%v), guessed %v; want %s, %v", tt.what, got.Format(time.RFC3339), ok, guessed, tt.at, tt.guessed)
			}
			for _, z := range in {
				if ok && r.Quiet(got, z) {
					t.Errorf("%s: %s is quiet in %s", tt.what, got, z)
				}
			}
		}
	}
}

func TestTheDefaultIsToldFirstAmongTheZonesOfANumber(t *testing.T) {
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	if in, _ := NewZones(london).Of("447700900123", ""); len(in) < 2 || in[0].String() != "Europe/London" {
		t.Errorf("the zones are %v", in)
	}
	if in, _ := NewZones(time.UTC).Of("447700900123", ""); len(in) < 2 || in[0].String() == "UTC" {
		t.Errorf("the zones are %v", in)
	}
}

func TestZonesWithoutAnHourInCommon(t *testing.T) {
	in, _ := NewZones(time.UTC).Of("18005550123", "")
	r := &Rule{Windows: []Window{window(t, "19:00-11:00")}}
	if at, ok := r.Free(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC), in); ok {
		t.Errorf("from Samoa to Newfoundland 8 hours of a day have %s in common", at)
	}
}

func TestTheLongestQuiet(t *testing.T) {
	tests := []struct {
		windows []string
		longest time.Duration
		always  bool
	}{
		{nil, 0, false},
		{[]string{"21:00-09:00"}, 12 * time.Hour, false},
		{[]string{"21:00-09:00", "08:00-10:00"}, 13 * time.Hour, false},
		{[]string{"21:00-09:00", "sun 00:00-24:00"}, 36 * time.Hour, false},
		{[]string{"mon 00:00-24:00"}, 24 * time.Hour, false},
		{[]string{"00:00-24:00"}, 7 * 24 * time.Hour, true},
		{[]string{"09:00-21:00", "21:00-09:00"}, 7 * 24 * time.Hour, true},
	}
	for _, tt := range tests {
		r := &Rule{}
		for _, text := range tt.windows {
			r.Windows = append(r.Windows, window(t, text))
		}
		if longest, always := r.Longest(); longest != tt.longest || always != tt.always {
			t.Errorf("%v: %v %v, want %v %v", tt.windows, longest, always, tt.longest, tt.always)
		}
	}
	if n := (&Rule{Windows: []Window{window(t, "mon-fri 21:00-09:00")}}).DaysAt(22 * 60); n != 5 {
		t.Errorf("22:00 is quiet on %d days", n)
	}
}

func TestZonesAreBoundedAndSafeForMany(t *testing.T) {
	z := NewZones(time.UTC)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 2 * mostNamed {
				if _, guessed := z.Of("447700900123", fmt.Sprintf("No/Zone%d", i*4+w)); guessed {
					t.Error("a British number has no zone")
				}
			}
		})
	}
	wg.Wait()
	if n := len(z.named); n > mostNamed {
		t.Errorf("%d names are remembered", n)
	}
}

func BenchmarkFree(b *testing.B) {
	r := &Rule{Windows: []Window{window(b, "21:00-09:00")}}
	noon, night := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 22, 23, 0, 0, 0, time.UTC)
	for name, at := range map[string]time.Time{"by day": noon, "at night": night} {
		b.Run(name, func(b *testing.B) {
			z := NewZones(time.UTC)
			b.ReportAllocs()
			for b.Loop() {
				in, _ := z.Of("447700900123", "")
				r.Free(at, in)
			}
		})
	}
}
