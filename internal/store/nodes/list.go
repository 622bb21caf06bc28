package nodes

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// A Node is one of the processes that share the data. Times are by the clock of the database.
type Node struct {
	Name     string // host and number of the process
	Version  string // of the program; "" where it is one that does not tell
	Config   string // version of the config in use; "" while it begins
	ConfigAt time.Time
	Began    time.Time
	Seen     time.Time // its last beat
	LeaseEnd time.Time
	Alive    bool
	Leads    bool
	Own      bool          // it is the one that answers
	ClockOff time.Duration // how far its machine's clock is ahead of the database's
	Events   int64         // stored in the last minute, and calls to the service
	Calls    int64
}

// ClockOff is from when on the clock of a machine is wrong: less than that is the way to the database and back.
const ClockOff = 5 * time.Second

// NameOf is the name of the process that signs as owner: host and number.
func NameOf(owner string) string {
	if cut := strings.LastIndexByte(owner, ':'); cut > 0 {
		return owner[:cut]
	}
	return owner
}

// List has the processes that share the data, in the order of their names: those that live, and those that died within an hour
// without a goodbye.
func (b *Heartbeat) List(ctx context.Context, db *sql.DB) (all []Node, err error) {
	own := b.Owner()
	rows, err := db.QueryContext(ctx, `SELECT n.owner, n.version, n.config, n.config_at, n.began, n.seen_at, n.lease_ends, n.lease_ends > `+Now+`,
			coalesce(l.lease_ends > `+Now+`, false), n.clock_off * 1000, n.events, n.calls
		FROM nodes n LEFT JOIN leader l ON l.owner = n.owner WHERE n.lease_ends > `+Now+` - $1 ORDER BY n.owner`, deadFor.Microseconds())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var n Node
		var owner string
		var configAt, began, seen, ends int64
		if err := rows.Scan(&owner, &n.Version, &n.Config, &configAt, &began, &seen, &ends, &n.Alive, &n.Leads, &n.ClockOff, &n.Events, &n.Calls); err != nil {
			return nil, err
		}
		n.Name, n.Own = NameOf(owner), owner == own
		n.ConfigAt, n.Began, n.Seen, n.LeaseEnd = moment(configAt), moment(began), moment(seen), moment(ends)
		all = append(all, n)
	}
	return all, rows.Err()
}

func moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
