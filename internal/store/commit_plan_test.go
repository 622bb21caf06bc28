package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// FeatureReads make the reads of features, whose folders stand above this one (features_test.go).
var FeatureReads []func(context.Context, *Store) error

// Whatever runs for every event, send and look, or waits for an answer, must find its rows
// by an index that history does not lengthen: SQLite is asked how it would.
func TestNothingHotWalksHistory(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	var queries []string
	for _, s := range engine.Statements() {
		if query := s.OnSQLite(); query != "" {
			queries = append(queries, query)
		}
	}
	// Retention reads once a run what waits for a look-up.
	const onceARun = "UNION SELECT event_id FROM lookups"
	for _, q := range heardReads(t, s) { // but of attempts: they are sorted, the few of messages that were given
		if !strings.Contains(q, "error_class FROM attempts") && !strings.Contains(q, onceARun) {
			queries = append(queries, q)
		}
	}

	walk := regexp.MustCompile(`^SCAN \w+$|AUTOMATIC|TEMP B-TREE FOR (RIGHT PART|LAST)`)
	ofOneRun := regexp.MustCompile(`^SCAN (words|counters|holds|queued|told|counted|alive|buckets|found|redactions|api_tokens|users|console_sessions|console_links|unused|unread_events|cuts|cut_changes|changed)$`) // statuses, the sums that the view of counters has made of the names that were asked for, the few holds, ranges of one run's rows, what is counted of them, the 1,024 of contacts, the rows of lists with one phone, connectors all of which is asked to be forgotten, the few tokens, users and sessions, where one is made or ended, the few kinds of what came to nothing, where a person ends them, the events that are still to be read, and the few cuts of parts that are under way, with whom they are told of
	for _, q := range queries {
		args := make([]any, 0, 40) // as many as the highest number
		for strings.Contains(q, "?"+strconv.Itoa(len(args)+1)) {
			args = append(args, nil)
		}
		rows, err := s.reads.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q, args...)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if walk.MatchString(detail) && !ofOneRun.MatchString(detail) {
				t.Errorf("%s\n\t%s", strings.Join(strings.Fields(q), " "), detail)
			}
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}

// heardReads are the queries that lists of what is alive, of a phone, of a message and of a run make, and
// those for what is due next, and retention's.
func heardReads(t *testing.T, s *Store) []string {
	t.Helper()
	c, err := engine.NewConnector(filepath.Join(filepath.Dir(s.calls.Path), "nudgewire.db"), "PRAGMA query_only = 1")
	failIf(t, err)
	listener := &eavesdropper{Connector: c}
	reads := sql.OpenDB(listener)
	single(s).StopFilling() // it reads, too
	told := s.reads
	s.reads.DB = reads
	defer func() {
		s.reads = told
		if err := reads.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, state := range messaging.States {
		if state != messaging.StateAccepted { // asked for by its number, newest first
			_, err := s.Messages(t.Context(), MessageFilter{State: state})
			failIf(t, err)
		}
	}
	// A phone's events are looked for where there are events.
	_, err = s.Accept(t.Context(), []messaging.Plan{testPlan("1")})
	failIf(t, err)
	if _, err := s.MessageByServiceID(t.Context(), "wamid.1"); !errors.Is(err, messaging.ErrNotFound) {
		t.Fatal(err)
	}
	for _, status := range []messaging.Status{messaging.StatusSent, messaging.StatusFailed} {
		_, err = s.Messages(t.Context(), MessageFilter{Status: status})
		failIf(t, err)
	}
	_, _, _, err = s.RowOf(t.Context(), 1)
	failIf(t, err)
	_, err = s.rowsOf(t.Context(), "447700900123", 5)
	failIf(t, err)
	_, _, err = s.AgainOf(t.Context(), 1)
	failIf(t, err)
	_, err = s.ListRowsOf(t.Context(), "447700900123", "", 5)
	failIf(t, err)
	_, err = s.ListRowsOf(t.Context(), "", "no phone", 5)
	failIf(t, err)
	_, err = s.RowPlace(t.Context(), 1, 1)
	failIf(t, err)
	_, err = s.PartsOfList(t.Context(), 1)
	failIf(t, err)
	_, err = s.RetriesOf(t.Context(), 1)
	failIf(t, err)
	_, err = s.RunMessages(t.Context(), 1)
	failIf(t, err)
	_, err = s.sends(t.Context(), 1)
	failIf(t, err)
	_, err = s.PauseSent(t.Context(), 1, "Ann", "", "")
	failIf(t, err)
	run, _, err := s.StartRun(t.Context(), messaging.Run{Job: "winback", Slot: "1", DueAt: time.Now(), Cause: messaging.CauseHand, State: messaging.RunPlanned, CreatedAt: time.Now()})
	failIf(t, err)
	_, err = s.Family(t.Context(), run)
	failIf(t, err)
	_, err = s.FactsOf(t.Context(), &messaging.Message{Phone: "447700900123"})
	failIf(t, err)
	_, _, err = s.NextDue(t.Context())
	failIf(t, err)
	_, _, err = s.NextPoll(t.Context())
	failIf(t, err)
	_, err = s.OverduePolls(t.Context(), time.Now(), time.Now(), 9)
	failIf(t, err)
	s.has = func(string) bool { return false }
	_, err = s.goneAccounts(t.Context())
	failIf(t, err)
	_, _, err = s.NextLookup(t.Context())
	failIf(t, err)
	_, err = s.WaitingByConfig(t.Context())
	failIf(t, err)
	_, err = s.Replan(t.Context(), "remind", "", func(*messaging.Message, func() (messaging.Event, error)) (Replanned, error) { return Replanned{}, nil })
	failIf(t, err)
	for _, read := range FeatureReads {
		failIf(t, read(t.Context(), s))
	}
	// What retention looks for beside its commits and not inside of them.
	if !slices.ContainsFunc(listener.heard, func(q string) bool { return strings.HasPrefix(q, "SELECT id FROM webhooks_out") }) {
		t.Error("retention looks inside a commit for what no receiver takes")
	}
	if len(listener.heard) < 40 {
		t.Fatalf("heard %d queries: %q", len(listener.heard), listener.heard)
	}
	return listener.heard
}

func failIf(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An eavesdropper notes what its connections are asked.
type eavesdropper struct {
	driver.Connector
	heard []string
}

func (e *eavesdropper) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := e.Connector.Connect(ctx)
	return overheard{c, e}, err
}

type overheard struct {
	driver.Conn
	by *eavesdropper
}

func (c overheard) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.by.heard = append(c.by.heard, query)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// While a read lasts the log only grows, so a read has an end.
func TestAReadHasAnEnd(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	const endless = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n`
	err := s.reads.RowsWithin(t.Context(), 50*time.Millisecond, endless, nil, func(*engine.Row) error { return nil })
	if !errors.Is(err, engine.ErrLongRead) {
		t.Errorf("an endless read: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.Rows(ctx, endless, nil, func(*engine.Row) error { return nil }); err == nil || errors.Is(err, engine.ErrLongRead) {
		t.Errorf("a read that its caller ended: %v", err)
	}
}
