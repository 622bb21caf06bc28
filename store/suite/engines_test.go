//go:build unix

// Package suite is what every engine of package store must pass: what the store promises, told as tests against its
// exported methods alone. An engine joins by a test that calls run with a place for its data.
//
// It will not test speed (the benchmarks of package store do) or what is particular to one engine, such as files and
// locks.
package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/internal/testserver"
)

// databases are of one server for all tests of this package.
var databases testserver.Databases

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(databases.Exit)) }

func TestSQLite(t *testing.T) {
	run(t, func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "data", "nudgewire.db") })
}

func TestPostgreSQL(t *testing.T) { run(t, newDatabase) }

func TestTwoNodesOnPostgreSQL(t *testing.T) { runTwo(t, newDatabase, anotherNode) }

func TestNodesShareRatesAndLimits(t *testing.T) { runSharing(t, newDatabase, anotherNode) }

// newDatabase is the DSN of an empty database, with a folder of its own.
func newDatabase(t testing.TB) string { return databases.New(t) + "#" + t.TempDir() }

// anotherNode is the DSN of the same database for another node.
func anotherNode(t testing.TB, dsn string) string {
	address, _, _ := strings.Cut(dsn, "#")
	return address + "#" + t.TempDir()
}

// run runs the suite. fresh returns the DSN of an empty place that is gone after the test.
// Call it first in a test of its own: the crash test starts this test again in a child
// process, and there run does the child's work and does not return.
func run(t *testing.T, fresh func(t testing.TB) string) {
	if dsn := os.Getenv(childDSN); dsn != "" {
		child(dsn)
	}
	s := suite{fresh}
	groups := []struct {
		name string
		test func(*testing.T)
	}{
		{"accept", s.accept},
		{"settle", s.settle},
		{"claim", s.claim},
		{"rules at the due moment", s.dueRules},
		{"rates of triggers", s.rates},
		{"meetings of rules at the due moment", s.dueMeetings},
		{"contacts of an account", s.accountContacts},
		{"doubt", s.doubts},
		{"sequences", s.sequences},
		{"pauses of templates across a restart", s.templatePausesLast},
		{"finish", s.finish},
		{"back", s.back},
		{"rejected", s.rejected},
		{"forget", s.forget},
		{"spellings of phones", s.spellings},
		{"redactions", s.redactions},
		{"unsent messages go again", s.successors},
		{"abandon", s.abandon},
		{"people", s.people},
		{"polls", s.polls},
		{"counts by the hour", s.hours},
		{"what came to nothing", s.unused},
		{"what waits for each day", s.calendar},
		{"overdue polls", s.overdue},
		{"runs", s.runs},
		{"rows of runs", s.enqueue},
		{"afterwards", s.afterwards},
		{"follow", s.follow},
		{"rows of lists", s.listRows},
		{"blocks", s.blocks},
		{"blocks hold", s.blocksHold},
		{"opt-outs", s.optOuts},
		{"error texts", s.errorTexts},
		{"retry by class", s.retryByClass},
		{"blocks by the service", s.serviceBlocks},
		{"template pauses", s.templatePauses},
		{"refused sends", s.refusedSends},
		{"probes", s.probesClaimed},
		{"account pauses", s.accountPauses},
		{"consents", s.consents},
		{"halts", s.halts},
		{"accounts", s.accounts},
		{"hold", s.hold},
		{"pauses", s.pauses},
		{"lookups", s.lookups},
		{"erasures", s.erasures},
		{"refresh tokens", s.refreshTokens},
		{"API tokens", s.apiTokens},
		{"audit", s.audited},
		{"users", s.users},
		{"sessions of the console", s.consoleSessions},
		{"group", s.group},
		{"reads", s.reads},
		{"attention", s.attention},
		{"open data", s.openData},
		{"alerts", s.alerts},
		{"retention", s.retention},
		{"retention of runs", s.retentionOfRuns},
		{"webhooks out", s.outgoing},
		{"requests_rejected", s.rejectedRequests},
		{"configs", s.configs},
		{"held runs", s.held},
		{"renames", s.renames},
		{"life", s.life},
		{"model", s.model},
		{"crash", s.crash},
	}
	for _, g := range groups {
		t.Run(g.name, g.test)
	}
}
