package units

import (
	"strings"
	"time"
)

// Spell writes a length of time for a sentence: "45 minutes", "3 days", "1 hour and 30 minutes". What is not a whole
// number of seconds is written as Duration writes it.
func Spell(d time.Duration) string {
	if d <= 0 || d%time.Second != 0 {
		return Duration(d).String()
	}
	var parts []string
	for _, u := range []struct {
		name string
		is   time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if n := int64(d / u.is); n > 0 {
			parts = append(parts, Count(n, u.name))
			d %= u.is
		}
	}
	return Enumerate(parts)
}

// Enumerate writes a list for a sentence: "a, b and c".
func Enumerate(parts []string) string {
	last := len(parts) - 1
	if last < 1 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}
