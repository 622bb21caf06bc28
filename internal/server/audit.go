package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/audit"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/store/chain"
)

// maxDetail is how much of a request the audit keeps, in bytes.
const maxDetail = 1000

// An AuditView is one entry of the audit.
type AuditView struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Who     string    `json:"who" kind:"ours"`
	Via     string    `json:"via" kind:"ours"`
	Words   string    `json:"words" kind:"ours"` // what was done, to be read after Who: "approved run 2"
	Action  string    `json:"action" kind:"ours"`
	Subject string    `json:"subject,omitempty" kind:"ours"`
	Detail  string    `json:"detail,omitempty" kind:"ours"`
	Outcome string    `json:"outcome,omitempty" kind:"ours"` // of a second entry, why it was not done
	Hash    string    `json:"hash" kind:"ours"`
}

// entry is what the audit says of a request.
func (a admin) entry(ctx context.Context, rt *Route, q *asked) chain.Entry {
	who, _ := access.WhoOf(ctx)
	return chain.Entry{At: a.Now(), Who: mask.Line(who.Name), Via: string(who.From), Action: rt.action(), Subject: rt.subject(q.path)}
}

// recordAndDo writes into the audit what is ordered, and then has it done: nothing is done that is not in the audit. What was refused then gets a
// second entry that says so; without one it was done, or the process ended in between.
func (a admin) recordAndDo(ctx context.Context, rt *Route, q *asked, do func() error) error {
	body, err := q.body()
	if err != nil {
		return err
	}
	e := a.entry(ctx, rt, q)
	e.Detail = detail(body)
	if err := a.Store.Audit(ctx, e); err != nil {
		a.Log.Error("an order is not carried out, because it cannot be recorded", zap.String("action", e.Action), zap.Error(err))
		return &refusal.Error{Status: http.StatusServiceUnavailable, Words: "nothing was done: the audit cannot be written: " + mask.Text(err.Error()), Hint: "nudgewire status says what is wrong with the data"}
	}
	if err = do(); err == nil {
		return nil
	}
	e.At, e.Detail, e.Outcome = a.Now(), "", "refused: "+strconv.Itoa(publicError(err).Status)
	if unsaid := a.Store.Audit(context.WithoutCancel(ctx), e); unsaid != nil {
		a.Log.Error("the audit does not say that an order was refused", zap.String("action", e.Action), zap.Error(unsaid))
	}
	return err
}

// mostInID is how many digits a number of ours has. Phones have more, and some people write one where an id belongs.
const mostInID = 9

// subject is a path as the audit keeps it: what a route says of itself, and numbers of events, messages, runs and parts, are ours.
func (rt *Route) subject(path map[string]string) string {
	return inPathPattern.ReplaceAllStringFunc(rt.Path, func(name string) string {
		value := path[strings.Trim(name, "{}")]
		if slices.Contains([]string{"{id}", "{number}", "{event}"}, name) && len(value) <= mostInID {
			return value
		}
		return mask.Line(value)
	})
}

// detail is a request's body as the audit keeps it: without phones, and of long lists how long they are.
func detail(body []byte) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return ""
	}
	whole, err := json.Marshal(withoutPersons(v))
	if err != nil {
		return ""
	}
	text := plain.Text(string(whole))
	if len(text) > maxDetail {
		return strings.ToValidUTF8(text[:maxDetail], "") + "…"
	}
	return text
}

// personal are fields that say what is sent, or to whom: the audit says that it was done, and not their words.
var personal = []string{"phones", "rows", "variables", "text", "config", "payload"}

// withoutPersons is a body without what is personal, and without phones, before it is cut.
func withoutPersons(v any) any {
	switch v := v.(type) {
	case string:
		return mask.Text(v)
	case json.Number:
		if len(v) > mostInID {
			return mask.Text(string(v))
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			if slices.Contains(personal, key) {
				switch many := one.(type) {
				case []any:
					one = strconv.Itoa(len(many)) + " of them"
				case string:
					one = strconv.Itoa(len(many)) + " bytes"
				}
			}
			out[mask.Text(key)] = withoutPersons(one)
		}
		return out
	case []any:
		for i := range v {
			v[i] = withoutPersons(v[i])
		}
	}
	return v
}

// An AuditQuery says which entries of the audit are asked for.
type AuditQuery struct {
	Before  int64  `json:"before"`  // only entries before this number; 0 begins with the newest
	Configs bool   `json:"configs"` // only those that say which config was taken up, and who ordered a reload; not with Phone
	Limit   int    `json:"limit"`   // at most so many
	Phone   string `json:"phone"`   // only those about this contact: who was told of it, and which webhook had it forgotten
}

func (a admin) audit(ctx context.Context, in AuditQuery) ([]AuditView, error) {
	q, phone, err := a.listOf(ListQuery{Phone: in.Phone, Before: in.Before, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	if who, _ := access.WhoOf(ctx); phone != "" && !who.May(access.Phones) { // who tried all phones would know whose hash is whose
		return nil, refusal.Newf(http.StatusForbidden, "", "%s may not ask for a phone: it needs the scope phones, too", who.Name)
	}
	if in.Configs && phone != "" {
		return nil, refusal.Fieldf("configs", "", "configs goes with no phone")
	}
	all, err := audit.Records{Store: a.Store}.Entries(ctx, audit.Search{Before: q.Before, Limit: q.Limit, Contact: phone, Configs: in.Configs})
	out := make([]AuditView, len(all))
	for i, e := range all {
		out[i] = AuditView{e.ID, e.At.UTC(), e.Who, e.Via, auditWords(&e), e.Action, e.Subject, e.Detail, e.Outcome, e.Hash}
	}
	return out, err
}

// A ChainView is how the audit's chain stands.
type ChainView struct {
	Entries int64  `json:"entries"`
	Hash    string `json:"hash,omitempty" kind:"ours"`   // of the last one
	Broken  string `json:"broken,omitempty" kind:"ours"` // where it is not whole; "" when it is
}

// verifyAudit reads the whole chain. text is an entry that is known from before, as "41:HASH"; "" for none.
func (a admin) verifyAudit(ctx context.Context, text string) (ChainView, error) {
	var known int64
	hash := ""
	if text != "" {
		number, rest, _ := strings.Cut(text, ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 1 || len(rest) != 64 {
			return ChainView{}, refusal.Fieldf("known", "write it as audit verify printed it: 41:9f86d0…", "known %q: want an entry's number and its hash", text)
		}
		known, hash = n, rest
	}
	n, last, err := audit.Records{Store: a.Store}.Verify(ctx, known, hash)
	if broken, is := errors.AsType[*audit.Error](err); is {
		return ChainView{Entries: n, Hash: last, Broken: broken.Error()}, nil
	}
	return ChainView{Entries: n, Hash: last}, err
}

func (a admin) acceptAudit(ctx context.Context, _ None) (ChainView, error) {
	if err := (audit.Records{Store: a.Store}).Accept(ctx); err != nil {
		return ChainView{}, err
	}
	state, err := audit.Records{Store: a.Store}.State(ctx)
	return ChainView{Entries: state.ID, Hash: state.Hash, Broken: state.Broken}, err
}

// otherRecords are the words of entries that no route makes; what the entry is about stands behind them.
var otherRecords = map[string]string{
	"start": "started with", "reload": "took up", "sign-in": "signed in", "sign-out": "signed out", "password": "has a password that was", "user added": "was added", "role": "got a role",
	"forget": "had forgotten", "ask to forget": "asked to forget, by", "refuse to forget": "refused to forget", chain.Broken: "found the audit broken:",
}

// auditWords are what an entry says that was done, to be read after who did it. A name of which the entry knows nothing is left out.
func auditWords(e *chain.Entry) string {
	rt := recordedRoutes()[e.Action]
	if rt == nil {
		words := otherRecords[e.Action]
		if words == "" {
			words = e.Action
		}
		return strings.TrimSpace(words + " " + e.Subject)
	}
	known := rt.inSubject(e.Subject)
	var body map[string]any
	_ = json.Unmarshal([]byte(e.Detail), &body) // one that was cut names nothing
	words := inPathPattern.ReplaceAllStringFunc(rt.Record, func(name string) string {
		name = strings.Trim(name, "{}")
		if value, ok := known[name]; ok {
			return value
		}
		value, _ := body[name].(string)
		if name == "scope" && value == string(messaging.ScopeAll) {
			return messaging.Everything
		}
		return value
	})
	return strings.Join(strings.Fields(strings.ReplaceAll(words, " :", ":")), " ")
}

// recordedRoutes are the routes that the audit has, by their action.
var recordedRoutes = sync.OnceValue(func() map[string]*Route {
	out := map[string]*Route{}
	for _, rt := range Routes() {
		if rt.Record != "" {
			out[rt.action()] = &rt
		}
	}
	return out
})

// inSubject are the values of a route's path in the subject of an entry; none where the two do not fit.
func (rt *Route) inSubject(subject string) map[string]string {
	names, values, known := strings.Split(rt.Path, "/"), strings.Split(subject, "/"), map[string]string{}
	if len(names) == len(values) {
		for i, name := range names {
			if strings.HasPrefix(name, "{") {
				known[strings.Trim(name, "{}")] = values[i]
			}
		}
	}
	return known
}
