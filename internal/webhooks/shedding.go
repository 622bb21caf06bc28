package webhooks

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A shedReason is why the door turns a request away that did nothing wrong.
type shedReason int

const (
	shedMemory      shedReason = iota // all memory for webhooks is used, by others that proved more or are read already
	shedShare                         // the address uses its share of it
	shedUnproven                      // it had been read longest without a proof, and made room for another
	shedConnections                   // all connections are taken, or the address has its share of them
	shedSlow                          // its head or body came too slowly
	shedRate                          // its connector takes no more for now
	shedDisk                          // it verifies nothing, and the disk is short
	shedStore                         // more waits to be written than can be
	shedReasons
)

// shedWords are the reasons in the words of status, doctor and log.
var shedWords = [shedReasons]string{
	shedMemory:      "webhooks under way used all of server.max_in_flight",
	shedShare:       "one address used its share of server.max_in_flight",
	shedUnproven:    "server.max_in_flight was used, and a body that had proven nothing for longest made room",
	shedConnections: "too many connections were open",
	shedSlow:        "the body came too slowly: it has to begin within 2s, then keep up 1,000 bytes a second, and be whole after 15s",
	shedRate:        "more came than the connector's rate",
	shedDisk:        "the disk is short, and nothing verifies the request",
	shedStore:       "more waited to be written than could be",
}

// A TurnedView counts webhooks that were turned away before they could be verified.
type TurnedView struct {
	Why   string    `json:"why" kind:"ours"`
	Count int64     `json:"count"` // since the daemon started
	Last  time.Time `json:"last"`
	From  string    `json:"from,omitempty" kind:"ours"` // the last address
}

// Words say it in a line.
func (v TurnedView) Words(now time.Time) string {
	words := fmt.Sprintf("%s turned away since the start, the last %s ago", units.Count(v.Count, "webhook"), units.Brief(now.Sub(v.Last)))
	if v.From != "" {
		words += " from " + v.From
	}
	return words + ": " + v.Why
}

// A tally counts what was turned away.
type tally struct {
	mu  sync.Mutex
	all [shedReasons]TurnedView
}

func (t *tally) add(why shedReason, from netip.Addr, now time.Time) {
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
			v.Why = shedWords[why]
			out = append(out, v)
		}
	}
	return out
}

// A shedError is the error for what is turned away.
type shedError struct{ why shedReason }

func (t shedError) Error() string { return shedWords[t.why] }

// rejected is how it is answered. Slow bodies and too many of a connector leave a trace, too: these
// have a sender who should know.
func (t shedError) rejected() *connectors.Rejected {
	no := &connectors.Rejected{Status: http.StatusServiceUnavailable, Stage: stageOverload, Public: "busy, try again", Reason: t.Error()}
	switch t.why {
	case shedSlow:
		no.Status, no.Stage, no.Public = http.StatusRequestTimeout, stageSlow, "body too slow"
	case shedRate:
		no.Status, no.Stage, no.Public = http.StatusTooManyRequests, stageRate, "too many, try again later"
	default:
	}
	return no
}
