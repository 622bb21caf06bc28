package triggers

import (
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

// ClauseLine is one condition with what it saw.
func ClauseLine(c messaging.Clause) string {
	mark := "✗ "
	if c.Held {
		mark = "✓ "
	}
	line := mark + c.Text + valueWords(c)
	if c.Error != "" {
		line += ": " + c.Error
	}
	return line
}

// valueWords are the values of a condition in brackets; "" where it saw none.
func valueWords(c messaging.Clause) string {
	if len(c.Values) == 1 && c.Values[0].Name == c.Text {
		if c.Error != "" {
			return "" // it says what is missing
		}
		return " (" + c.Values[0].Value + ")"
	}
	says := make([]string, len(c.Values))
	for i, v := range c.Values {
		says[i] = v.Name + " = " + v.Value
	}
	if len(says) == 0 {
		return ""
	}
	return " (" + strings.Join(says, ", ") + ")"
}

// A Silence is a trigger that says nothing to an event, and why.
type Silence struct {
	Trigger string
	Reason  string
}

// Silent are the triggers that do not listen to an event, in the order of the config: what
// "try" shows below the ones that do.
func (s *Set) Silent(connector, kind string) []Silence {
	var found []Silence
	e := ref{connector, kind}
	for _, r := range s.rules {
		listens := matchesAny(r.on, e) || matchesAny(r.cancelOn, e) || matchesAny(r.stopOn, e)
		switch {
		case listens && r.Mode == Off:
			found = append(found, Silence{r.Name, "mode: off"})
		case !listens:
			reason := "listens to " + strings.Join(r.On, ", ")
			if len(r.CancelOn) > 0 {
				reason += ", is cancelled by " + strings.Join(Texts(r.CancelOn), ", ")
			}
			if len(r.StopOn) > 0 {
				reason += ", is stopped by " + strings.Join(Texts(r.StopOn), ", ")
			}
			found = append(found, Silence{r.Name, reason})
		}
	}
	return found
}
