package mapping

import (
	"slices"
	"strings"
)

// IsField reports whether a field, such as order.total or cart.items.image, is filled by maps and by nothing else.
func IsField(field string) bool {
	list, part := listField(field)
	i := TargetIndex(list)
	if i < 0 || i >= len(Targets) {
		return field == "contact.consent_known" || field == "contact.email_consent_known"
	}
	switch Targets[i].Kind {
	case takesCountry, takesLanguage, takesZone: // the phone says them, and defaults do
		return false
	case takesItems:
		return part == "" || part != eachParts[partQuantity] && slices.Contains(eachParts[:], part) // one, unless said otherwise
	default:
		return part == ""
	}
}

// listField is a field of an entry as its list and its own name: "cart.items" and "image".
func listField(field string) (list, part string) {
	if at := strings.LastIndexByte(field, '.'); strings.Count(field, ".") == 2 {
		return field[:at], field[at+1:]
	}
	return field, ""
}

// FilledFrom are the fields of maps of which any may give a field its value.
func FilledFrom(field string) []string {
	switch field {
	case "contact.name":
		return []string{field, "contact.first_name", "contact.last_name"}
	case "contact.first_name", "contact.last_name":
		return []string{field, "contact.name"}
	case "contact.consent_known":
		return []string{"contact.accepts_marketing"}
	case "contact.email_consent_known":
		return []string{"contact.accepts_email"}
	default:
		return []string{field}
	}
}

// MayFill reports whether a map may give a field of an event of a kind a value. topics are the sender's words for the kind, and all says
// that there are no others.
func (m *Mapper) MayFill(field, kind string, topics []string, all bool) bool {
	list, part := listField(field)
	target := TargetIndex(list)
	for i := range m.Layers {
		l := &m.Layers[i]
		counts := l.Pattern == "" || !all || MatchesPattern(l.Pattern, kind) ||
			slices.ContainsFunc(topics, func(t string) bool { return MatchesPattern(l.Pattern, t) })
		if counts && slices.ContainsFunc(l.Fields, func(a assignment) bool { return a.Target == target && a.gives(part) }) {
			return true
		}
	}
	return false
}

// gives reports whether an assignment may give a part of each entry, or anything where part is "".
func (a *assignment) gives(part string) bool {
	if part == "" {
		return len(a.Paths) > 0 || a.Each != nil
	}
	i := slices.Index(eachParts[:], part)
	return a.Each != nil && i >= 0 && len(a.Each.parts[i]) > 0
}
