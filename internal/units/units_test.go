package units

import (
	"encoding"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestQuantitiesReadAndWriteThemselves(t *testing.T) {
	duration := func() quantity { return new(Duration) }
	size := func() quantity { return new(Size) }
	rate := func() quantity { return new(Rate) }
	limit := func() quantity { return new(Limit) }
	tests := []struct {
		make func() quantity
		text string
		want string // as written back, or the error and its hint
	}{
		{duration, "45m", "45m"},
		{duration, "3d", "3d"},
		{duration, "1h30m", "1h30m"},
		{duration, "90m", "1h30m"},
		{duration, "2w", "14d"},
		{duration, " 1d 12h ", "1d12h"},
		{duration, "1.5h", "1h30m"},
		{duration, "500ms", "500ms"},
		{duration, "0", "0s"},
		{duration, "", "is empty, wants a duration"},
		{duration, "5", `"5" has no unit`},
		{duration, "-5m", `"-5m" is negative; a duration is not`},
		{duration, "soon", `"soon" is not a duration`},
		{duration, "45 minutes", `"45 minutes" has an unknown unit "minutes"`},
		{duration, "5M", `"5M" has an unknown unit "M"`},
		{duration, "1.2.3h", `"1.2.3h" is not a duration`},
		{duration, "999999999w", `"999999999w" is longer than 292 years`},
		{size, "10MB", "10MB"},
		{size, "1MiB", "1MiB"},
		{size, "1mib", "1MiB"},
		{size, "1.5 kB", "1500B"},
		{size, "2048", "2KiB"},
		{size, "0", "0B"},
		{size, "", "is empty, wants a size"},
		{size, "-1", `"-1" is negative; a size is not`},
		{size, "MB", `"MB" is not a size`},
		{size, "10 megs", `"10 megs" has an unknown unit "megs"`},
		{size, "99999999999GB", `"99999999999GB" is too large`},
		{rate, "20/s", "20/s"},
		{rate, "600 / min", "600/min"},
		{rate, "600/m", "600/min"},
		{rate, "5000/day", "5000/d"},
		{rate, "", "is empty, wants a rate"},
		{rate, "20", `"20" does not say per what`},
		{rate, "0/s", `"0/s" is not above zero`},
		{rate, "x/s", `"x/s" is not a rate`},
		{rate, "1.5/s", `"1.5/s" is not a rate`},
		{limit, "2 per day", "2 per day"},
		{limit, " 6  per  weeks", "6 per week"},
		{limit, "10 per month", "10 per month"},
		{limit, "2 per 24h", "2 per 24h"},
		{limit, "2 per 1d", "2 per 24h"},
		{limit, "6 per 7d", "6 per 7d"},
		{limit, "0 per 1h", "0 per 1h"},
		{limit, "", "is empty, wants a limit"},
		{limit, "2", `"2" is not a limit`},
		{limit, "2/day", `"2/day" is not a limit`},
		{limit, "-1 per day", `"-1" is not a number from 0`},
		{limit, "two per day", `"two" is not a number from 0`},
		{limit, "2 per hour", `"2 per hour" has an unknown window "hour"`},
		{limit, "2 per year", `"2 per year" has an unknown window "year"`},
		{limit, "2 per 0", `"2 per 0" has a window of no time`},
		{rate, "20/fortnight", `"20/fortnight" has an unknown unit "fortnight"`},
	}
	for _, tt := range tests {
		q := tt.make()
		err := q.UnmarshalText([]byte(tt.text))
		if err != nil {
			if bad, ok := errors.AsType[*Error](err); !ok || !strings.HasPrefix(bad.Hint(), "write ") {
				t.Errorf("%q: error %#v has no hint", tt.text, err)
			}
			if err.Error() != tt.want {
				t.Errorf("%q: error %q, want %q", tt.text, err, tt.want)
			}
			continue
		}
		if got, _ := q.MarshalText(); string(got) != tt.want {
			t.Errorf("%q is %q, want %q", tt.text, got, tt.want)
		}
	}
}

type quantity interface {
	encoding.TextMarshaler
	encoding.TextUnmarshaler
}

func TestWhatIsWrittenIsReadBackTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, int64(1000*24*time.Hour/time.Millisecond)).Draw(t, "ms") * int64(time.Millisecond))
		if back, err := ParseDuration(d.String()); err != nil || back != d {
			t.Errorf("%s came back as %s, %v", d, back, err)
		}
		s := Size(rapid.Int64Range(0, 1<<50).Draw(t, "bytes"))
		if back, err := ParseSize(s.String()); err != nil || back != s {
			t.Errorf("%s came back as %s, %v", s, back, err)
		}
		r := Rate{rapid.Int64Range(1, 1e9).Draw(t, "count"), rateUnits[rapid.IntRange(0, 3).Draw(t, "unit")].is}
		if back, err := ParseRate(r.String()); err != nil || back != r {
			t.Errorf("%s came back as %s, %v", r, back, err)
		}
	})
}

func TestPlainNumbers(t *testing.T) {
	if got := (Rate{600, time.Minute}).PerSecond(); got != 10 {
		t.Errorf("600/min is %v a second", got)
	}
	if got := (Rate{}).PerSecond(); got != 0 || (Rate{}).String() != "" {
		t.Errorf("no rate is %v a second", got)
	}
	if Duration(time.Hour).D() != time.Hour || Size(7).Bytes() != 7 {
		t.Error("D or Bytes changes the value")
	}
}

func TestWhatIsCountedIsOneOrSeveral(t *testing.T) {
	for n, want := range map[int64]string{0: "0 rows", 1: "1 row", 2: "2 rows", 999: "999 rows", 1000: "1,000 rows", 1234567: "1,234,567 rows", -1000: "-1,000 rows"} {
		if got := Count(n, "row"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestWhatPeopleReadOfTimes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1500 * time.Millisecond: "2s", 90*time.Minute + 20*time.Second: "1h30m", 73*time.Hour + 10*time.Minute: "3d1h", -time.Minute: "-1m", 884913152: "885ms",
	} {
		if got := About(d); got != want {
			t.Errorf("About(%v) = %q, want %q", d, got, want)
		}
	}
	if got := Stamp(time.Date(2026, 11, 27, 10, 30, 0, 5, time.FixedZone("", 3600))); got != "2026-11-27 09:30:00 UTC" {
		t.Errorf("Stamp: %s", got)
	}
}
