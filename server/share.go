package server

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A turning is why the door turns a request away that did nothing wrong.
type turning int

const (
	turnedMemory      turning = iota // all memory for webhooks is used, by others that proved more or are read already
	turnedShare                      // the address uses its share of it
	turnedRoom                       // it had been read longest without a proof, and made room for another
	turnedConnections                // all connections are taken, or the address has its share of them
	turnedSlow                       // its head or body came too slowly
	turnedRate                       // its connector takes no more for now
	turnedDisk                       // it verifies nothing, and the disk is short
	turnedStore                      // more waits to be written than can be
	turnings
)

// turnedWords are the reasons in the words of status, doctor and log.
var turnedWords = [turnings]string{
	turnedMemory:      "webhooks under way used all of server.max_in_flight",
	turnedShare:       "one address used its share of server.max_in_flight",
	turnedRoom:        "server.max_in_flight was used, and a body that had proven nothing for longest made room",
	turnedConnections: "too many connections were open",
	turnedSlow:        "the body came too slowly: it has to begin within 2s, then keep up 1,000 bytes a second, and be whole after 15s",
	turnedRate:        "more came than the connector's rate",
	turnedDisk:        "the disk is short, and nothing verifies the request",
	turnedStore:       "more waited to be written than could be",
}

// A TurnedView counts webhooks that were turned away before they could be verified.
type TurnedView struct {
	Why   string    `json:"why"`
	Count int64     `json:"count"` // since the daemon started
	Last  time.Time `json:"last"`
	From  string    `json:"from,omitempty"` // the last address
}

// Words say it in a line.
func (v TurnedView) Words(now time.Time) string {
	words := fmt.Sprintf("%s turned away since the start, the last %s ago", units.Count(v.Count, "webhook"), ForText(now.Sub(v.Last)))
	if v.From != "" {
		words += " from " + v.From
	}
	return words + ": " + v.Why
}

// A tally counts what was turned away.
type tally struct {
	mu  sync.Mutex
	all [turnings]TurnedView
}

func (t *tally) add(why turning, from netip.Addr, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := &t.all[why]
	v.Count++
	v.Last = now.UTC()
	if from.IsValid() {
		v.From = from.String()
	}
}

// views are the reasons that occurred.
func (t *tally) views() (out []TurnedView) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for why, v := range t.all {
		if v.Count > 0 {
			v.Why = turnedWords[why]
			out = append(out, v)
		}
	}
	return out
}

// A turnedAway is the error for what is turned away.
type turnedAway struct{ why turning }

func (t turnedAway) Error() string { return turnedWords[t.why] }

// rejected is how it is answered. Slow bodies and too many of a connector leave a trace, too: these
// have a sender who should know.
func (t turnedAway) rejected() *connectors.Rejected {
	no := &connectors.Rejected{Status: http.StatusServiceUnavailable, Stage: stageOverload, Public: "busy, try again", Reason: t.Error()}
	switch t.why {
	case turnedSlow:
		no.Status, no.Stage, no.Public = http.StatusRequestTimeout, stageSlow, "body too slow"
	case turnedRate:
		no.Status, no.Stage, no.Public = http.StatusTooManyRequests, stageRate, "too many, try again later"
	default:
	}
	return no
}

// neighbourhood is who shares a share with an address: of IPv6 the whole /64, which any one machine
// may have to itself.
func neighbourhood(a netip.Addr) netip.Addr {
	if !a.Is6() {
		return a
	}
	p, err := a.WithZone("").Prefix(64)
	if err != nil {
		return a
	}
	return p.Addr()
}
