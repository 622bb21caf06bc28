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
	"testing"

	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/test/testserver"
	"github.com/nudgewire/nudgewire/test/tries"
)

// databases are of one server for all tests of this package.
var databases testserver.Databases

func TestMain(m *testing.M) {
	tries.Set(tries.OfStores) // the command line, which is read later, has the last word
	goleak.VerifyTestMain(m, goleak.Cleanup(databases.Exit))
}

func TestSQLite(t *testing.T) {
	run(t, func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "data", "nudgewire.db") })
}

func TestPostgreSQL(t *testing.T) { run(t, newDatabase) }

// newDatabase is the DSN of an empty database, with a folder of its own.
func newDatabase(t testing.TB) string { return databases.New(t) + "#" + t.TempDir() }

// run runs the suite. fresh returns the DSN of an empty place that is gone after the test.
// Call it first in a test of its own: the crash test starts this test again in a child
// process, and there run does the child's work and does not return.
func run(t *testing.T, fresh func(t testing.TB) string) {
	if dsn := os.Getenv(childDSN); dsn != "" {
		child(dsn)
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) { g.test(suite{fresh}, t) })
	}
}

// groups are the operations and the subjects of the suite.
var groups = []struct {
	name string
	test func(suite, *testing.T)
}{
	{"accept", suite.accept},
	{"settle", suite.settle},
	{"claim", suite.claim},
	{"rules at the due moment", suite.dueRules},
	{"rates of triggers", suite.rates},
	{"budget", suite.budgets},
	{"meetings of rules at the due moment", suite.dueMeetings},
	{"contacts of an account", suite.accountContacts},
	{"doubt", suite.doubts},
	{"sequences", suite.sequences},
	{"pauses of templates across a restart", suite.templatePausesLast},
	{"finish", suite.finish},
	{"back", suite.back},
	{"rejected", suite.rejected},
	{"forget", suite.forget},
	{"spellings of phones", suite.spellings},
	{"redactions", suite.redactions},
	{"unsent messages go again", suite.successors},
	{"abandon", suite.abandon},
	{"people", suite.people},
	{"tests of triggers", suite.testSends},
	{"polls", suite.polls},
	{"counts by the hour", suite.hours},
	{"what came to nothing", suite.unused},
	{"what waits for each day", suite.calendar},
	{"overdue polls", suite.overdue},
	{"runs", suite.runs},
	{"rows of runs", suite.enqueue},
	{"afterwards", suite.afterwards},
	{"follow", suite.follow},
	{"rows of lists", suite.listRows},
	{"blocks", suite.blocks},
	{"blocks hold", suite.blocksHold},
	{"opt-outs", suite.optOuts},
	{"error texts", suite.errorTexts},
	{"retry by class", suite.retryByClass},
	{"blocks by the service", suite.serviceBlocks},
	{"template pauses", suite.templatePauses},
	{"refused sends", suite.refusedSends},
	{"probes", suite.probesClaimed},
	{"account pauses", suite.accountPauses},
	{"consents", suite.consents},
	{"halts", suite.halts},
	{"accounts", suite.accounts},
	{"hold", suite.hold},
	{"pauses", suite.pauses},
	{"lookups", suite.lookups},
	{"erasures", suite.erasures},
	{"what is known of contacts", suite.knownContacts},
	{"audiences", suite.audiences},
	{"refresh tokens", suite.refreshTokens},
	{"API tokens", suite.apiTokens},
	{"audit", suite.audited},
	{"users", suite.users},
	{"sessions of the console", suite.consoleSessions},
	{"group", suite.group},
	{"reads", suite.reads},
	{"attention", suite.attention},
	{"overlaps", suite.overlaps},
	{"fields of events", suite.fields},
	{"open data", suite.openData},
	{"alerts", suite.alerts},
	{"retention", suite.retention},
	{"retention of runs", suite.retentionOfRuns},
	{"webhooks out", suite.outgoing},
	{"requests_rejected", suite.rejectedRequests},
	{"configs", suite.configs},
	{"held runs", suite.held},
	{"renames", suite.renames},
	{"life", suite.life},
	{"model", suite.model},
	{"crash", suite.crash},
}
