package main

import "testing"

// try says of each decision what the ledger would say, if it knew of nothing else.
func TestTryGivesTheReasonOfAnEmptyLedger(t *testing.T) {
	w := newWard(t)
	_, out := w.run("try", "shopify", "--sample", "order")
	w.wants(out, `^  thanks planned: template "thanks" due .+`)
	_, out = w.run("try", "shopify", "--sample", "order", "--json")
	w.wants(out, `"Reason":"template \\"thanks\\" due |"reason":"template \\"thanks\\" due `)
}
