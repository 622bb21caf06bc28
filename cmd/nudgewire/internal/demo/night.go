package demo

import (
	"fmt"
	"time"
)

// A place is where a customer of the demo may live. The phones are invented.
type place struct{ name, zone, phone string }

var places = []place{
	{"New York", "America/New_York", "+12125550107"},
	{"Los Angeles", "America/Los_Angeles", "+12135550107"},
	{"Dubai", "Asia/Dubai", "+971501000107"},
	{"Mumbai", "Asia/Kolkata", "+919810000107"},
	{"Tokyo", "Asia/Tokyo", "+819010000107"},
	{"Auckland", "Pacific/Auckland", "+64211000107"},
}

// home is the zone of the demo's other customers.
const home = "Europe/London"

// night is the place where it is most of all night now, and quiet hours that it is within there and far from at home: the demo
// shows them at any hour.
func night(now time.Time) (best place, window string, err error) {
	here, err := time.LoadLocation(home)
	if err != nil {
		return place{}, "", err
	}
	least := 24 * time.Hour
	for _, p := range places {
		there, err := time.LoadLocation(p.zone)
		if err != nil {
			return place{}, "", err
		}
		if between(now.In(here), now.In(there)) < 4*time.Hour {
			continue
		}
		two := time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC)
		if d := between(now.In(there), two); d < least {
			hour := now.In(there).Hour()
			best, least, window = p, d, fmt.Sprintf("%02d:00-%02d:00", (hour+23)%24, (hour+3)%24)
		}
	}
	return best, window, nil
}

// between is how far two clocks are from each other on the dial of a day, whichever way round.
func between(a, b time.Time) time.Duration {
	dial := func(t time.Time) time.Duration {
		return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	}
	d := (dial(a) - dial(b)).Abs()
	return min(d, 24*time.Hour-d)
}

// clock is what a clock shows there.
func (p place) clock(now time.Time) string {
	there, err := time.LoadLocation(p.zone)
	if err != nil {
		return ""
	}
	return now.In(there).Format("15:04")
}
