package console

import (
	"net/http"
	"strconv"

	"github.com/nudgewire/nudgewire/internal/server"
)

type auditPage struct {
	list
	Rows  []server.AuditView
	Chain *server.ChainView // as it was just read
}

// audit shows who ordered what.
func (c *Console) audit(r *http.Request) (page, error) {
	l, q, err := c.newList(r)
	if err != nil {
		return page{}, err
	}
	rows, err := server.ListAudit.Call(r.Context(), c.Ask, server.AuditQuery{Before: q.Before, Limit: q.Limit})
	rows = cut(&l, r, rows, func(e *server.AuditView) int64 { return e.ID })
	return page{Name: "audit", Title: "Audit", Here: "/system", Data: auditPage{list: l, Rows: rows}}, err
}

// verifyAudit reads the whole chain. It changes nothing, and is asked for by a button because it may take long.
func (c *Console) verifyAudit(r *http.Request) (page, error) {
	p, err := c.audit(r)
	if err != nil {
		return p, err
	}
	v, _ := p.Data.(auditPage)
	chain, err := server.VerifyAudit.Call(r.Context(), c.Ask, "")
	v.Chain = &chain
	p.Data = v
	return p, err
}

// Known is the last entry as `nudgewire audit verify` takes it.
func (v auditPage) Known() string {
	return strconv.FormatInt(v.Chain.Entries, 10) + ":" + v.Chain.Hash
}
