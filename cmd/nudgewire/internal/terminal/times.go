package terminal

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Location is the zone that times are shown and read in: defaults.timezone, UTC where no config says one.
func (c *CLI) Location() *time.Location {
	if c.Zone == nil {
		c.Zone = time.UTC
		if cfg, _ := config.Load(c.Config, os.LookupEnv); cfg != nil {
			c.Zone = ZoneOf(cfg.Defaults.Timezone)
		}
	}
	return c.Zone
}

// ZoneOf is a zone by its name, UTC where there is none of that name.
func ZoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

func (c *CLI) Now() time.Time { return time.Now().In(c.Location()) }

// Clock is a moment for people, in the one zone of the config.
func (c *CLI) Clock(t time.Time) string { return ClockIn(t, c.Location()) }

// ClockOrNever is a time that may not have come.
func (c *CLI) ClockOrNever(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return c.Clock(t)
}

// ClockIn is a moment with its date and the zone's offset, so that nobody takes it for another zone's.
func ClockIn(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "-"
	}
	t = t.In(zone)
	if zone == time.UTC {
		return t.Format("2006-01-02 15:04:05 UTC")
	}
	return t.Format("2006-01-02 15:04:05 -07:00")
}

// ShortDuration is a duration in its two largest units.
func ShortDuration(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
	case d >= time.Hour:
		return fmt.Sprintf("%dh %dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm %ds", int(d.Minutes()), int(d.Seconds())%60)
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
}

// Roughly is a time for people.
func Roughly(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Minute {
		return units.Duration(max(d.Round(time.Second), time.Second)).String()
	}
	return units.Duration(d.Round(time.Minute)).String()
}

// ParseSince reads "2h", "3d" or a date in the zone of now as the moment a list begins.
func ParseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	var d units.Duration
	if err := d.UnmarshalText([]byte(text)); err == nil {
		return now.Add(-d.D()), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, exit.Fail(exit.Usage, "", "--since %q: want a duration such as 2h or 3d, or a date such as 2026-11-20", text)
}

// ParseDueBefore reads a time to come: 2h is two hours from now.
func ParseDueBefore(text string, now time.Time) (time.Time, error) {
	var d units.Duration
	if text != "" && d.UnmarshalText([]byte(text)) == nil {
		return now.Add(d.D()), nil
	}
	t, err := ParseSince(text, now)
	if err != nil {
		return t, exit.Fail(exit.Usage, "", "--due-before %q: want a duration such as 2h or 3d, or a date such as 2026-11-20", text)
	}
	return t, nil
}

// AddRetryFlags are the flags that say when what failed goes again; otherwise is what becomes of it without a deadline.
func AddRetryFlags(cmd *cobra.Command, minWait, deadline *string, otherwise string) {
	cmd.Flags().StringVar(minWait, "min-wait", "", "only what ended at least this long ago (1h, 2d)")
	cmd.Flags().StringVar(deadline, "deadline", "", "drop what is not sent within this time (6h), or by this time of the clock (18:00) or date; else "+otherwise)
}

// ParseDeadline reads a time to come as how long it is until then, 0 for none: 6h, the next 18:00 or a date, with its time.
func ParseDeadline(text string, now time.Time) (time.Duration, error) {
	var d units.Duration
	if text == "" {
		return 0, nil
	}
	if d.UnmarshalText([]byte(text)) == nil && d > 0 {
		return d.D(), nil
	}
	for _, layout := range []string{"2006-01-02 15:04", time.DateOnly, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			if !t.After(now) {
				return 0, exit.Fail(exit.Usage, "", "--deadline %q: is past", text)
			}
			return t.Sub(now), nil
		}
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, exit.Fail(exit.Usage, "", "--deadline %q: want a duration such as 6h, a time such as 18:00, or a date such as 2026-11-20 or 2026-11-20 18:00", text)
	}
	year, month, day := now.Date()
	at := time.Date(year, month, day, t.Hour(), t.Minute(), 0, 0, now.Location())
	if !at.After(now) {
		at = time.Date(year, month, day+1, t.Hour(), t.Minute(), 0, 0, now.Location())
	}
	return at.Sub(now), nil
}

// ParseDuration reads the duration of a flag, 0 for none.
func ParseDuration(flag, text string) (time.Duration, error) {
	var d units.Duration
	if text == "" {
		return 0, nil
	}
	if err := d.UnmarshalText([]byte(text)); err != nil || d <= 0 {
		return 0, exit.Fail(exit.Usage, "", "%s %q: want a duration such as 2h or 3d", flag, text)
	}
	return d.D(), nil
}
