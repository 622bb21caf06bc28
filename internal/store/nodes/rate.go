package nodes

import (
	"context"
	"database/sql"
	"time"

	"github.com/nudgewire/nudgewire/internal/pace"
)

// What was given further ahead than that was given by a clock that was put back since: a minute, and the times of a hundred leases.
const (
	givenAhead  = int64(time.Minute / time.Microsecond)
	givenLeases = 100
)

const leaseRate = `INSERT INTO rates AS r (account, given) VALUES ($1, ` + Now + ` + $2)
	ON CONFLICT (account) DO UPDATE SET given = $2 +
		CASE WHEN r.given BETWEEN ` + Now + ` AND ` + Now + ` + $3 THEN r.given ELSE ` + Now + ` END
	RETURNING given - $2, ` + Now

// LeaseRate books the times of n requests of an account, one each every; see pace.Lessor.
func LeaseRate(ctx context.Context, db *sql.DB, account string, n int, every time.Duration) (pace.Lease, error) {
	takes := (time.Duration(n) * every).Microseconds()
	var first, clock int64
	err := db.QueryRowContext(ctx, leaseRate, account, takes, givenAhead+givenLeases*takes).Scan(&first, &clock)
	return pace.Lease{First: moment(first), Clock: moment(clock)}, err
}
