package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/nudgewire/nudgewire/internal/store/sqlite"
)

// A Connector opens connections to one SQLite file and sets each up by the same statements
// whichever driver is compiled in (their DSN options have different names, and a setting that one of
// them silently ignores, such as synchronous, would cost the promise of durability).
type Connector struct {
	driver driver.Driver
	uri    string
	setup  []string
}

// Memory of a connection: -N is N KiB. One writer and at most four readers stay far below the
// promised 150 MB together; the operating system's cache does the rest. No mmap: its pages
// would count as ours.
var (
	writerSetup = []string{
		"PRAGMA busy_timeout = 10000",
		"PRAGMA journal_mode = WAL",
		"PRAGMA synchronous = FULL",         // the drivers' own choice may be NORMAL, which loses the last commits with the power
		"PRAGMA wal_autocheckpoint = 32000", // the net below sqlite_checkpoint.go
		"PRAGMA journal_size_limit = 67108864",
		"PRAGMA cache_size = -8192", // after each commit SQLite may walk all of it: with 32 MB commits took a tenth longer
		"PRAGMA temp_store = MEMORY",
		"PRAGMA secure_delete = ON", // what is emptied (docs/decisions/0017) is overwritten
	}
	readerSetup = []string{
		"PRAGMA busy_timeout = 10000",
		"PRAGMA query_only = 1",
		"PRAGMA cache_size = -4096",
		"PRAGMA temp_store = MEMORY",
	}
)

// NewConnector opens connections to the file at a path that run the statements first.
func NewConnector(path string, setup ...string) (*Connector, error) {
	drv, err := sqliteDriver()
	if err != nil {
		return nil, err
	}
	return &Connector{driver: drv, uri: sqliteURI(path), setup: setup}, nil
}

// Unforced is c without the promise that what was committed is on disk.
func (c Connector) Unforced() Connector {
	c.setup = append(slices.Clone(c.setup), "PRAGMA synchronous = OFF")
	return c
}

// ReadPool opens connections that only read.
func (c Connector) ReadPool(guard *sqlite.Guard) Pool {
	c.setup = readerSetup
	return openPool(sql.OpenDB(&c), SQLiteDialect, guard)
}

// Single opens a pool of a single connection.
func (c Connector) Single() *sql.DB {
	db := sql.OpenDB(&c)
	db.SetMaxOpenConns(1)
	return db
}

// sqliteDriver is the one driver registered as "sqlite3" (internal/store/sqlite).
func sqliteDriver() (driver.Driver, error) {
	db, err := sql.Open("sqlite3", "") // opens nothing yet
	if err != nil {
		return nil, fmt.Errorf("sqlite driver: %w", err)
	}
	return db.Driver(), db.Close()
}

// Connect implements [driver.Connector].
func (c *Connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.uri)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	for _, statement := range c.setup {
		if err := execOn(conn, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", statement, err), conn.Close())
		}
	}
	return conn, nil
}

// Driver implements [driver.Connector].
func (c *Connector) Driver() driver.Driver { return c.driver }

// execOn runs one statement without arguments, rows or not.
func execOn(conn driver.Conn, statement string) error {
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return fmt.Errorf("driver %T cannot execute directly", conn)
	}
	_, err := execer.ExecContext(context.Background(), statement, nil)
	return err
}

// CreateFile makes the folder and the empty database with permissions for its owner alone;
// SQLite gives its side files those of the database.
func CreateFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("storage folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("storage file: %w", err)
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("storage file: %w", err)
	}
	if !info.Mode().IsRegular() {
		return errNoFile
	}
	return nil
}

var errNoFile = errors.New("this is a pipe, a device or a socket and no file for data: move it away, or name another path in storage")

// layOut sets what SQLite can only choose before it writes its first page.
func layOut(drv driver.Driver, uri, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("storage file: %w", err)
	}
	if info.Size() > 0 {
		return sqlite.LooksWhole(path)
	}
	c := &Connector{driver: drv, uri: uri, setup: []string{
		"PRAGMA page_size = 4096",
		setIncrementalVacuum,
		"PRAGMA journal_mode = WAL",
	}}
	conn, err := c.Connect(context.Background())
	if err != nil {
		return err
	}
	return conn.Close()
}

// Prepare brings the schema of the file at path up to date, on a connection of its own. From then on c opens connections that write.
func (c *Connector) Prepare(ctx context.Context, path string, steps []Step) error {
	if err := layOut(c.driver, c.uri, path); err != nil {
		return err
	}
	c.setup = writerSetup
	db := c.Single()
	return errors.Join(Migrate(ctx, db, SQLiteDialect, steps), db.Close())
}

// OpenFile opens a database by one connection, which is set up by the statements.
func OpenFile(path string, setup ...string) (*sql.DB, error) {
	c, err := NewConnector(path, setup...)
	if err != nil {
		return nil, err
	}
	return c.Single(), nil
}

// setIncrementalVacuum lays a file out so that it can give space back. It takes effect before the first page is written, or when all are
// written anew.
const setIncrementalVacuum = "PRAGMA auto_vacuum = INCREMENTAL"

// stepThrough runs a statement to its end: one step of this pragma moves one page.
func stepThrough(conn driver.Conn, statement string) (err error) {
	q, ok := conn.(driver.QueryerContext)
	if !ok {
		return fmt.Errorf("driver %T cannot query directly", conn)
	}
	rows, err := q.QueryContext(context.Background(), statement, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	dest := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(dest); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
