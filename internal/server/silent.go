package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/units"
)

// Connectors of which nothing comes any more: nothing at all, or nothing that proves its sender.

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

// unverifiedMany is from how many requests in a row on that nobody could verify it is a trouble: a few may be a stranger's.
const unverifiedMany = 10

// mostUnverified is up to how many are counted.
const mostUnverified = 100

// An UnverifiedView is a connector whose requests could be verified before, and none of the last ones could.
type UnverifiedView struct {
	Connector string    `json:"connector" kind:"ours"`
	Count     int64     `json:"count"` // at most 100
	Since     time.Time `json:"since"` // when the first of them came
	Last      time.Time `json:"last"`  // when the last event came that was taken
	Reason    string    `json:"reason" kind:"text"`
}

// Words is the view as a line for people.
func (v *UnverifiedView) Words() string {
	return fmt.Sprintf("none of %s to %s since %s could be verified, and what came before was taken: has the secret changed at the sender? The last: %s",
		units.Count(v.Count, "request"), v.Connector, v.Since.Format("2006-01-02 15:04 UTC"), v.Reason)
}

// unverified are the connectors of the config whose sender proves itself no more. A new config is given its own chance, and a day is the longest
// that is looked back.
func (a admin) unverified(ctx context.Context, last map[string]time.Time, loaded, now time.Time) (out []UnverifiedView, err error) {
	if a.Rules == nil || a.Rules.Load() == nil {
		return nil, nil
	}
	for _, name := range slices.Sorted(maps.Keys(a.Rules.Load().Receivers)) {
		taken, ever := last[name]
		if !ever {
			continue
		}
		since := taken
		for _, other := range []time.Time{loaded, now.Add(-lookBack)} {
			if other.After(since) {
				since = other
			}
		}
		requests, err := history.Records{Store: a.Store}.RejectedRequests(ctx, history.RejectedRequestFilter{Connector: name, Since: since, Limit: mostUnverified})
		if err != nil {
			return nil, err
		}
		v := UnverifiedView{Connector: name, Last: taken.UTC()}
		for i := range requests {
			r := &requests[i]
			if r.Stage != connectors.StageVerify {
				continue
			}
			if v.Count++; v.Count == 1 {
				v.Reason = r.Reason
			}
			v.Since = r.At.UTC()
		}
		if v.Count >= unverifiedMany {
			out = append(out, v)
		}
	}
	return out, nil
}

// unverified are senders that prove themselves no more.
func (t *found) unverified(all []UnverifiedView) {
	for i := range all {
		u := &all[i]
		t.add(messaging.Trouble{
			Code: messaging.TroubleUnverified, Subject: u.Connector, About: "connector " + u.Connector, Since: u.Since, Amount: float64(u.Count), Words: u.Words(),
			Hint: `copy the secret anew from the sender to connectors.` + u.Connector + `, then "nudgewire reload"; "nudgewire events rejected --connector ` + u.Connector + `" shows them; the next that is taken ends this`,
		})
	}
}
