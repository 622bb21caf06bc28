package triggers

import "slices"

// Templates are the names of the templates that the triggers send, sorted, each once.
func (s *Set) Templates() (names []string) {
	for _, r := range s.rules {
		if r.send.template != "" {
			names = append(names, r.send.template)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
