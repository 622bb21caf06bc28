package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/store"
)

// maxDetail is how much of a request the audit keeps, in bytes.
const maxDetail = 1000

// An AuditView is one entry of the audit.
type AuditView struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Who     string    `json:"who" kind:"ours"`
	Via     string    `json:"via" kind:"ours"`
	Action  string    `json:"action" kind:"ours"`
	Subject string    `json:"subject,omitempty" kind:"ours"`
	Detail  string    `json:"detail,omitempty" kind:"ours"`
	Outcome string    `json:"outcome,omitempty" kind:"ours"` // of a second entry, why it was not done
	Hash    string    `json:"hash" kind:"ours"`
}

// record is what comes before an order is carried out: nothing is done that is not in the audit. What was refused then gets a second
// entry that says so; without one it was done, or the process ended in between.
func (a admin) record(rt *Route, do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			a.refuse(w, r, badBody(err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		who, _ := WhoOf(r.Context())
		e := store.AuditEntry{
			At: a.Now(), Who: noPhone(who.Name), Via: string(who.From), Action: rt.Method + " " + rt.Path,
			Subject: subject(rt.Path, strings.TrimPrefix(r.URL.Path, Base)), Detail: detail(body),
		}
		if _, err := a.Store.Audit(r.Context(), e); err != nil {
			a.Log.Error("an order is not carried out, because it cannot be recorded", zap.String("action", e.Action), zap.Error(err))
			a.refuse(w, r, &Error{Status: http.StatusServiceUnavailable, Words: "nothing was done: the audit cannot be written: " + mask.Text(err.Error()), Hint: "nudgewire status says what is wrong with the data"})
			return
		}
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		do(seen, r)
		if seen.status < http.StatusBadRequest {
			return
		}
		e.At, e.Detail, e.Outcome = a.Now(), "", "refused: "+strconv.Itoa(seen.status)
		if _, err := a.Store.Audit(context.WithoutCancel(r.Context()), e); err != nil {
			a.Log.Error("the audit does not say that an order was refused", zap.String("action", e.Action), zap.Error(err))
		}
	}
}

// statusWriter notes the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) Write(b []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(b) //nolint:wrapcheck // it is the writer's own
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// noPhone is a text as the audit keeps it.
func noPhone(text string) string { return mask.Text(plain.Text(text)) }

// mostInID is how many digits a number of ours has. Phones have more, and some people write one where an id belongs.
const mostInID = 9

// subject is a path as the audit keeps it: what a route says of itself, and numbers of events, messages, runs and parts, are ours.
func subject(route, path string) string {
	parts, names := strings.Split(path, "/"), strings.Split(route, "/")
	for i, part := range parts {
		ours := i < len(names) && (part == names[i] || slices.Contains([]string{"{id}", "{number}", "{event}"}, names[i]) && len(part) <= mostInID)
		if !ours {
			parts[i] = noPhone(part)
		}
	}
	return strings.Join(parts, "/")
}

// detail is a request's body as the audit keeps it: without phones, and of long lists how long they are.
func detail(body []byte) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return ""
	}
	whole, err := json.Marshal(shortened(v))
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

// shortened is a body without what is personal, and without phones, before it is cut.
func shortened(v any) any {
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
			out[mask.Text(key)] = shortened(one)
		}
		return out
	case []any:
		for i := range v {
			v[i] = shortened(v[i])
		}
	}
	return v
}

func (a admin) audit(r *http.Request) (any, error) {
	q, phone, err := a.parseList(r)
	if err != nil {
		return nil, err
	}
	if who, _ := WhoOf(r.Context()); phone != "" && !who.May(Phones) { // who tried all phones would know whose hash is whose
		return nil, rejectf(http.StatusForbidden, "", "%s may not ask for a phone: it needs the scope phones, too", who.Name)
	}
	var before int64
	if text := r.URL.Query().Get("before"); text != "" {
		if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
			return nil, badField("before", "", "before %q: want the number of an entry", text)
		}
	}
	configs := r.URL.Query().Get("configs")
	if configs != "" && configs != "true" || configs != "" && phone != "" {
		return nil, badField("configs", "", "configs %q: want true, and no phone with it", configs)
	}
	all, err := a.Store.AuditEntries(r.Context(), store.AuditSearch{Before: before, Limit: q.Limit, Contact: phone, Configs: configs != ""})
	out := make([]AuditView, len(all))
	for i, e := range all {
		out[i] = AuditView{e.ID, e.At.UTC(), e.Who, e.Via, e.Action, e.Subject, e.Detail, e.Outcome, e.Hash}
	}
	return out, err
}

// A ChainView is how the audit's chain stands.
type ChainView struct {
	Entries int64  `json:"entries"`
	Hash    string `json:"hash,omitempty" kind:"ours"`   // of the last one
	Broken  string `json:"broken,omitempty" kind:"ours"` // where it is not whole; "" when it is
}

func (a admin) verifyAudit(r *http.Request) (any, error) {
	var known int64
	hash := ""
	if text := r.URL.Query().Get("known"); text != "" {
		number, rest, _ := strings.Cut(text, ":")
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 1 || len(rest) != 64 {
			return nil, badField("known", "write it as audit verify printed it: 41:9f86d0…", "known %q: want an entry's number and its hash", text)
		}
		known, hash = n, rest
	}
	n, last, err := a.Store.VerifyAudit(r.Context(), known, hash)
	if broken, is := errors.AsType[*store.AuditError](err); is {
		return ChainView{Entries: n, Hash: last, Broken: broken.Error()}, nil
	}
	return ChainView{Entries: n, Hash: last}, err
}

func (a admin) acceptAudit(r *http.Request) (any, error) {
	if err := a.Store.AcceptAudit(r.Context()); err != nil {
		return nil, err
	}
	state, err := a.Store.AuditState(r.Context())
	return ChainView{Entries: state.ID, Hash: state.Hash, Broken: state.Broken}, err
}

// AcceptAudit says that a person has looked into what is missing of the audit.
func (c *Client) AcceptAudit(ctx context.Context) (ChainView, error) {
	return post[ChainView](ctx, c, "/audit/accept", nil)
}

// An AuditQuery says which entries of the audit are asked for.
type AuditQuery struct {
	Before  int64  // only entries before this number; 0 begins with the newest
	Limit   int    // at most so many
	Phone   string // only those about this contact: who was told of it, and which webhook had it forgotten
	Configs bool   // only those that say which config was taken up, and who ordered a reload; not with Phone
}

// Audit lists entries of the audit, the newest first.
func (c *Client) Audit(ctx context.Context, q AuditQuery) ([]AuditView, error) {
	values := ListQuery{Phone: q.Phone, Before: q.Before, Limit: q.Limit}.Values()
	if q.Configs {
		values.Set("configs", "true")
	}
	return get[[]AuditView](ctx, c, "/audit", values)
}

// VerifyAudit reads the whole chain. known is an entry that is known from before, as "41:HASH"; "" for none.
func (c *Client) VerifyAudit(ctx context.Context, known string) (ChainView, error) {
	q := url.Values{}
	if known != "" {
		q.Set("known", known)
	}
	return get[ChainView](ctx, c.patient(), "/audit/verify", q)
}
