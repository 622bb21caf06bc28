package store

import (
	"context"
	"time"

	"github.com/nudgewire/nudgewire/internal/pace"
)

// Shares reports whether other processes may work on the same data, so that rates and troubles of accounts are those of all.
func (s *Store) Shares() bool { return s.quick != nil }

// What was given further ahead than that was given by a clock that was put back since: a minute, and the times of a hundred leases.
const (
	givenAhead  = int64(time.Minute / time.Microsecond)
	givenLeases = 100
)

const leaseRate = `INSERT INTO rates AS r (account, given) VALUES ($1, ` + databaseNow + ` + $2)
	ON CONFLICT (account) DO UPDATE SET given = $2 +
		CASE WHEN r.given BETWEEN ` + databaseNow + ` AND ` + databaseNow + ` + $3 THEN r.given ELSE ` + databaseNow + ` END
	RETURNING given - $2, ` + databaseNow

// Lease books the times of n requests of the account, one each every; see pace.Lessor. Nothing but PostgreSQL has it.
func (a Account) Lease(ctx context.Context, n int, every time.Duration) (l pace.Lease, err error) {
	takes := (time.Duration(n) * every).Microseconds()
	var first, clock int64
	err = a.quick.QueryRowContext(ctx, leaseRate, a.name, takes, givenAhead+givenLeases*takes).Scan(&first, &clock)
	return pace.Lease{First: Moment(first), Clock: Moment(clock)}, Wrap(err, "rate of account %q", a.name)
}
