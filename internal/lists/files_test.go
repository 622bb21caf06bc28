package lists

import (
	"context"
	"errors"
	"testing"
)

// unlisted is a place that can be opened and whose list cannot be had.
type unlisted struct{ closed int }

func (u *unlisted) find(context.Context) ([]file, func() error, error) {
	return nil, func() error { u.closed++; return nil }, errors.New("no such bucket")
}

func TestAPlaceWhoseListCannotBeHadIsClosed(t *testing.T) {
	place := &unlisted{}
	s := &fileSource{kind: "s3", where: "lists/*.csv", finder: place}
	if _, err := s.Open(t.Context()); err == nil || err.Error() != "s3 lists/*.csv: no such bucket" {
		t.Errorf("it opened: %v", err)
	}
	if place.closed != 1 {
		t.Errorf("it was closed %d times", place.closed)
	}
}
