package server

import (
	"fmt"
	"time"
)

// A SilentView is a connector that has sent nothing for longer than its silent_after.
type SilentView struct {
	Connector string    `json:"connector" kind:"ours"`
	For       string    `json:"for" kind:"ours"` // "26h"
	Last      time.Time `json:"last,omitzero"`   // its last event; absent when there never was one
	Since     time.Time `json:"since"`           // Last, or when it was first listened to
}

// Words is the view as a line for people.
func (v SilentView) Words() string {
	last := "there was none before"
	if !v.Last.IsZero() {
		last = "last " + v.Last.UTC().Format("2006-01-02 15:04 UTC")
	}
	return fmt.Sprintf("%s: nothing for %s (%s)", v.Connector, v.For, last)
}
