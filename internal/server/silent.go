package server

import (
	"fmt"
	"time"
)

// A SilentView is a connector that has sent nothing for longer than its silent_after.
type SilentView struct {
	Connector string     `json:"connector" kind:"ours"`
	For       string     `json:"for" kind:"ours"` // "26h"
	Last      *time.Time `json:"last,omitempty"`  // its last event; absent when there never was one
	Since     time.Time  `json:"since"`           // Last, or when it was first listened to
}

// Words is the view as a line for people.
func (v SilentView) Words() string {
	last := "there was none before"
	if v.Last != nil {
		last = "last " + v.Last.UTC().Format("2006-01-02 15:04 UTC")
	}
	return fmt.Sprintf("%s: nothing for %s (%s)", v.Connector, v.For, last)
}

// ForText is a span as people say it: 26h, 3h20m, 12m. What is small beside the rest is left
// out.
func ForText(d time.Duration) string {
	hours, minutes := int(d.Hours()), int(d.Minutes())%60
	switch {
	case hours >= 10 || (hours > 0 && minutes == 0):
		return fmt.Sprintf("%dh", hours)
	case hours > 0:
		return fmt.Sprintf("%dh%dm", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%dm", minutes)
	default:
		return d.Truncate(time.Second).String()
	}
}
