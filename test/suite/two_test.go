//go:build unix

package suite

import (
	"strings"
	"testing"
)

// TestTwoNodesOnPostgreSQL is of two processes that write to the same data.
func TestTwoNodesOnPostgreSQL(t *testing.T) {
	p := pair{suite{newDatabase}}
	for _, g := range []struct {
		name string
		test func(*testing.T)
	}{
		{"writes", p.nodeWrites},
		{"count what came to nothing", p.nodesCountUnused},
		{"count the fields of events", p.nodesCountFields},
		{"count rows of files", p.nodesCountUploads},
		{"lives", p.nodeLives},
		{"clocks", p.nodeClocks},
		{"pauses", p.nodePauses},
		{"leads", p.nodeLeads},
		{"tokens", p.nodeTokens},
		{"audit", p.nodeAudit},
		{"redactions", p.nodeRedactions},
		{"users", p.nodeUsers},
		{"slots", p.nodeSlots},
		{"meets", p.nodeMeets},
		{"tests", p.nodeTests},
		{"renames", p.nodeRenames},
		{"contacts", p.nodeContacts},
		{"limits", p.nodeLimits},
		{"budget", p.nodeBudget},
		{"rate", p.nodeRate},
	} {
		t.Run(g.name, g.test)
	}
}

// A pair opens the same data twice.
type pair struct{ suite }

// two opens fresh data as two nodes. Each has a clock and a Settle of its own.
func (p pair) two(t testing.TB) (a, b *ledger) {
	t.Helper()
	a = p.open(t)
	return a, join(t, a)
}

// join opens the database of a ledger as one more node, which has a folder of its own.
func join(t testing.TB, l *ledger) *ledger {
	t.Helper()
	address, _, _ := strings.Cut(l.dsn, "#")
	return reopen(t, address+"#"+t.TempDir())
}
