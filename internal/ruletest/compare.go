package ruletest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// An atLine is an error of the event on that line.
type atLine struct {
	line int
	error
}

func (e atLine) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.error) }

func (e atLine) Unwrap() error { return e.error }

// isRefusal reports whether the simulation says that it does not play that.
func isRefusal(err error) bool {
	return errors.Is(err, simulation.ErrLooksUp) || errors.Is(err, simulation.ErrHalts)
}

func skippedWords(all []connectors.Skip) string {
	if len(all) == 0 {
		return ""
	}
	return ": skipped, " + all[0].Reason
}

// compare holds what was sent against what was to be, one by one. An entry that says more chooses first: one that says less takes what is left.
func (r *Result) compare() {
	want := slices.Clone(r.Test.Expect)
	slices.SortStableFunc(want, func(a, b Expected) int {
		return cmp.Or(cmp.Compare(b.keysTold(), a.keysTold()), a.At.Compare(b.At))
	})
	left := make([]*Sent, len(r.Sent))
	for i := range r.Sent {
		left[i] = &r.Sent[i]
	}
	// What is as it was to be is put aside first, so that one message too many is told as that.
	want = slices.DeleteFunc(want, func(e Expected) bool {
		i := slices.IndexFunc(left, func(s *Sent) bool { return len(e.differs(s)) == 0 })
		if i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
		return i >= 0
	})
	for i := range want {
		e := &want[i]
		at := slices.IndexFunc(left, func(s *Sent) bool { return e.Trigger == "" || e.Trigger == s.Trigger })
		if at < 0 {
			r.Failed = append(r.Failed, Failure{Expected: r.expectedWords(e), Happened: strings.Join(append([]string{"nothing"}, r.reasons(e.Trigger)...), "\n"), Paths: r.pathsOfSilence(e.Trigger)})
			continue
		}
		s := left[at]
		left = slices.Delete(left, at, at+1)
		f := Failure{Expected: r.expectedWords(e), Happened: r.sentWords(s), Paths: []string{pathOf(s, e.differs(s)[0]), ruleOf(s.Trigger)}}
		if put := r.putOff(s); put != nil && e.differs(s)[0] == "at" {
			f.Happened += "\n" + put.Reason
			f.Paths = append([]string{ruleOf(s.Trigger) + "." + put.What, "defaults." + put.What}, f.Paths...)
		}
		r.Failed = append(r.Failed, f)
	}
	for _, s := range left {
		expected := "nothing"
		if len(r.Test.Expect) > 0 {
			expected = "nothing more"
		}
		r.Failed = append(r.Failed, Failure{Expected: expected, Happened: r.sentWords(s), Paths: []string{ruleOf(s.Trigger)}})
	}
}

// differs are the keys of what was expected by which a message is another.
func (e *Expected) differs(s *Sent) (keys []string) {
	header := ""
	if s.Send.Header != nil {
		header = s.Send.Header.URL
	}
	for _, one := range []struct {
		key  string
		same bool
	}{
		{"trigger", e.Trigger == "" || e.Trigger == s.Trigger},
		{"step", e.Step == 0 || e.Step == s.Step},
		{"template", e.Template == "" || e.Template == s.Send.Template},
		{"campaign", e.Campaign == "" || e.Campaign == s.Send.Campaign},
		{"text", e.Text == "" || e.Text == s.Send.Text},
		{"language", e.Language == "" || e.Language == s.Send.Language},
		{"variables", !e.variablesTold || slices.Equal(e.Variables, s.Send.Variables)},
		{"header", e.Header == "" || e.Header == header},
		{"phone", e.Phone == "" || e.Phone == s.Phone},
		{"status", e.Status == "" || e.Status == s.ended()},
		{"at", e.At.IsZero() || e.At.Truncate(time.Second).Equal(s.At.Truncate(time.Second))},
	} {
		if !one.same {
			keys = append(keys, one.key)
		}
	}
	return keys
}

// keysTold is how many keys an entry has; its time counts for more than all others.
func (e *Expected) keysTold() int {
	n := len(e.differs(&Sent{Status: "none"}))
	if !e.At.IsZero() {
		n += 100
	}
	return n
}

// ended is how far it came; what nobody knows is in doubt.
func (s *Sent) ended() string {
	if s.Status == "" {
		return string(messaging.StateInDoubt)
	}
	return string(s.Status)
}

// pathOf is where the config says what of a message is other than was expected.
func pathOf(s *Sent, key string) string {
	at := ruleOf(s.Trigger)
	if s.Step > 0 {
		at = fmt.Sprintf("%s.steps[%d]", at, s.Step-1)
	}
	switch key {
	case "at":
		return at + ".wait"
	case "template", "campaign", "text", "language", "variables", "header":
		return at + ".send." + key
	default:
		return at
	}
}

// putOff is what put a message off last; nil for nothing.
func (r *Result) putOff(s *Sent) (last *Line) {
	for i := range r.Story {
		if l := &r.Story[i]; l.Trigger == s.Trigger && l.Step == s.Step && strings.Contains(l.Reason, "put off until") && !l.At.After(s.At) {
			last = l
		}
	}
	return last
}

// silent is the first trigger that was asked; "" for none.
func (r *Result) silent() string {
	for i := range r.Story {
		if name := r.Story[i].Trigger; name != "" && !strings.HasPrefix(name, "(") {
			return name
		}
	}
	return ""
}

// ruleOf is where a trigger stands in the config.
func ruleOf(trigger string) string { return yamlpos.Join("triggers", trigger) }

// pathsOfSilence are where the config says what kept a trigger from sending, as far as the last of its lines tells: the first that the config
// has.
func (r *Result) pathsOfSilence(trigger string) []string {
	if trigger == "" {
		return nil
	}
	rule := ruleOf(trigger)
	paths := []string{rule}
	for i := range r.Story {
		l := &r.Story[i]
		if l.Trigger != trigger {
			continue
		}
		switch messaging.Outcome(l.What) {
		case messaging.Skipped:
			paths = []string{rule}
			if l.Clause > 0 {
				paths = []string{fmt.Sprintf("%s.if[%d]", rule, l.Clause-1), rule}
			}
		case messaging.Cancelled, messaging.Cancelling:
			paths = []string{rule + ".cancel_on", rule + ".stop_on", rule}
		case messaging.Shadowed:
			paths = []string{rule + ".mode", "defaults.mode", rule}
		case messaging.Planned, messaging.Restarted, messaging.Confirmed:
			paths = []string{rule}
		default:
			if heldBy[l.What] {
				paths = []string{rule + "." + l.What, "defaults." + l.What, rule}
			}
		}
	}
	return paths
}

// heldBy are the keys of a trigger that may end its messages.
var heldBy = map[string]bool{
	messaging.RuleConsent: true, messaging.RuleQuietHours: true, messaging.RuleLimit: true, messaging.RuleRate: true, messaging.RuleExpires: true,
}

// after is a time as tests write it: so long after the start, and the clock where that is another day.
func (r *Result) after(at time.Time) string {
	d := at.Sub(r.Test.Start)
	text := "+" + units.Duration(d.Truncate(time.Second)).String()
	if d >= 24*time.Hour || at.In(r.Test.Start.Location()).YearDay() != r.Test.Start.YearDay() {
		text = at.In(r.Test.Start.Location()).Format("2006-01-02T15:04")
		if at.Second() != 0 {
			text = at.In(r.Test.Start.Location()).Format("2006-01-02T15:04:05")
		}
	}
	return text
}

// listWords is a list as tests write it.
func listWords(all []string) string {
	quoted := make([]string, len(all))
	for i, one := range all {
		quoted[i] = strconv.Quote(one)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func (r *Result) expectedWords(e *Expected) string {
	var parts []string
	add := func(text string, told bool) {
		if told {
			parts = append(parts, text)
		}
	}
	add(r.after(e.At), !e.At.IsZero())
	add(e.Trigger, e.Trigger != "")
	add(fmt.Sprintf("step %d", e.Step), e.Step > 0)
	add(fmt.Sprintf("template %q", e.Template), e.Template != "")
	add(fmt.Sprintf("campaign %q", e.Campaign), e.Campaign != "")
	add(fmt.Sprintf("text %q", e.Text), e.Text != "")
	add("in "+e.Language, e.Language != "")
	add(listWords(e.Variables), e.variablesTold)
	add("header "+e.Header, e.Header != "")
	add("to "+e.Phone.Masked(), e.Phone != "")
	add(e.Status, e.Status != "")
	return strings.Join(parts, " ")
}

func (r *Result) sentWords(s *Sent) string {
	parts := []string{r.after(s.At), s.Trigger}
	if s.Step > 0 {
		parts = append(parts, fmt.Sprintf("step %d", s.Step))
	}
	parts = append(parts, s.Send.What())
	if s.Send.Language != "" {
		parts = append(parts, "in "+s.Send.Language)
	}
	if s.Send.Text != "" {
		parts = append(parts, fmt.Sprintf("%q", s.Send.Text))
	}
	if len(s.Send.Variables) > 0 {
		parts = append(parts, listWords(s.Send.Variables))
	}
	if s.Send.Header != nil {
		parts = append(parts, "header "+s.Send.Header.URL)
	}
	words := strings.Join(append(parts, "to", s.Phone.Masked(), s.ended()), " ")
	if s.Reads != "" && s.Reads != s.Send.Text {
		words += fmt.Sprintf("\nreads %q", s.Reads)
	}
	return words
}

// Line is a line of the story in words.
func (r *Result) Line(l *Line) string {
	text := r.after(l.At) + "  "
	switch {
	case l.Event != "" && l.Trigger == "":
		return text + l.Event + " " + l.What + ": " + l.Reason
	case l.Event != "":
		text += l.Event + "  "
	}
	text += l.Trigger
	if l.Step > 0 {
		text += fmt.Sprintf(" step %d", l.Step)
	}
	text += " " + l.What
	if l.Reason != "" {
		text += ": " + l.Reason
	}
	return text
}
