package server

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/nodes"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A NodeView is one of the daemons that share a PostgreSQL database. Times are by the clock of the database.
type NodeView struct {
	Name        string    `json:"name" kind:"ours"` // host and process
	Version     string    `json:"version,omitempty" kind:"ours"`
	Config      string    `json:"config,omitempty" kind:"ours"` // version of the config in use; absent while it begins
	ConfigSince time.Time `json:"config_since,omitzero"`
	StartedAt   time.Time `json:"started_at"`
	Beat        time.Time `json:"beat"`        // when it last said that it lives
	AliveUntil  time.Time `json:"alive_until"` // unless it says so again
	Alive       bool      `json:"alive"`
	Leads       bool      `json:"leads,omitempty"` // does what only one should do
	Own         bool      `json:"own,omitempty"`   // it is the one that answers
	ClockAhead  float64   `json:"clock_ahead_seconds"`
	Webhooks    int64     `json:"webhooks"` // events that it stored in the last minute
	Sends       int64     `json:"sends"`    // calls to the service that it began in the last minute
}

// nodes lists the daemons that share the data; nil where one has it for itself.
func (a admin) nodes(ctx context.Context) (out []NodeView, err error) {
	all, err := a.Store.Nodes(ctx)
	for i := range all {
		n := &all[i]
		out = append(out, NodeView{
			Name: n.Name, Version: n.Version, Config: n.Config, ConfigSince: n.ConfigAt.UTC(), StartedAt: n.Began.UTC(), Beat: n.Seen.UTC(), AliveUntil: n.LeaseEnd.UTC(),
			Alive: n.Alive, Leads: n.Leads, Own: n.Own, ClockAhead: n.ClockOff.Round(time.Millisecond).Seconds(), Webhooks: n.Events, Sends: n.Calls,
		})
	}
	return out, err
}

// Words say it in a line, without the name.
func (v *NodeView) Words() string {
	if !v.Alive {
		return "dead: no sign of life since " + v.Beat.Format(time.DateTime) + " UTC"
	}
	var is []string
	if v.Own {
		is = append(is, "this one")
	}
	if v.Leads {
		is = append(is, "leads")
	}
	words := ""
	if len(is) > 0 {
		words = "(" + strings.Join(is, ", ") + ") "
	}
	return words + fmt.Sprintf("%s, config %s, alive until %s UTC, %s and %s in the last minute", cmp.Or(v.Version, "an earlier version"), cmp.Or(v.Config, "not read yet"),
		v.AliveUntil.Format(time.TimeOnly), units.Count(v.Webhooks, "webhook"), units.Count(v.Sends, "send"))
}

// nodes are daemons that do not run the same: what becomes of a webhook then depends on which of them it came to. And those whose
// clock is wrong.
func (t *found) nodes(all []NodeView) {
	for i := range all {
		n := &all[i]
		ahead := time.Duration(n.ClockAhead * float64(time.Second)).Round(time.Second)
		if !n.Alive || ahead.Abs() < nodes.ClockOff {
			continue
		}
		words := ahead.String() + " ahead of"
		if ahead < 0 {
			words = (-ahead).String() + " behind"
		}
		t.add(messaging.Trouble{
			Code: messaging.TroubleClock, Subject: n.Name, About: "nodes", Amount: n.ClockAhead,
			Words: "the clock of " + n.Name + " is " + words + " the database's, which messages go by: certificates, and the times in its log, go by it",
			Hint:  "have that machine, or the database's, set its clock by the network (chrony, systemd-timesyncd)",
		})
	}
	alive := slices.DeleteFunc(slices.Clone(all), func(n NodeView) bool { return !n.Alive || n.Config == "" })
	if words, since := differ(alive, func(n *NodeView) (string, time.Time) { return n.Config, n.ConfigSince }); words != "" {
		t.add(messaging.Trouble{
			Code: messaging.TroubleNodes, Subject: "config", About: "nodes", Since: since, Words: "nodes run different configs: " + words,
			Hint: `give all machines the same file, and "nudgewire reload" on each`,
		})
	}
	version := func(n *NodeView) (string, time.Time) { return cmp.Or(n.Version, "an earlier version"), n.StartedAt }
	if words, since := differ(alive, version); words != "" {
		t.add(messaging.Trouble{
			Code: messaging.TroubleNodes, Subject: "version", About: "nodes", Since: since, Words: "nodes run different versions of nudgewire: " + words,
			Hint: "install the same version on all machines, and start the others anew",
		})
	}
}

// elsewhere are nodes that live, and send nothing by an account that they call otherwise than this one.
func (t *found) elsewhere(all []messaging.SendingHalt, nodes []NodeView) {
	for i := range all {
		e := &all[i]
		if e.Node == "" || !slices.ContainsFunc(nodes, func(n NodeView) bool { return n.Name == e.Node && n.Alive && !n.Own }) {
			continue
		}
		of := "the account"
		if e.Account != "" {
			of = "account " + e.Account
		}
		t.add(messaging.Trouble{
			Code: messaging.TroubleNodes, Subject: of, About: "nodes", Since: e.Since,
			Words: e.Node + " calls " + of + " by another key or at another address than this node, and " + e.Words(t.now),
			Hint:  OfAccount("give all nodes the same api.key and api.base_url, and \"nudgewire reload\" on each; a key in the environment is read at a start", e.Account),
		})
	}
}

// differ says who has what where nodes do not all have the same, and since when they do not; "" where they do.
func differ(all []NodeView, of func(*NodeView) (string, time.Time)) (words string, since time.Time) {
	type group struct {
		is    string
		names []string
		first time.Time // who had it first
	}
	var groups []group
	for i := range all {
		is, at := of(&all[i])
		g := slices.IndexFunc(groups, func(g group) bool { return g.is == is })
		if g < 0 {
			groups, g = append(groups, group{is: is, first: at}), len(groups)
		}
		groups[g].names = append(groups[g].names, all[i].Name)
		if at.Before(groups[g].first) {
			groups[g].first = at
		}
	}
	if len(groups) < 2 {
		return "", since
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Or(b.first.Compare(a.first), cmp.Compare(a.is, b.is)) })
	var parts []string
	for _, g := range groups {
		parts = append(parts, g.is+" on "+strings.Join(g.names, ", "))
	}
	return strings.Join(parts, "; "), groups[0].first
}
