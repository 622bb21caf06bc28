package connectors

import (
	"fmt"
	"net/http"
)

// judgeUnsigned finds what an event is made of that its verifier does not cover. Ids are backed by
// a key of the content; for the rest it warns, where the connector is the user's own.
func (k *compiler) judgeUnsigned(con *Connector) {
	own := k.own.Verify != nil && (k.own.Verify.Kind != "" || len(k.own.Verify.Parts)+len(k.own.Verify.AnyOf)+len(k.own.Verify.AllOf) > 0)
	warn := func(path string, e *expr, written bool) bool {
		part := e.unsigned(con.verify.verifier)
		if part != "" && own && written {
			k.warn(path, "comes from "+part+", which is not signed: whoever copied a request can change it",
				"take it from the body if it stands there, or add "+part+" to verify.parts if the sender signs it")
		}
		return part != ""
	}
	types := map[string]bool{}
	for i, e := range con.event.types {
		warn(fmt.Sprintf("event.type[%d]", i), e, len(k.own.Event.Type) > 0)
		types[e.source] = true
	}
	for i := range con.event.ids {
		for _, e := range con.event.ids[i].exprs {
			// The topic is part of the content key, too.
			con.event.content = warn(fmt.Sprintf("event.id[%d]", i), e, len(k.own.Event.ID) > 0) && !types[e.source] || con.event.content
		}
	}
	for i, e := range con.event.dedupe {
		con.event.content = warn(fmt.Sprintf("dedupe.key[%d]", i), e, len(k.own.Dedupe.Key) > 0) && !types[e.source] || con.event.content
	}
}

// unsigned is the part of the request beside its body that e reads and p, which signs the body, does
// not cover; "" for none.
func (e *expr) unsigned(p verifier) string {
	switch e.from {
	case fromHeader:
		if covers(p, "header:"+http.CanonicalHeaderKey(e.name)) == coversBodyOnly {
			return "header:" + e.name
		}
	case fromQuery:
		if covers(p, "url") == coversBodyOnly {
			return "url"
		}
	case fromPieces:
		for _, piece := range e.pieces {
			if piece.expr != nil {
				if part := piece.expr.unsigned(p); part != "" {
					return part
				}
			}
		}
	}
	return ""
}
