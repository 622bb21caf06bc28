//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/testserver"
	"github.com/nudgewire/nudgewire/store"
	"github.com/nudgewire/nudgewire/store/storetest"
)

// postgres is one server for all tests of this package; each has a database of its own.
var postgres oneServer

type oneServer struct {
	once   sync.Once
	server *testserver.Postgres
	err    error

	mu   sync.Mutex
	used []string // databases that a test has done with
}

func stopPostgres() error {
	if postgres.server == nil {
		return nil
	}
	return postgres.server.Close()
}

func newDatabase(t testing.TB) string {
	t.Helper()
	postgres.once.Do(func() {
		postgres.server, postgres.err = testserver.StartPostgres(context.Background(), "fsync=off", "full_page_writes=off", "max_connections=200")
	})
	if errors.Is(postgres.err, testserver.ErrMissing) {
		t.Skip(postgres.err)
	}
	if postgres.err != nil {
		t.Fatal(postgres.err)
	}
	dsn, err := postgres.fresh(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		postgres.mu.Lock()
		defer postgres.mu.Unlock()
		postgres.used = append(postgres.used, dsn)
	})
	return dsn + "#" + t.TempDir()
}

// fresh is an empty database: one that a test has done with, or a new one, which takes a hundred times as long to make.
func (p *oneServer) fresh(ctx context.Context) (dsn string, err error) {
	p.mu.Lock()
	if n := len(p.used); n > 0 {
		dsn, p.used = p.used[n-1], p.used[:n-1]
	}
	p.mu.Unlock()
	if dsn == "" {
		return p.server.NewDatabase(ctx)
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, `DO $$ DECLARE one record; BEGIN
		FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('goose_db_version', 'forgotten_key') LOOP
			EXECUTE format('DELETE FROM %I', one.tablename);
		END LOOP;
		FOR one IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' AND sequencename LIKE '%_numbers' LOOP
			EXECUTE format('ALTER SEQUENCE %I RESTART', one.sequencename);
		END LOOP;
	END $$`)
	return dsn, errors.Join(err, conn.Close(ctx))
}

func TestPostgreSQL(t *testing.T) { storetest.Run(t, newDatabase) }

// A server with little room for locks has large batches fall apart, and loses nobody's event.
func TestAServerWithLittleRoomForLocks(t *testing.T) {
	s := openOn(t, startServer(t, "fsync=off", "max_connections=20", "max_locks_per_transaction=10"))
	var wg sync.WaitGroup
	for n := range int64(200) {
		wg.Go(func() {
			plan := benchPlan(n, benchNow)
			for i := range 20 {
				more := plan.Proposals[0]
				more.Decision.Trigger = fmt.Sprint("trigger-", i)
				more.Correlation.Trigger, more.Message.Trigger = more.Decision.Trigger, more.Decision.Trigger
				plan.Proposals = append(plan.Proposals, more)
			}
			got, err := s.Accept(t.Context(), []nudgewire.Plan{plan})
			if err != nil || len(got[0].Decisions) != 21 {
				t.Errorf("event %d: %v, %v", n, got, err)
			}
		})
	}
	wg.Wait()
}

// Whoever asks after the server was started anew meets no trouble of the connections that it had before.
func TestAServerThatWasStartedAnewCostsNobodyAnything(t *testing.T) {
	server := startServer(t, "fsync=off")
	s := openOn(t, server)
	accept := func(n int64) (nudgewire.Receipt, error) {
		got, err := s.Accept(t.Context(), []nudgewire.Plan{benchPlan(n, benchNow)})
		if err != nil {
			return nudgewire.Receipt{}, err
		}
		return got[0], nil
	}
	if _, err := accept(1); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := accept(2); !errors.As(err, new(*store.OutageError)) {
		t.Errorf("without a server: %v", err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n, duplicate := range map[int64]bool{1: true, 2: false, 3: false} {
		got, err := accept(n)
		for end := time.Now().Add(time.Minute); errors.As(err, new(*store.OutageError)) && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond) // it does not try to connect all the time
			got, err = accept(n)
		}
		if err != nil || got.Duplicate != duplicate {
			t.Errorf("event %d: %+v, %v", n, got, err)
		}
	}
}

// startServer starts a server for one test.
func startServer(t testing.TB, flags ...string) *testserver.Postgres {
	t.Helper()
	return testserver.ForTest(t, flags...)
}

// openOn opens a store in a database of its own.
func openOn(t testing.TB, server *testserver.Postgres) *store.Store {
	t.Helper()
	dsn, err := server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), store.Options{DSN: dsn + "#" + t.TempDir(), Settle: always})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestTwoNodesOnPostgreSQL(t *testing.T) {
	storetest.RunTwo(t, newDatabase, func(t testing.TB, dsn string) string {
		address, _, _ := strings.Cut(dsn, "#")
		return address + "#" + t.TempDir()
	})
}
