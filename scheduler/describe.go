package scheduler

import (
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/triggers"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Tell reads a job back in sentences, in the order in which things happen, for people who do not read YAML.
func (c *Compiled) Tell() (out []triggers.Sentence) {
	say := func(key, format string, args ...any) {
		out = append(out, triggers.Sentence{Key: key, Text: fmt.Sprintf(format, args...)})
	}
	if c.Mode == Off {
		say("mode", "It is off: it runs by hand alone.")
	}
	if c.Cron == "" {
		say("cron", "It runs by hand alone.")
	} else {
		say("cron", "It runs %s, by the clock of %s (%q).", c.schedule.Words(), c.zone, c.Cron)
		switch {
		case c.OnMissed.RunOnce:
			say("on_missed", "A time that passed while nothing ran is made up for, once.")
		case c.OnMissed.Younger > 0:
			say("on_missed", "A time that passed while nothing ran is made up for within %s.", units.Spell(c.OnMissed.Younger))
		default:
			say("on_missed", "A time that passed while nothing ran is left out.")
		}
		say("overlap", "%s", map[Overlap]string{
			OverlapSkip:   "When its time comes and the run before has not ended, it is left out.",
			OverlapQueue:  "When its time comes and the run before has not ended, it waits for that.",
			OverlapCancel: "When its time comes and the run before has not ended, that is cancelled.",
		}[c.Overlap])
	}
	if c.audience != nil {
		say("source", "It sends to the contacts of whom this holds when it runs: %s.", strings.TrimPrefix(c.source.String(), "contacts "))
	} else {
		say("source", "It reads the list %s.", c.source)
	}
	excluded := "Who is blocked gets nothing"
	if d := c.Exclude.MessagedWithin.D(); d > 0 {
		excluded += ", nor who was sent anything in the last " + units.Spell(d)
	}
	if c.Unique != UniqueOff {
		excluded += ", and of several rows with one phone the first one counts"
	}
	say("exclude", "%s.", excluded)
	if words := c.Guard.guardWords(); words != "" {
		say("guard", "A run waits for a person's approval with %s.", words)
	}
	say("consent", "%s", c.Keys.Consent.Sentence(c.category))
	quiet, limit := c.Keys.Sentences(c.category)
	say("quiet_hours", "%s", quiet)
	say("limit", "%s", limit)
	if c.At != nil {
		say("at", "Each row goes at the next %s on the clock of its contact; where that is not known, on the clock of %s.", c.At, c.zones.Otherwise()[0])
	}
	if !c.Rate.IsZero() {
		say("rate", "%s", c.Rate.Sentence())
	}
	if c.Canary != nil {
		first := c.Canary.First.String() + " of the rows"
		if c.Canary.First.Rows > 0 {
			first = units.Count(c.Canary.First.Rows, "row")
		}
		stops := ""
		if !c.Canary.StopIf.IsZero() {
			stops = " It stops there if " + c.Canary.StopIf.String() + "."
		}
		say("canary", "It sends %s first and looks at them after %s, before the rest goes.%s", first, units.Spell(c.Canary.Wait.D()), stops)
	}
	if c.Deliver == messaging.DeliverPerMessage {
		say("send", "It sends each row the %s as %s, and follows each message.", c.send.What(), c.category)
	} else {
		say("campaign", "It uploads the list as files, as a campaign with the template number %d, as %s.", c.Campaign.TemplateID, c.category)
	}
	return out
}

// guardWords are what makes a run wait, "" for nothing.
func (g Guard) guardWords() string {
	var said []string
	if g.MaxRows > 0 {
		said = append(said, "more than "+units.Count(g.MaxRows, "row"))
	}
	if g.ApproveOver > 0 && (g.MaxRows == 0 || g.ApproveOver < g.MaxRows) {
		said = append(said, "more than "+units.Count(g.ApproveOver, "row"))
	}
	if g.MaxChange > 0 {
		said = append(said, "more rows than "+g.MaxChange.String()+" of the last run's, or as much fewer")
	}
	if g.MaxPoints > 0 {
		said = append(said, fmt.Sprintf("more than %g points", g.MaxPoints))
	}
	if g.Repeat != RepeatSend {
		said = append(said, "the list that the last run sent")
	}
	return strings.Join(said, ", or with ")
}
