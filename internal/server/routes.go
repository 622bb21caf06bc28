package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/valid"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// Base is the path that every route of the API is below, on the socket and on the console's listener.
const Base = "/api/v1"

// maxRequest bounds the body of one request.
const maxRequest = 1 << 20

// A Route is one thing that the API can be asked. To add one, write its handler as func(*http.Request) (any, error), or with the
// type of its body, and a line in the table; who may ask, masks, limits, errors and the record of who did it follow from that.
// Out is what the handler answers: a zero value of its type. A handler that writes by itself (writes) masks with Shown.
type Route struct {
	Method, Path string // below Base
	Scope        Scope
	Words        string   // one sentence
	In, Out      any      // zero values of the body and of the answer; nil for none
	Query        []string // the names that its query may have; others are refused
	Changes      bool     // it does something, and so it is in the audit

	asked     any // an example of the body, where one of In's type does not fit
	needs     need
	discloses disclosure
	most      int64 // bytes of a body; 0 is maxRequest
	do        func(*http.Request) (any, error)
	writes    http.HandlerFunc // in place of do
}

// need is what a route can do nothing without.
type need int

const (
	needsJobs need = 1 << iota
	needsDaemon
)

func reads(path string, scope Scope, out any, words string, do func(*http.Request) (any, error), query ...string) Route {
	return Route{Method: http.MethodGet, Path: path, Scope: scope, Out: out, Words: words, do: do, Query: query}
}

// does is a route that does something by the running daemon.
func does[T any](path string, scope Scope, out any, words string, do func(*http.Request, T) (any, error)) Route {
	return Route{Method: http.MethodPost, Path: path, Scope: scope, In: *new(T), Out: out, Words: words, do: with(do), needs: needsDaemon, Changes: true}
}

// bare is a body that nothing is read of.
type bare struct{}

// bodiless is for those that take no body.
func bodiless(do func(*http.Request) (any, error)) func(*http.Request, bare) (any, error) {
	return func(r *http.Request, _ bare) (any, error) { return do(r) }
}

// ofJobs is a route that can do nothing without jobs.
func (rt Route) ofJobs() Route { rt.needs |= needsJobs; return rt }

// upTo lets a body be longer than others, in bytes.
func (rt Route) upTo(most int64) Route { rt.most = most; return rt }

// unaudited says that what a route does is told elsewhere with who asked for it, and often: it is not in the audit.
func (rt Route) unaudited() Route { rt.Changes = false; return rt }

// withExample gives an example of the body.
func (rt Route) withExample(in any) Route { rt.asked = in; return rt }

// readOnly says that a route changes nothing, though it is posted to.
func (rt Route) readOnly() Route { rt.Changes = false; return rt }

// routes is the table: every route of the API, and nothing else answers below Base.
func (a admin) routes() []Route {
	return []Route{
		reads("/whoami", "", WhoView{}, "Who asks, and what they may do.", a.whoami),
		reads("/openapi.json", "", Document{}, "This description of the API, as OpenAPI 3.1 or, with version, 3.0.", a.openAPI, "version"),
		reads("/status", Read, StatusView{}, "How the daemon is, what waits, and what needs a person.", a.status),
		does("/reload", Manage, DaemonView{}, "Reads the config file again.", bodiless(a.reload)),
		does("/reload/changes", Manage, []RuleChange{}, "Says what a reload would do to what waits, and changes nothing.", a.changes).readOnly().upTo(maxPrinted),

		{Method: http.MethodGet, Path: "/config", Scope: Read, Out: ConfigView{}, Words: "The config in use as it was written, without secrets, and what a reload would read.", do: a.config, needs: needsDaemon},

		does("/console/link", Manage, LinkView{}, "Makes a link that signs in to the console, once.", a.signInLink),

		reads("/events", Read, []EventView{}, "Events, the newest first.", a.events, "since", "until", "limit", "before", "down_to", "connector", "kind", "phone", "trigger", "outcome").ofPeople(ofOne),
		{
			Method: http.MethodGet, Path: "/events/export", Scope: Read, Out: EventLine{}, Query: []string{"since", "until", "connector", "kind", "phone", "trigger", "outcome", "format"},
			Words: "All events that match, one a line, the newest first; the last line says that it is whole.", writes: a.exportEvents, discloses: ofAll,
		},
		reads("/events/{id}", Read, StoryView{}, "One event with all that came of it.", a.event),
		{
			Method: http.MethodPost, Path: "/events/{connector}", Scope: Sending, In: json.RawMessage{}, Out: PostedView{}, needs: needsDaemon,
			Words: "Takes events as the sender of a connector would post them.", do: a.postEvents,
		},
		does("/try", Read, TryView{}, "Says what a webhook, or a stored event, would lead to, by the rules in use and by edited ones; stores and sends nothing.", a.try).readOnly().upTo(maxTryBody),
		does("/replay", Operate, ReplayedEvents{}, "Decides about stored events again, by the rules of now, or says what would be; no trigger queues a second message for one.", a.replayEvents),
		{Method: http.MethodGet, Path: "/connectors", Scope: Read, Out: []ConnectorView{}, Words: "The connectors of the config, with their samples.", do: a.connectors, needs: needsDaemon},
		reads("/requests/rejected", Read, []RejectedRequestView{}, "Requests to hooks that were not taken, the newest first.", a.rejectedRequests, "since", "limit", "before", "connector"),

		reads("/unused", Read, []UnusedView{}, "What was taken and came to nothing, and is not over, by connector, reason and kind.", a.listUnused),
		does("/unused/end", Operate, []UnusedView{}, "Says that a person has seen to what came to nothing, of a connector or of all.", a.endUnused),

		reads("/messages", Read, []MessageView{}, "Messages, the newest first.", a.messages, "since", "until", "limit", "before", "down_to", "phone", "state", "trigger", "template", "account", "class", "event").ofPeople(ofOne),
		{
			Method: http.MethodGet, Path: "/messages/export", Scope: Read, Out: MessageLine{}, Query: []string{"since", "until", "phone", "state", "trigger", "template", "account", "class", "event", "format"},
			Words: "All messages that match, one a line, the newest first; the last line says that it is whole.", writes: a.exportMessages, discloses: ofAll,
		},
		reads("/messages/{id}", Read, MessageView{}, "One message with its attempts, by its number or the service's message_id.", a.message),
		does("/messages", Sending, MessageView{}, "Sends one message.", a.send).unaudited(),
		does("/messages/{id}/cancel", Operate, MessageView{}, "Ends a message that waits.", a.cancel),
		does("/messages/{id}/resolve", Operate, MessageView{}, "Says what became of a message in doubt.", a.resolve),
		does("/messages/cancel", Operate, BulkView{}, "Ends all messages that wait and match, or counts them.", a.cancelMany),
		does("/messages/retry", Operate, BulkView{}, "Sends what surely did not reach the phone once more, or counts it.", a.retryMany).withExample(BulkRequest{State: "rejected", Class: "retry", DryRun: true}),
		does("/messages/resolve", Operate, BulkView{}, "Says what became of all messages in doubt that match, or counts them.", a.resolveMany).withExample(BulkRequest{Trigger: "cart-reminder", As: messaging.ResolveDrop, DryRun: true}),
		reads("/why", Read, []StoryView{}, "The whole story of a phone, the oldest event first.", a.why, "phone", "limit").ofPeople(ofOne),
		reads("/report", Read, ReportView{}, "What happened in a time, by hour or day, and by trigger, job, template, country or connector.", a.report, "since", "until", "by", "group", "trigger", "job", "only"),
		reads("/calendar", Read, []DueDayView{}, "How many messages wait for each of the next 14 days.", a.calendar),
		reads("/errors", Read, []ErrorTextView{}, "What the service said about messages that it did not send.", a.errorTexts, "since", "limit", "class"),

		does("/halt", Operate, []messaging.Hold{}, "Stops sending: everything, a trigger, a template or a job.", a.halt),
		does("/resume", Operate, []messaging.Hold{}, "Lets something that is halted go on.", a.resume),
		reads("/review", Read, ReviewView{}, "What is to be looked at before restored data may send.", a.review, "lost_at"),

		reads("/alerts", Read, alerts.View{}, "How alerts stand.", a.alerts),
		does("/alerts/test", Manage, []alerts.Tested{}, "Sends a test to a receiver of alerts, or to all.", a.testAlerts),
		reads("/webhooks-out", Read, []ReceiverView{}, "The receivers of webhooks out, and how it goes with them.", a.receivers),
		does("/webhooks-out/replay", Operate, ReplayView{}, "Sends changes to a receiver again, or counts them.", a.replay),
		does("/webhooks-out/test", Operate, ReceiverTested{}, "Posts a test to a receiver.", a.testReceiver),

		reads("/jobs", Read, []JobView{}, "The jobs of the config.", a.jobs).ofJobs(),
		{
			Method: http.MethodPost, Path: "/jobs/{name}/forecast", Scope: Operate, In: bare{}, Out: ForecastView{},
			Words: "Reads a job's list and says what a run would do.", do: a.forecast, needs: needsJobs,
		},
		does("/jobs/{name}/run", Operate, RunView{}, "Runs a job now.", a.fire).ofJobs(),
		reads("/runs", Read, []RunView{}, "Runs of jobs, the newest first; trigger names the job.", a.runs, "since", "limit", "before", "state", "trigger"),
		reads("/runs/{id}", Read, RunView{}, "One run with its parts.", a.run),
		{Method: http.MethodGet, Path: "/runs/{id}/rows", Scope: Phones, Out: rowLine{}, Words: "Every row of a run and what became of it, one JSON object a line; the last is {\"end\":true}.", writes: a.export, discloses: ofAll},
		reads("/runs/{id}/retry", Read, RetryView{}, "What a retry of a run would send.", a.forecastRetry, "in_doubt", "classes", "min_wait_ns", "deadline_ns").ofJobs(),
		does("/runs/{id}/retry", Operate, RunView{}, "Sends rows or parts of a run that did not arrive once more, as a new run.", a.retry).ofJobs(),
		does("/runs/{id}/approve", Operate, RunView{}, "Approves a run that waits for it, and lets it go when enough people did.", bodiless(a.approve)).ofJobs(),
		does("/runs/{id}/pause", Operate, RunView{}, "Stops a run until it is resumed.", bodiless(a.order(Jobs.Pause))).ofJobs(),
		does("/runs/{id}/resume", Operate, RunView{}, "Lets a paused run go on.", bodiless(a.order(Jobs.Resume))).ofJobs(),
		does("/runs/{id}/cancel", Operate, RunView{}, "Ends a run.", bodiless(a.order(Jobs.Cancel))).ofJobs(),
		does("/runs/{id}/parts/{number}/resolve", Operate, RunView{}, "Says what became of a part in doubt.", a.resolvePart).ofJobs(),

		reads("/contacts", Read, []messaging.FoundContact{}, "Contacts by a part of a name or of an e-mail address, an order or a cart, at most 50.", a.findContacts, "find").ofPeople(ofOne),
		reads("/contacts/{phone}", Read, ContactView{}, "What is known of a contact, and whether it wants messages.", a.contact).ofPeople(ofOne),
		reads("/contacts/{phone}/data", Phones, DataView{}, "All that is stored about a contact.", a.contactData).ofPeople(ofAll),
		does("/contacts/forget", Contacts, ForgetAnswer{}, "Has contacts forgotten, or all that came by a connector.", a.forget),
		// The cursor of this list is a phone, and so its reader needs to see phones.
		reads("/consents", Phones, []ConsentView{}, "What contacts agreed to, by phone, after the given one.", a.consents, "after").ofPeople(ofAll),
		does("/consents", Contacts, ConsentAnswer{}, "Records what contacts agreed to.", a.recordConsents),
		reads("/blocks", Read, []BlockView{}, "Blocked contacts.", a.blocks, "limit"),
		does("/blocks", Contacts, BlockAnswer{}, "Blocks contacts.", a.block),
		{
			Method: http.MethodDelete, Path: "/blocks/{phone}", Scope: Contacts, Out: BlockView{}, Words: "Ends a contact's block.",
			do: a.allow, needs: needsDaemon, Changes: true,
		},
		reads("/tokens", Manage, []TokenView{}, "Tokens of the API, without what lets in.", a.tokens),
		does("/tokens", Manage, TokenView{}, "Makes a token, which is in this answer alone.", a.createToken),
		{
			Method: http.MethodDelete, Path: "/tokens/{token}", Scope: Manage, Out: TokenView{}, Words: "Ends a token, by its id or its name.",
			do: a.revokeToken, needs: needsDaemon, Changes: true,
		},
		reads("/users", Manage, []UserView{}, "Who may sign in to the console, by name.", a.users),
		does("/users", Manage, UserView{}, "Adds a user, with a link in this answer alone by which a password is chosen.", a.addUser),
		does("/users/{user}/role", Manage, UserView{}, "Gives a user another role, at once.", a.setRole),
		does("/users/{user}/disable", Manage, UserView{}, "Keeps a user from signing in, and ends the sessions of that user.", bodiless(a.disableUser)),
		does("/users/{user}/enable", Manage, UserView{}, "Lets a user sign in again.", bodiless(a.enableUser)),
		does("/users/{user}/reset", Manage, UserView{}, "Takes a user's password away, ends the sessions, and makes a link as for a new user.", bodiless(a.resetUser)),
		{
			Method: http.MethodDelete, Path: "/users/{user}", Scope: Manage, Out: UserView{}, Words: "Removes a user, and ends the sessions of that user.",
			do: a.removeUser, needs: needsDaemon, Changes: true,
		},
		reads("/audit", Manage, []AuditView{}, "Who ordered what and who was told of whom, the newest first, before the entry of the number in before; with phone what is about that contact, with configs=true which config was taken up and who ordered a reload.", a.audit, "before", "configs", "limit", "phone"),
		reads("/audit/verify", Manage, ChainView{}, "Whether the audit is as it was written; known is an entry and its hash from before.", a.verifyAudit, "known"),
		does("/audit/accept", Manage, ChainView{}, "Says that a person has looked into what is missing of the audit, which ends the trouble and mends nothing.", bodiless(a.acceptAudit)),

		reads("/redactions", Contacts, []RedactionView{}, "Connectors all of which is asked to be forgotten, the oldest request first.", a.redactions),
		does("/redactions/{connector}/do", Contacts, RedactionView{}, "Has all forgotten that came by a connector, as it asks.", bodiless(a.decideRedaction(true))),
		does("/redactions/{connector}/refuse", Contacts, RedactionView{}, "Refuses to forget all that came by a connector: marketing to its contacts goes on.", bodiless(a.decideRedaction(false))),
		reads("/data-requests", Contacts, []DataRequestView{}, "Contacts who are to get what is stored about them.", a.dataRequests),
		does("/data-requests/{event}/close", Contacts, DataRequestView{}, "Notes that a contact got its data, and removes the file.", bodiless(a.closeRequest)),
	}
}

// Routes is the table, for those who describe it. Nothing of it can be called.
func Routes() []Route { return admin{}.routes() }

// Admin returns the handler of the API. Whom it does not know (WithWho), it answers 401.
func Admin(o AdminOptions) http.Handler {
	a := admin{AdminOptions: o, exports: make(chan struct{}, mostExports), repeats: &webhooks.Repeats{}, reads: &readers{}}
	var has need
	if o.Jobs != nil {
		has |= needsJobs
	}
	if o.Daemon != nil {
		has |= needsDaemon
	}
	mux := http.NewServeMux()
	for _, rt := range a.routes() {
		if rt.needs&^has == 0 {
			mux.Handle(rt.Method+" "+Base+rt.Path, a.authorize(rt))
		}
	}
	const rest = "/"
	mux.Handle(rest, a.authenticate(func(w http.ResponseWriter, r *http.Request) {
		var others []string
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			if _, pattern := mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host}); pattern != rest {
				others = append(others, method)
			}
		}
		if allow := strings.Join(others, ", "); allow != "" {
			w.Header().Set("Allow", allow)
			a.refuse(w, r, &Error{Status: http.StatusMethodNotAllowed, Words: "this path takes " + allow})
			return
		}
		a.refuse(w, r, &Error{Status: http.StatusNotFound, Words: "there is no such path", Hint: Base + "/openapi.json lists those that there are"})
	}))
	return a.recoverPanics(mux)
}

// recoverPanics answers for a handler that panics: it is a fault of ours, and one request's alone.
func (a admin) recoverPanics(do http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusWriter{ResponseWriter: w}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler { //nolint:errorlint // it is compared as net/http does
				panic(v) // said on purpose, and told where it was said
			}
			a.Log.Error("a request ended in a fault of this program", zap.String("path", listeners.ShownPath(r.URL)), zap.Any("fault", v), zap.StackSkip("stack", 1))
			if seen.status != 0 {
				panic(http.ErrAbortHandler) // half an answer must not look whole
			}
			const status = http.StatusInternalServerError
			a.write(w, r, status, "application/problem+json", &Error{
				Status: status, Title: http.StatusText(status), Words: "the request ended in a fault of this program", Hint: "the daemon's log says where; please report it",
			})
		}()
		do.ServeHTTP(seen, r)
	})
}

// authenticate lets nobody in who proved nothing.
func (a admin) authenticate(do http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known := WhoOf(r.Context()); !known {
			a.refuse(w, r, &Error{Status: http.StatusUnauthorized, Words: "nobody is known by that", Hint: "send the header Authorization: Bearer with a token of \"nudgewire token create\""})
			return
		}
		do(w, r)
	})
}

// authorize is a route behind what holds for all of them: who asks, whether they may, and how long a body may be.
func (a admin) authorize(rt Route) http.Handler {
	do := rt.writes
	if do == nil {
		do = a.answer(rt.do)
	}
	switch {
	case rt.Changes:
		do = a.record(&rt, do)
	case rt.discloses != 0 && a.Daemon != nil:
		do = a.recordRead(&rt, do)
	}
	return a.authenticate(func(w http.ResponseWriter, r *http.Request) {
		who, _ := WhoOf(r.Context())
		if rt.Scope != "" && !who.May(rt.Scope) {
			a.refuse(w, r, &Error{Status: http.StatusForbidden, Words: who.Name + " may not do that: it needs the scope " + string(rt.Scope)})
			return
		}
		if err := rt.knows(r.URL.RawQuery); err != nil {
			a.refuse(w, r, err)
			return
		}
		listeners.Working(w)
		r.Body = http.MaxBytesReader(w, r.Body, cmp.Or(rt.most, maxRequest))
		do(w, r)
	})
}

// knows says which name of a query the route does not know: a filter that is left out in silence would make a list longer than was asked for.
func (rt *Route) knows(query string) error {
	at := "the query of " + rt.Method + " " + Base + rt.Path
	asked, err := url.ParseQuery(query)
	if err != nil {
		return badField("", "write it as name=value, with & between two of them", "%s cannot be read: %v", mask.Own(at), err)
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if slices.Contains(rt.Query, name) {
			continue
		}
		hint := "it knows " + strings.Join(rt.Query, ", ")
		if near := nearest.Of(name, rt.Query); near != "" {
			hint = "did you mean " + near + "? " + hint
		} else if len(rt.Query) == 0 {
			hint = "this route takes no query"
		}
		return badField(name, hint, "%s has the name %q, which the route does not know", mask.Own(at), name)
	}
	return nil
}

// with reads a small JSON request strictly, and hands it on.
func with[T any](do func(*http.Request, T) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		var in T
		if _, none := any(in).(bare); none {
			return do(r, in)
		}
		dec := json.NewDecoder(r.Body)
		dec.DisallowUnknownFields()
		err := dec.Decode(&in)
		if err == nil {
			err = valid.Struct(&in)
		}
		if err != nil {
			return nil, badBody(err)
		}
		return do(r, in)
	}
}

// badBody is what is wrong with a body, with the field where it is one.
func badBody(err error) error {
	e := &Error{Status: http.StatusBadRequest, Words: "request body: " + mask.Text(bodyWords(err))}
	if tooLong, is := errors.AsType[*http.MaxBytesError](err); is {
		return &Error{Status: http.StatusRequestEntityTooLarge, Words: "the request body is too long", Hint: mask.Sprintf("send at most %d bytes at a time", tooLong.Limit)}
	}
	if broken, is := errors.AsType[*valid.FieldError](err); is {
		e.Field = broken.Field
	}
	if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		e.Field = wrong.Field
	}
	if name, is := strings.CutPrefix(err.Error(), "json: unknown field "); is { // the library has no type for it
		e.Field = strings.Trim(name, `"`)
	}
	return e
}

// bodyWords says what is wrong with JSON without the library's names of Go types.
func bodyWords(err error) string {
	wrong, isType := errors.AsType[*json.UnmarshalTypeError](err)
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	_, isTime := errors.AsType[*time.ParseError](err)
	switch name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); {
	case errors.Is(err, io.EOF):
		return "there is none"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends in the middle"
	case isSyntax:
		return fmt.Sprintf("it is no JSON at byte %d: %s", syntax.Offset, syntax.Error())
	case isTime:
		return "a time in it is not written as 2026-11-28T09:00:00Z"
	case isType && wrong.Field == "":
		return fmt.Sprintf("it is %s, and has to be %s", jsonWord(wrong.Value), jsonKind(wrong.Type))
	case isType:
		return fmt.Sprintf("field %q is %s, and has to be %s", wrong.Field, jsonWord(wrong.Value), jsonKind(wrong.Type))
	case unknown:
		return "there is no field " + name + " here"
	default:
		return err.Error()
	}
}

// jsonWord is a kind of value as the library names it, for people.
func jsonWord(value string) string {
	word, _, _ := strings.Cut(value, " ") // "number 1.5"
	if words, known := map[string]string{"string": "a text", "object": "an object", "array": "a list", "bool": "true or false"}[word]; known {
		return words
	}
	return "a " + word
}

func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return "a whole number"
	}
}

// A WhoView is who asks.
type WhoView struct {
	Name   string  `json:"name" kind:"ours"`
	From   From    `json:"from"`
	Scopes []Scope `json:"scopes"`
}

func (a admin) whoami(r *http.Request) (any, error) {
	who, _ := WhoOf(r.Context())
	return WhoView{who.Name, who.From, slices.Clone(who.Scopes)}, nil
}
