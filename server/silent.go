package server

import (
	"fmt"
	"strings"
	"time"
)

// A SilentView is a connector that has sent nothing for longer than its silent_after.
type SilentView struct {
	Connector string     `json:"connector"`
	For       string     `json:"for"`            // "26h"
	Last      *time.Time `json:"last,omitempty"` // its last event; absent when there never was one
}

// Words is the view as a line for people.
func (v SilentView) Words() string {
	last := "there was none before"
	if v.Last != nil {
		last = "last " + v.Last.UTC().Format("2006-01-02 15:04 UTC")
	}
	return fmt.Sprintf("%s: nothing for %s (%s)", v.Connector, v.For, last)
}

// ForText is a span as people say it: 26h, 3h20m, 12m.
func ForText(d time.Duration) string {
	switch {
	case d >= 10*time.Hour:
		d = d.Truncate(time.Hour)
	case d >= time.Minute:
		d = d.Truncate(time.Minute)
	default:
		return d.Truncate(time.Second).String()
	}
	text := strings.TrimSuffix(d.String(), "0s")
	if d >= time.Hour {
		text = strings.TrimSuffix(text, "h0m") + hourEnd(text)
	}
	return text
}

func hourEnd(text string) string {
	if strings.HasSuffix(text, "h0m") {
		return "h"
	}
	return ""
}
