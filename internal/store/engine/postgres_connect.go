package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/nudgewire/nudgewire/internal/pgaddress"
)

// ServerConfig is what every connection to the database at an address begins with.
func ServerConfig(address, application string) (*pgx.ConnConfig, error) {
	cfg, err := pgaddress.Parse(address)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["application_name"] = application
	cfg.RuntimeParams["client_encoding"] = "UTF8"
	cfg.RuntimeParams["default_transaction_isolation"] = "read committed"
	cfg.RuntimeParams["idle_in_transaction_session_timeout"] = milliseconds(idleFor) // by which checkServer knows a pooler
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectFor
	}
	return cfg, nil
}

const (
	statementFor = 20 * time.Second
	lockFor      = 5 * time.Second // for a transaction of a process that hangs; then each operation waits by itself
	idleFor      = time.Minute     // a transaction of a process that hangs
	quickFor     = 2 * time.Second
)

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// ServerPool opens connections that only read.
func ServerPool(cfg *pgx.ConnConfig) Pool {
	read := cfg.Copy()
	read.RuntimeParams["statement_timeout"] = milliseconds(longestRead)
	return openPool(stdlib.OpenDB(*read), PostgresDialect, nil)
}

// QuickPool opens connections for what takes no time and waits for nobody.
func QuickPool(cfg *pgx.ConnConfig) *sql.DB {
	own := cfg.Copy()
	own.RuntimeParams["statement_timeout"] = milliseconds(quickFor)
	db := stdlib.OpenDB(*own)
	db.SetMaxOpenConns(2)
	db.SetMaxIdleConns(2)
	return db
}

// WriterConfig is cfg as a connection that writes has it.
func WriterConfig(cfg *pgx.ConnConfig) *pgx.ConnConfig {
	write := cfg.Copy()
	write.RuntimeParams["statement_timeout"] = milliseconds(statementFor)
	write.RuntimeParams["lock_timeout"] = milliseconds(lockFor)
	// Each statement of a writer reads a few rows by an index, in its order. What the server knows of a queue is soon wrong, and
	// a plan that reads all that waits and sorts it looks good to it then.
	for _, way := range []string{"seqscan", "bitmapscan", "sort", "material", "hashjoin", "mergejoin"} {
		write.RuntimeParams["enable_"+way] = "off"
	}
	// Where no other way is left, such as through a table of six rows, the price of a forbidden one makes the statement look long
	// enough to be compiled first, which takes a quarter of a second of a processor and reads nothing faster.
	write.RuntimeParams["jit"] = "off"
	return write
}

// CheckServer refuses a server that cannot keep what is promised.
func CheckServer(ctx context.Context, db *sql.DB) error {
	var version int
	var idle string
	var sync, encoding string
	var standby bool
	err := db.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('synchronous_commit'), current_setting('server_encoding'), pg_is_in_recovery(), (SELECT setting FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout')`).
		Scan(&version, &sync, &encoding, &standby, &idle)
	switch {
	case refusesSettings(err):
		return &ServerError{Words: pooled}
	case err != nil:
		return err
	case idle != milliseconds(idleFor): // what a connection begins with got lost on the way
		return &ServerError{Words: pooled}
	case version < 13_00_00:
		return &ServerError{Words: fmt.Sprintf("its version is %d; nudgewire needs 13 or later", version/10000)}
	case sync == "off":
		return &ServerError{Words: "synchronous_commit is off there: a crash would lose events that their senders were told are stored; set it to on (ALTER ROLE … SET synchronous_commit = on)"}
	case encoding != "UTF8":
		return &ServerError{Words: "the database has the encoding " + encoding + "; make one with UTF8 (CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0)"}
	case standby:
		return &ServerError{"it is a standby, which nobody can write to; name the primary, or all with target_session_attrs=read-write", true}
	}
	return nil
}

// pooled refuses what stands between nudgewire and its database and gives each transaction another connection: locks and settings of a
// session would be somebody else's.
const pooled = "a connection pooler, such as PgBouncer, stands before the database, and gives sessions no settings of their own; nudgewire has its own pool: name the PostgreSQL server itself in storage:"

// refusesSettings reports whether the other side does not speak what every PostgreSQL server does when a connection begins.
func refusesSettings(err error) bool {
	e, is := errors.AsType[*pgconn.PgError](err)
	return is && e.Code == "08P01"
}

// MigratePostgres brings the schema up to date, one process at a time.
func MigratePostgres(ctx context.Context, cfg *pgx.ConnConfig, steps []Step) (err error) {
	own := cfg.Copy()
	own.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // a step has many statements
	db := stdlib.OpenDB(*own)
	defer func() { err = errors.Join(err, db.Close()) }()
	lock, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := lock.ExecContext(ctx, `SELECT pg_advisory_lock(hashtext('nudgewire schema'))`); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	err = Migrate(ctx, db, PostgresDialect, steps)
	_, unlock := lock.ExecContext(ctx, `SELECT pg_advisory_unlock(hashtext('nudgewire schema'))`)
	return errors.Join(err, unlock)
}

// StatementCache is how many statements a connection keeps: each alone, and each as a set.
func StatementCache() int { return 2 * len(statements) }
