package triggers

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/hours"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestNineIsNotBeforeNineInAnyZoneOfTheNumber(t *testing.T) {
	set, problems := Compile(nil, Env{Timezone: "Europe/London"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const (
		alaska   = "19075550100" // Anchorage, and Adak an hour behind it
		toronto  = "14165550100"
		unknown  = "88299999"
		portugal = "351912345678" // Lisbon, and the Azores an hour behind it
	)
	tests := map[string]struct {
		phone messaging.Phone
		own   string
		wait  string
		from  string
		want  string
	}{
		"the contact's own zone":                        {toronto, "Asia/Tokyo", "until 09:00", "2026-11-23T12:00:00Z", "2026-11-24T00:00:00Z"},
		"the number's one zone":                         {toronto, "", "until 09:00", "2026-11-23T12:00:00Z", "2026-11-23T14:00:00Z"},
		"another zone of the same country":              {alaska, "", "until 09:00", "2026-11-23T12:00:00Z", "2026-11-23T19:00:00Z"},
		"a zone that is none is the number's":           {toronto, "Local", "until 09:00", "2026-11-23T12:00:00Z", "2026-11-23T14:00:00Z"},
		"nothing is known":                              {unknown, "", "until 09:00", "2026-06-23T12:00:00Z", "2026-06-24T08:00:00Z"},
		"the last of two zones":                         {portugal, "", "until 09:00", "2026-11-23T02:00:00Z", "2026-11-23T10:00:00Z"},
		"nine is past in one, and comes in the other":   {portugal, "", "until 09:00", "2026-11-23T09:30:00Z", "2026-11-23T10:00:00Z"},
		"nine is past in both":                          {portugal, "", "until 09:00", "2026-11-23T10:01:00Z", "2026-11-24T10:00:00Z"},
		"midnight lies between them":                    {portugal, "", "until 00:00", "2026-11-23T00:30:00Z", "2026-11-23T01:00:00Z"},
		"days at a time":                                {portugal, "", "2 days at 10:00", "2026-11-23T00:30:00Z", "2026-11-25T11:00:00Z"},
		"days":                                          {portugal, "", "1 day", "2026-10-24T12:00:00Z", "2026-10-25T13:00:00Z"},
		"left out in spring, in one an hour before":     {portugal, "", "until 01:30", "2027-03-28T00:00:00Z", "2027-03-28T01:30:00Z"},
		"twice in autumn, the first time in the last":   {portugal, "", "until 00:30", "2026-10-24T23:45:00Z", "2026-10-25T00:30:00Z"},
		"over the change in autumn it stays nine there": {toronto, "", "until 09:00", "2026-10-31T14:00:00Z", "2026-11-01T14:00:00Z"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			from, err := time.Parse(time.RFC3339, tt.from)
			if err != nil {
				t.Fatal(err)
			}
			d, err := parseDelay(tt.wait)
			if err != nil {
				t.Fatal(err)
			}
			zones := set.zones.Places(string(tt.phone), tt.own)
			got := d.after(from.Add(-time.Minute), zones) // of a step, which counts from a minute later
			if d.daily == nil {
				got = d.after(from, zones)
			}
			if got.UTC().Format(time.RFC3339) != tt.want {
				t.Errorf("%s after %s is %s in %v, want %s", tt.wait, tt.from, got.UTC().Format(time.RFC3339), zones, tt.want)
			}
		})
	}
}

// In every zone of every number, on each day around the clock changes of two years.
func TestNineIsNeverEarlyWhereverTheNumberIs(t *testing.T) {
	set, _ := Compile(nil, Env{Timezone: "Europe/London"})
	nine := clockOf(t, "09:00")
	for _, phone := range []messaging.Phone{"14165550100", "18005550100", "351912345678", "61491570006", "5511999990000", "79161234567", "447700900123", "34600000000"} {
		zones := set.zones.Places(string(phone), "")
		for from := time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC); from.Year() < 2028; from = from.Add(7 * time.Hour) {
			at := zones.Next(nine, from)
			if at.Before(from) || at.Sub(from) > 50*time.Hour {
				t.Fatalf("%s: %s after %s", phone.Masked(), at, from)
			}
			exactly := false
			day := at.In(zones[0]).YearDay()
			for _, zone := range zones {
				local := at.In(zone)
				if day == local.YearDay() && local.Hour() < 9 && len(zones) < 12 {
					t.Fatalf("%s: %s is before nine", phone.Masked(), local)
				}
				exactly = exactly || local.Hour() == 9 && local.Minute() == 0
			}
			if !exactly {
				t.Fatalf("%s: %s is nine nowhere", phone.Masked(), at)
			}
		}
	}
}

func clockOf(t *testing.T, text string) hours.Clock {
	t.Helper()
	c, err := hours.ParseClock(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
