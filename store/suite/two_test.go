package suite

import "testing"

// runTwo runs the tests of two processes that write to the same data, for an engine that allows it. fresh is as in run; another
// gives the DSN of the same data for another process, with a folder of its own.
func runTwo(t *testing.T, fresh func(t testing.TB) string, another func(t testing.TB, dsn string) string) {
	p := pair{suite{fresh}, another}
	for _, g := range []struct {
		name string
		test func(*testing.T)
	}{
		{"writes", p.nodeWrites},
		{"count what came to nothing", p.nodesCountUnused},
		{"lives", p.nodeLives},
		{"pauses", p.nodePauses},
		{"leads", p.nodeLeads},
		{"tokens", p.nodeTokens},
		{"audit", p.nodeAudit},
		{"redactions", p.nodeRedactions},
		{"users", p.nodeUsers},
		{"slots", p.nodeSlots},
		{"meets", p.nodeMeets},
		{"renames", p.nodeRenames},
	} {
		t.Run(g.name, g.test)
	}
}

// A pair opens the same data twice.
type pair struct {
	suite
	another func(t testing.TB, dsn string) string
}

// two opens fresh data as two nodes. Each has a clock and a Settle of its own.
func (p pair) two(t testing.TB) (a, b *ledger) {
	t.Helper()
	a = p.open(t)
	return a, p.join(t, a)
}

// join opens the data of a ledger as one more node.
func (p pair) join(t testing.TB, l *ledger) *ledger {
	t.Helper()
	return reopen(t, p.another(t, l.dsn))
}
