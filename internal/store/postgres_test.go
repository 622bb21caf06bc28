//go:build unix

package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/test/testserver"
	"github.com/nudgewire/nudgewire/test/tries"
)

// databases are of one server for all tests of this package.
var databases testserver.Databases

func TestMain(m *testing.M) {
	tries.Set(tries.OfStores) // the command line, which is read later, has the last word
	goleak.VerifyTestMain(m, goleak.Cleanup(databases.Exit))
}

func newDatabase(t testing.TB) string {
	t.Helper()
	return databases.New(t) + "#" + t.TempDir()
}

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
			got, err := s.Accept(t.Context(), []messaging.Plan{plan})
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
	accept := func(n int64) (messaging.Receipt, error) {
		got, err := s.Accept(t.Context(), []messaging.Plan{benchPlan(n, benchNow)})
		if err != nil {
			return messaging.Receipt{}, err
		}
		return got[0], nil
	}
	if _, err := accept(1); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := accept(2); !errors.As(err, new(*engine.OutageError)) {
		t.Errorf("without a server: %v", err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n, duplicate := range map[int64]bool{1: true, 2: false, 3: false} {
		got, err := accept(n)
		for end := time.Now().Add(time.Minute); errors.As(err, new(*engine.OutageError)) && time.Now().Before(end); {
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
