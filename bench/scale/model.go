package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
)

// A Cost is what one thing takes: microseconds of a processor of a node and of the database server, bytes of the server's log, and
// bytes that stay.
type Cost struct{ Node, Server, Log, Stored float64 }

func (c Cost) plus(d Cost, times float64) Cost {
	return Cost{c.Node + times*d.Node, c.Server + times*d.Server, c.Log + times*d.Log, c.Stored + times*d.Stored}
}

// Costs are those of all that happens.
type Costs struct {
	Webhook, Send, Poll Cost
	Key                 Cost // a key that is kept in another database than its event, in groups of 64
}

// A Load is what arrives.
type Load struct {
	Events    float64 // a second, mean
	Messages  float64 // for each event
	Polls     float64 // for each message
	Elsewhere float64 // part of the events whose key is kept in another database than they are
	Burst     float64 // the fullest second holds so many times the mean
}

// A Site is what machines there are.
type Site struct {
	Cores float64 // of a database server, and of a node
	Use   float64 // part of them that may be busy
	Log   float64 // million bytes a second that the disk of a log takes
}

var (
	usualLoad = Load{Events: 100_000, Messages: 0.3, Polls: 1.5, Elsewhere: 1, Burst: 1.5}
	usualSite = Site{Cores: 16, Use: 0.6, Log: 200}
)

// A Plan is what a load needs.
type Plan struct {
	Load
	Site
	Event     Cost // with all that comes of it, on average
	Databases int
	Nodes     int     // of all databases
	Fullest   float64 // part of the processors of the fullest database that is busy in the fullest second
	LogRate   float64 // million bytes a second there
	Day       float64 // million bytes that stay from a day of the mean, over all databases
	Sockets   int     // connections of nodes to each database, where each node belongs to one
	SocketsAt int     // the same where each node is connected to all
}

const (
	contacts   = 4_000_000 // that the simulation knows
	seconds    = 20        // that it simulates
	drawn      = 50_000    // events of each; more are scaled
	heavy      = 0.01      // part of the events that come from one in a thousand contacts, besides their own
	perNode    = 14        // connections of a node to its database (store.MostConnections)
	mostOf     = 4096      // databases
	perMillion = 1e6       // microseconds in a second, and bytes in a million
)

// work finds the fewest databases that bear the fullest second of the simulation.
func work(c Costs, l Load, s Site) (Plan, error) {
	p := Plan{Load: l, Site: s}
	p.Event = c.Webhook.plus(c.Key, l.Elsewhere).plus(c.Send, l.Messages).plus(c.Poll, l.Messages*l.Polls)
	if p.Event.Server <= 0 || p.Event.Node <= 0 {
		return p, errors.New("an event costs nothing, which cannot be")
	}
	most := l.Events * l.Burst
	bears := min(s.Cores*s.Use*perMillion/p.Event.Server, s.Log*perMillion/max(p.Event.Log, 1)) // events a second of one database
	for p.Databases = max(1, int(math.Ceil(most/bears))); p.Databases <= mostOf; p.Databases++ {
		share := fullest(p.Databases)
		if most*share <= bears {
			p.Fullest = most * share * p.Event.Server / perMillion / s.Cores
			p.LogRate = most * share * p.Event.Log / perMillion
			// A node belongs to one database, so each database has nodes for its own fullest second.
			nodes := int(math.Ceil(most * share * p.Event.Node / perMillion / (s.Cores * s.Use)))
			p.Nodes = nodes * p.Databases
			p.Sockets, p.SocketsAt = nodes*perNode, p.Nodes*perNode
			p.Day = l.Events * 86_400 * p.Event.Stored / perMillion
			return p, nil
		}
	}
	return p, fmt.Errorf("more than %d databases", mostOf)
}

// fullest is the largest part of a second's events that one of n databases gets, when contacts are spread by their hash. One in a
// thousand contacts sends more than the others.
func fullest(n int) float64 {
	if n == 1 {
		return 1
	}
	r := rand.New(rand.NewPCG(14, uint64(n)))
	most := 0
	counts := make([]int, n)
	for range seconds {
		clear(counts)
		for range drawn {
			contact := r.Uint64N(contacts)
			if r.Float64() < heavy {
				contact %= contacts / 1000
			}
			counts[hash(contact)%uint64(n)]++
		}
		most = max(most, slices.Max(counts))
	}
	return float64(most) / drawn
}

// hash spreads numbers as the hash of a phone does (the last steps of MurmurHash3).
func hash(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// reserve says what it costs to count one limit over all databases when each takes room for a part of what is left at a time: how often
// the common database is asked until the limit is reached, and how many contacts may go unused then.
func reserve(limit, databases, atOnce int) (asks, unused int) {
	return (limit + atOnce - 1) / atOnce, min(limit, max(0, databases-1)*(atOnce-1))
}

func (p Plan) write(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(what, format string, args ...any) { fmt.Fprintf(t, what+"\t"+format+"\n", args...) }
	line("events a second", "%.0f, in the fullest second %.0f", p.Events, p.Events*p.Burst)
	line("an event with all that comes of it", "%.0f µs of a node, %.0f µs of a server, %.0f bytes of log, %.0f bytes that stay", p.Event.Node, p.Event.Server, p.Event.Log, p.Event.Stored)
	line("databases", "%d of %.0f cores; the fullest has %.0f %% of them busy and writes %.0f MB of log a second", p.Databases, p.Cores, 100*p.Fullest, p.LogRate)
	line("nodes", "%d of %.0f cores", p.Nodes, p.Cores)
	line("connections of nodes to a database", "%d; %d if each node were connected to all", p.Sockets, p.SocketsAt)
	line("room", "%.0f GB a day", p.Day/1000)
	const limit, atOnce = 1_000_000, 1_000
	asks, unused := reserve(limit, p.Databases, atOnce)
	line("limits.unique_contacts of 1,000,000", "asked for %d times in blocks of %d; at most %d stay unused (%.1f %%)", asks, atOnce, unused, 100*float64(unused)/limit)
	line("a halt", "%d rows, one in each database", p.Databases)
	return t.Flush()
}
