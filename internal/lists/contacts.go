package lists

import (
	"context"
	"errors"
	"strings"
)

// contacts is a list of people whom nudgewire knows, by the expression that chooses them. Whoever has the data reads it: see package contacts.
type contacts string

func openContacts(o Origin, _ string) (Source, error) {
	return contacts(strings.Join(strings.Fields(o.Contacts), " ")), nil
}

// String implements Source.
func (c contacts) String() string { return "contacts " + string(c) }

// Open implements Source.
func (c contacts) Open(context.Context) (Rows, error) {
	return nil, errors.New("contacts are read from the data of the daemon, and there is none yet: start it with nudgewire serve")
}
