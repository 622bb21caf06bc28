package operate

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/units"
)

// slowAnswer is from when on the way to a database server costs so much that webhooks and sends are slow: each group of them waits
// for it two or three times.
const slowAnswer = 50 * time.Millisecond

// databaseServer looks at a PostgreSQL database from this machine, as the daemon sees it.
func (d *doctor) databaseServer(ctx context.Context) {
	name := engine.Name(d.cfg.Storage)
	if config.IsStandIn(d.cfg.Storage) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*doctorPatience)
	defer cancel()
	st, err := store.Open(ctx, store.Options{DSN: d.cfg.Storage, ReadOnly: true})
	if errors.Is(err, store.ErrNoData) {
		d.found(wellNote, "database", "the daemon makes its tables when it starts", "%s answers, and has no data yet", name)
		return
	}
	if err != nil {
		d.found(wellBad, "database", engine.Hint(err), "%v", err)
		return
	}
	v, err := st.Server(ctx)
	space, spaceErr := st.Space(ctx)
	err = errors.Join(err, spaceErr, d.look(ctx, st), st.Close())
	if err != nil {
		d.found(wellBad, "database", cmp.Or(engine.Hint(err), "look at the server and its log"), "%s: %v", name, err)
		return
	}
	if v.Latency >= slowAnswer {
		d.found(wellNote, "database", "run nudgewire near the database: each group of webhooks and sends waits for it two or three times", "an answer of %s takes %s", name, v.Latency.Round(time.Millisecond))
	}
	if v.Connections+store.MostConnections > v.MostConnections {
		d.found(wellNote, "database", "raise max_connections of the server", "%s has %s of at most %s open; one more node takes up to %d",
			name, units.Count(int64(v.Connections), "connection"), units.Number(int64(v.MostConnections)), store.MostConnections)
	}
	d.found(wellGood, "database", "", "%s answers in %s: PostgreSQL %s, %.1f MB, %d of %d connections", name, v.Latency.Round(10*time.Microsecond), v.Version, float64(space.File)/1e6, v.Connections, v.MostConnections)
}
