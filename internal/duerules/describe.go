package duerules

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Sentences say what the keys mean for messages of a category, for people: quiet hours, then limits.
func (k Keys) Sentences(category messaging.Category) (quiet, limit string) {
	var said []string
	for _, l := range k.Limit.All {
		if cmp.Or(l.Category, messaging.Marketing) == category {
			said = append(said, l.sentence(category))
		}
	}
	switch {
	case len(said) > 0:
		limit = strings.Join(said, " ")
	case len(k.Limit.All) > 0:
		limit = "No limit per contact holds it back: the limits are not for " + string(category) + "."
	default:
		limit = "No limit per contact holds it back."
	}
	return k.QuietHours.sentence(category), limit
}

// Sentence says whom messages of a category may reach, for people.
func (c Consent) Sentence(category messaging.Category) string {
	switch {
	case c != ConsentRequired:
		return "It goes to every contact that is not blocked; recorded consent is not asked for."
	case category.Urgent():
		return "It goes to every contact: consent is asked for marketing."
	default:
		return "It goes only to contacts whose consent to messages is recorded."
	}
}

func (q QuietHours) sentence(category messaging.Category) string {
	switch {
	case len(q.Windows) == 0 && q.Holidays == "":
		return "It may be sent at any hour."
	case category.Urgent():
		return "It may be sent at any hour: quiet hours are for marketing."
	}
	var when []string
	for _, w := range q.Windows {
		when = append(when, w.String())
	}
	if q.Holidays != "" {
		when = append(when, "the days of "+q.Holidays)
	}
	return "It is not sent in the quiet hours of the contact's place (" + strings.Join(when, ", ") + "): " + hitWords(q.OnHit, "until they end", q.MaxDefer) + "."
}

func (l Limit) sentence(category messaging.Category) string {
	many := units.Count(l.Count.Most, string(category)+" message")
	in := "in any " + units.Spell(l.Count.Per)
	if l.Count.Calendar != "" {
		in = "a " + string(l.Count.Calendar)
	}
	return fmt.Sprintf("A contact gets at most %s %s, from all triggers and jobs together; beyond it, %s.", many, in, hitWords(l.OnHit, "until there is room", l.MaxDefer))
}

// hitWords is what becomes of a message that is held back.
func hitWords(o OnHit, until string, most units.Duration) string {
	switch {
	case o == Drop:
		return "it is dropped"
	case most > 0:
		return "it waits " + until + ", at most " + units.Spell(most.D())
	default:
		return "it waits " + until
	}
}
