package messaging

// A TestNumber is a phone of somebody who tries triggers, by the name that the config gives it (test_numbers).
type TestNumber struct {
	Name   string
	Phone  Phone
	SentAs string // as in Message
}

// TestNumbers are those of the config, in its order.
type TestNumbers []TestNumber

// Named is the number of a name.
func (all TestNumbers) Named(name string) (one TestNumber, known bool) {
	for _, one := range all {
		if one.Name == name {
			return one, true
		}
	}
	return one, false
}

// Names are those of all of them.
func (all TestNumbers) Names() []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}
