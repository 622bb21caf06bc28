package connectors

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/signatures"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/rawjson"
)

// Some senders sign fields of the body and not the body: parts: ["body:at", "'.'", "body:id"]. Whoever copied such a request can change
// all else of it. So of these connectors
//
//   - check warns of what is not signed, of ids and phones by name;
//   - an event that asks for what cannot be undone, or says who wants messages, is refused, unless all that says so is signed;
//   - no consent is read from a field that is not signed: look it up;
//   - a body that already has what a look-up would bring is refused: the answer is what proves it.

// signedField is a field of the body among the parts: a plain name, so that what was signed is what is mapped. nil after a complaint.
func (k *compiler) signedField(at, text string) *mapping.Expr {
	e := k.bodyPath(at, text, "what is signed")
	switch {
	case e == nil:
		return nil
	case len(e.Path.Steps) > 0 || len(e.Path.Names) == 0:
		k.Add(at, "is no plain name of a field", "write names joined by dots: body:eventId or body:data.id")
		return nil
	}
	return e
}

// fieldPart writes the text of a field, or its number as it stands in the body.
func fieldPart(e *mapping.Expr, body *bodyReader) partWriter {
	alone := mapping.StandAlone(e)
	return func(m *message, to *signatures.Digest) error {
		raw, err := fieldOf(m.request, body, alone, e)
		if err != nil {
			return errors.New("the body, fields of which are signed, cannot be read: " + err.Error())
		}
		if rawjson.Empty(raw) || raw == "" || raw[0] == '{' || raw[0] == '[' {
			return errors.New("the body has no text or number in " + e.Source + ", which is signed")
		}
		to.Text(rawjson.Text(raw))
		return nil
	}
}

// anyBodyPart is what each part begins with that is a field of the body.
const anyBodyPart = "body:"

// bodyPart is what covers knows a field of the body by. A path with positions or filters is none that could be signed.
func bodyPart(e *mapping.Expr) string {
	if len(e.Path.Steps) > 0 || len(e.Path.Names) == 0 {
		return anyBodyPart
	}
	return anyBodyPart + strings.Join(e.Path.Names, "\x00")
}

func fieldWords(fields []*mapping.Expr) string {
	names := make([]string, len(fields))
	for i, e := range fields {
		names[i] = e.Source
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// unsignedField is the field of the body that e reads and that p, which signs other fields, does not cover; "" for none.
func (k *compiler) unsignedField(e *mapping.Expr, p verifier) string {
	switch e.From {
	case mapping.FromItem, mapping.FromRoot:
		part := bodyPart(e)
		if e.From == mapping.FromItem && k.Root != k.Item { // below an item, where nothing is signed by its name
			part = anyBodyPart
		}
		if covers(p, part) == coversOther {
			return strings.TrimPrefix(e.Source, "root:")
		}
	case mapping.FromPieces:
		for _, piece := range e.Pieces {
			if piece.Expr != nil {
				if field := k.unsignedField(piece.Expr, p); field != "" {
					return field
				}
			}
		}
	}
	return ""
}

// judgeFields finds what an event is made of where of its body only fields are signed.
func (k *compiler) judgeFields(con *Connector) {
	p := con.verify.verifier
	if covers(p, anyBodyPart) != coversOther {
		return
	}
	if k.config.Body.LooseNames {
		k.Add("body.loose_names", "finds a field under other spellings than the one that is signed", "leave it out where parts names fields of the body")
	}
	con.event.partly, con.event.provable = true, true
	answers := map[string]bool{}
	for _, rule := range k.config.Enrich {
		answers[rule.Into] = true
	}
	// unsigned is the field that e reads, and that neither the signature nor the answer of a look-up proves.
	unsigned := func(e *mapping.Expr) string {
		if len(e.Path.Names) > 0 && answers[e.Path.Names[0]] {
			return ""
		}
		return k.unsignedField(e, p)
	}
	unproven := func(e *mapping.Expr) {
		if k.unsignedField(e, p) != "" || unsignedPart(e, p) != "" {
			con.event.provable = false
		}
	}
	for _, e := range con.event.types {
		unproven(e)
	}
	for _, rule := range con.event.kinds {
		for _, r := range rule.when {
			unproven(r.Left)
		}
	}
	const change, again = "whoever copied a request can change it", "whoever copied a request can post it again as another event"
	anew := func(at string, e *mapping.Expr) {
		if field := unsigned(e); field != "" {
			k.Warn(at, "comes from "+field+", which is not signed: "+again, "take it from what is signed")
		}
	}
	for i := range con.event.ids {
		for _, e := range con.event.ids[i].exprs {
			anew(fmt.Sprintf("event.id[%d]", i), e)
		}
	}
	for i, e := range con.event.dedupe {
		anew(fmt.Sprintf("dedupe.key[%d]", i), e)
	}
	if con.event.mapped || len(con.event.ids) == 0 && len(con.event.dedupe) == 0 {
		k.Warn("event.id", "is made of all that the body says, and most of that is not signed: "+again, "take it from what is signed")
	}
	for _, l := range con.mapper.Layers {
		at := "map."
		if l.Pattern != "" {
			at = "map_for." + l.Pattern + "."
		}
		for _, a := range l.Fields {
			target := &mapping.Targets[a.Target]
			for _, e := range a.Paths {
				field := unsigned(e)
				switch {
				case field == "":
					continue
				case target.Kind == mapping.TakesConsent:
					k.Add(at+target.Name, "comes from "+field+", which is not signed: nobody agrees or refuses by what anybody could write", "look it up at the sender's API (enrich)")
				case target.Kind == mapping.TakesPhone:
					k.Warn(at+target.Name, "comes from "+field+", which is not signed: "+change, "look the phone up at the sender's API (enrich)")
				}
				if slices.Contains(whoSays, target.Name) {
					con.event.provable = false
				}
			}
		}
	}
}

// whoSays are the targets that say of an event with a consequence for a person whom it is about, and what the person wrote.
var whoSays = []string{"contact.phone", "contact.id", "contact.email", "message.text", "message.button", "message.says"}

// proven holds an event against what its connector's verifier shows of the body. The error is a *Rejected.
func (c *Connector) proven(r *Request, v *mapping.View, ev *messaging.Event) error {
	if !c.event.partly {
		return nil
	}
	for i := 0; i < len(c.lookups) && !r.Proven; i++ {
		if into := c.lookups[i].into; rawjson.Member(v.Item[rawjson.SkipSpace(v.Item, 0):], into) != "" {
			return reject(http.StatusBadRequest, StageMap, "requires: the body has "+into+", which is where the answer of a look-up is to be, and it is not signed")
		}
	}
	if c.event.provable {
		return nil
	}
	switch {
	case irreversible(ev.Kind):
		return reject(http.StatusBadRequest, StageMap, "requires: what says that this is "+ev.Kind+" is not signed, and that cannot be undone")
	case slices.Contains(wantsMessages, ev.Kind), ev.Kind == mapping.ReceivedKind && ev.Message.Says != "" && ev.Message.Says != messaging.SaysHelp:
		return reject(http.StatusBadRequest, StageMap, "requires: what says who wants messages is not signed: "+ev.Kind)
	}
	return nil
}

// wantsMessages are the kinds that say of a person whether it wants to be written to.
var wantsMessages = []string{"contact.subscribed", "contact.unsubscribed", "contact.email_subscribed", "contact.email_unsubscribed"}
