package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What was answered 2xx and came to nothing is told: an opt-out at once, and anything else from the tenth on.

// unusedMany is from how many on it is a trouble, but for what is one at once.
const unusedMany = 10

// An UnusedView is what came to nothing of one connector, for one reason.
type UnusedView struct {
	Connector string            `json:"connector" kind:"ours"`
	Why       messaging.Unused  `json:"why"`
	Kind      string            `json:"kind,omitempty" kind:"text"` // of the events
	Count     int64             `json:"count"`
	Since     time.Time         `json:"since"`
	Last      time.Time         `json:"last"`
	Event     messaging.EventID `json:"event,omitempty"` // the newest; absent where none is stored
	Told      bool              `json:"told"`            // it is a trouble
}

// unused is what came to nothing and is not over. Requests without an event count only where their connector brought none since.
func (a admin) unused(ctx context.Context, last map[string]time.Time, now time.Time) (out []UnusedView, err error) {
	all, err := a.Store.Unused(ctx, now)
	for _, u := range all {
		if u.Why == messaging.UnusedRequest && last[u.Connector].After(u.First) {
			continue
		}
		if u.Why == messaging.UnusedTopic && a.knows(u.Connector, u.Kind) {
			continue
		}
		out = append(out, UnusedView{
			Connector: u.Connector, Why: u.Why, Kind: u.Kind, Count: u.Count, Since: u.First.UTC(), Last: u.Last.UTC(), Event: u.Event,
			Told: u.Why.AtOnce() || u.Count >= unusedMany,
		})
	}
	return out, err
}

// unknownTopics are the kinds that nobody knows, often enough to be told, as what a sender changed.
func (a admin) unknownTopics(ctx context.Context) (out []drift.View, err error) {
	all, err := a.unused(ctx, nil, a.Now())
	for i := range all {
		if u := &all[i]; u.Why == messaging.UnusedTopic && u.Told {
			out = append(out, drift.View{
				Connector: u.Connector, Kind: u.Kind, What: drift.Topic, Since: u.Since, Without: u.Count, Todo: true, YAML: u.yaml(),
			})
		}
	}
	return out, err
}

// yaml is the entry that makes an unknown kind a known one.
func (u *UnusedView) yaml() string {
	return "connectors: {" + u.Connector + ": {kinds: [" + u.Kind + "]}}"
}

// knows reports whether the config of today knows a kind that was unknown when it came.
func (a admin) knows(connector, kind string) bool {
	if a.Rules == nil || a.Rules.Load() == nil {
		return false
	}
	to := a.Rules.Load().Receivers[connector]
	return to != nil && to.Knows(kind)
}

// unused is what came to nothing, often enough.
func (t *found) unused(v *StatusView) {
	for i := range v.Unused {
		u := &v.Unused[i]
		if !u.Told {
			continue
		}
		one := messaging.Trouble{
			Code: messaging.TroubleCode(u.Why), Subject: u.Connector, About: "connector " + u.Connector, Since: u.Since, Amount: float64(u.Count),
			Words: u.Words(), Hint: u.hint(),
		}
		if u.Kind != "" && u.Why != messaging.UnusedKind && u.Why != messaging.UnusedRequest {
			one.Subject += "." + u.Kind
		}
		if u.Why == messaging.UnusedRequest {
			one.Severity = messaging.Note
		}
		t.add(one)
	}
}

// Words say it in a line.
func (u *UnusedView) Words() string {
	events := units.Count(u.Count, "event")
	ref, since := u.Connector+"."+u.Kind, ", since "+u.Since.Format("2006-01-02 15:04 MST")
	if u.Event > 0 {
		since += fmt.Sprintf(", the newest event %d", u.Event)
	}
	switch u.Why {
	case messaging.UnusedOptOut:
		return fmt.Sprintf("%s of %s blocked nobody, because no phone can be read: whoever wants no messages still gets them%s", units.Count(u.Count, "opt-out"), ref, since)
	case messaging.UnusedKind:
		return fmt.Sprintf("%s of %s without a word of what happened, so no trigger can listen%s", events, u.Connector, since)
	case messaging.UnusedPhone:
		return fmt.Sprintf("%s in a row without a phone that can be read, and triggers listen to %s%s", events, ref, since)
	case messaging.UnusedTopic:
		return fmt.Sprintf("%s of the kind %s, which its preset does not know and no trigger listens to%s", events, ref, since)
	case messaging.UnusedRepeated:
		return fmt.Sprintf("%s of %s under an id that came before, with other content: taken as repetitions, so nothing came of %s%s", events, ref, itOrThem(u.Count), since)
	default:
		return fmt.Sprintf("%s to %s with no event in %s%s", units.Count(u.Count, "request"), u.Connector, itOrThem(u.Count), since)
	}
}

// hint is what to do about it, in YAML and commands.
func (u *UnusedView) hint() string {
	show := `"nudgewire events rejected" shows them`
	if u.Event > 0 {
		show = fmt.Sprintf(`"nudgewire events show %d" shows one`, u.Event)
	}
	in := "connectors: {" + u.Connector + ": {"
	var mend string
	switch u.Why {
	case messaging.UnusedOptOut:
		return fmt.Sprintf(`%s: "nudgewire contacts block PHONE" blocks who it was; write %smap: {phone: PATH}}}, or defaults: {country: GB}, so that the next is read; "nudgewire events seen %s" ends this`,
			show, in, u.Connector)
	case messaging.UnusedKind:
		mend = "write " + in + "event: {type: PATH}}} for where its word is, or event: {kind: order.created} where it has none"
	case messaging.UnusedPhone:
		mend = "write " + in + "map: {phone: PATH}}}, or enrich: for a look-up; the next with a phone ends this"
	case messaging.UnusedTopic:
		mend = "take the topic off at the sender, or write " + u.yaml() + " and a trigger with on: " + u.Connector + "." + u.Kind
	case messaging.UnusedRepeated:
		mend = "give each event an id of its own at the sender, or write " + in + "event: {id: [PATH, what_is_read]}}}"
	default:
		mend = "write " + in + "items: PATH}} for where its events lie, or take such requests off at the sender"
	}
	return show + "; " + mend + `; "nudgewire events seen ` + u.Connector + `" ends this, and so does a day without one`
}

// UnusedRequest names the connector whose events a person has seen to.
type UnusedRequest struct {
	Connector string `json:"connector,omitempty"` // "" for all
}

func (a admin) listUnused(ctx context.Context, _ None) ([]UnusedView, error) {
	last, err := report.Records{Store: a.Store}.LastEvents(ctx)
	if err != nil {
		return nil, err
	}
	out, err := a.unused(ctx, last, a.Now())
	if out == nil {
		out = []UnusedView{}
	}
	return out, err
}

// endUnused ends what came to nothing, by a person's word, and gives what that was.
func (a admin) endUnused(ctx context.Context, req UnusedRequest) ([]UnusedView, error) {
	all, err := a.Store.Unused(ctx, a.Now())
	if err != nil {
		return nil, err
	}
	ended := []UnusedView{}
	for _, u := range all {
		if req.Connector == "" || u.Connector == req.Connector {
			ended = append(ended, UnusedView{Connector: u.Connector, Why: u.Why, Kind: u.Kind, Count: u.Count, Since: u.First.UTC(), Last: u.Last.UTC(), Event: u.Event})
		}
	}
	if len(ended) == 0 {
		return nil, refusal.Newf(http.StatusNotFound, `"nudgewire events unused" shows what there is`, "nothing of %s came to nothing", cmp.Or(req.Connector, "any connector"))
	}
	if err := a.Store.EndUnused(ctx, req.Connector); err != nil {
		return nil, err
	}
	return ended, nil
}
