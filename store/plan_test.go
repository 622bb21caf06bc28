package store

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire"
)

// Whatever runs for every event, send and look, or waits for an answer, must find its rows
// by an index that history does not lengthen: SQLite is asked how it would.
func TestNothingHotWalksHistory(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "nudgewire.db"))
	queries := map[string]string{}
	for _, q := range statements {
		queries[strings.Join(strings.Fields(q), " ")] = sqliteDialect.sql(q)
	}
	live := func(state nudgewire.State) string {
		return `SELECT * FROM dispatches WHERE ` + stateCondition(state) + ` ORDER BY id DESC LIMIT 50`
	}
	for _, state := range nudgewire.States {
		if state != nudgewire.StateAccepted {
			queries["list "+string(state)] = live(state)
		}
	}
	queries["events of a phone"] = `SELECT id FROM events WHERE bucket IN (1, 2) AND phone = ?1 AND phone <> '' ORDER BY id DESC LIMIT 5`
	queries["message by id"] = `SELECT * FROM messages WHERE message_id = ?1 AND message_id <> '' ORDER BY dispatch_id DESC LIMIT 1`
	queries["messages on the way"] = strings.ReplaceAll(onTheWay, "?", "?1")
	queries["messages at their end"] = strings.ReplaceAll(atItsEnd, "?", "?1")
	queries["row of a dispatch"], queries["rows of a phone"] = rowOfDispatch, rowsOfPhone
	queries["whose place a dispatch took"], queries["retries of a run"] = placesOf, retriesOfRun
	queries["which runs send a run again"], queries["messages of a run"] = runsAgain, runMessages
	queries["next due"] = nextDue
	queries["a row that can be sent"], queries["a row that is claimed"] = unsentRows, sendingRows
	queries["next poll"] = `SELECT next_poll_at FROM messages WHERE final = 0 ORDER BY next_poll_at LIMIT 1`

	walk := regexp.MustCompile(`^SCAN \w+$|TEMP B-TREE FOR (RIGHT PART|LAST)`)
	ofOneRun := regexp.MustCompile(`^SCAN (words|owed|told|counted|alive)$`) // statuses, ranges of one run's rows, and what is counted of them
	for name, q := range queries {
		args := make([]any, 0, 32) // as many as the highest number
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
				t.Errorf("%s\n\t%s", name, detail)
			}
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}
