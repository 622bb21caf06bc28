package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/preview"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/signin"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/valid"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// Base is the path that every route of the API is below, on the socket and on the console's listener.
const Base = "/api/v1"

// maxRequest bounds the body of one request.
const maxRequest = 1 << 20

// A Route is one thing that the API can be asked. To add one, write its handler, whose argument is all that is asked and whose answer is what
// is answered, and a line in the table; who may ask, masks, limits, errors, the record of who did it, its description and how it is called from
// Go follow from that. Out is what the handler answers: a zero value of its type.
type Route struct {
	Method, Path string // below Base
	Scope        access.Scope
	Words        string   // one sentence
	In, Out      any      // zero values of the body and of the answer; nil for none
	Query        []string // the names that its query may have; others are refused
	Changes      bool     // it does something, and so it is in the audit
	Record       string   // what the audit says that somebody did, with names of the path and of the body in braces; "" for what is not in it

	asked     any // an example of the body, where one of In's type does not fit
	needs     need
	discloses disclosure
	most      int64  // bytes of a body; 0 is maxRequest
	bare      bool   // it may be asked without a body
	lines     bool   // its answer is one of Out a line
	patient   bool   // it takes as long as it takes
	parts     []part // of what is asked, but for a JSON body
}

// action is the route as records name it.
func (rt *Route) action() string { return rt.Method + " " + rt.Path }

// need is what a route can do nothing without.
type need int

const (
	needsJobs need = 1 << iota
	needsDaemon
)

// An option is what is special about a route.
type option func(*Route)

// query names what a list may be narrowed by, of all that its request has.
func query(names ...string) option { return func(rt *Route) { rt.Query = names } }

// needing says what else a route can do nothing without.
func needing(n need) option { return func(rt *Route) { rt.needs |= n } }

// ofPeople says what a route tells of people.
func ofPeople(d disclosure) option { return func(rt *Route) { rt.discloses = d } }

// upTo lets a body be longer than others, in bytes.
func upTo(most int64) option { return func(rt *Route) { rt.most = most } }

// withExample gives an example of the body.
func withExample(in any) option { return func(rt *Route) { rt.asked = in } }

// readOnly says that a route changes nothing, though it is posted to; unaudited that what it does is told elsewhere with who asked for it, and
// often. Neither is in the audit.
func readOnly(rt *Route)  { rt.Changes = false }
func unaudited(rt *Route) { rt.Changes = false }

// recorded is what the audit says of it in words: see Record.
func recorded(words string) option { return func(rt *Route) { rt.Record = words } }

// bare says that a route may be asked without a body, which then asks for what is usual.
func bare(rt *Route) { rt.bare = true }

// patient says that nobody knows how long a route takes.
func patient(rt *Route) { rt.patient = true }

// What the API can be asked. A page, a command or a program in Go asks by Call or Each of one of these.
var (
	WhoAmI         = reads("/whoami", "", admin.whoami, "Who asks, and what they may do.")
	DescribeAPI    = reads("/openapi.json", "", admin.openAPI, "This description of the API, as OpenAPI 3.1 or, with version, 3.0.", query("version"))
	ShowStatus     = reads("/status", access.Read, admin.status, "How the daemon is, what waits, and what needs a person.")
	Reload         = does("/reload", access.Manage, admin.reload, "Takes up the config files as they are now; with version only where they are that config.", bare, recorded("took up the config files {version}"))
	PlanConfig     = does("/config/plan", access.Manage, admin.plan, "Says what taking up the config files, a config or an earlier version would change, and changes nothing.", bare, readOnly, upTo(maxPrinted), withExample(PlanRequest{}))
	Simulate       = does("/simulation", access.Operate, of(admin.runner, (*simulation.Runner).Begin), "Begins to play the events and lists since a time by the config in use and by another one; one at a time.", bare, withExample(simulation.Request{Version: "3f2a9c81d07e"}), recorded("began a simulation"))
	ShowSimulation = reads("/simulation", access.Read, admin.showSimulation, "How far the newest simulation is, or what came of it.", needing(needsDaemon))
	StopSimulation = does("/simulation/stop", access.Operate, admin.stopSimulation, "Ends the simulation that runs.", bare, recorded("stopped a simulation"))
	RollBack       = does("/config/rollback", access.Manage, admin.rollBack, "Writes the files of an earlier config in place of today's, which are kept beside them, and takes them up.", recorded("went back to config {version}"))
	ShowConfig     = reads("/config", access.Read, admin.config, "The config in use as it was written, without secrets, and what a reload would read.", needing(needsDaemon))
	ShowVersion    = reads("/config/versions/{version}", access.Read, admin.configVersion, "The files of a config that was used, with marks in place of secrets.")
	ListVersions   = reads("/config/versions", access.Manage, admin.configVersions, "Which config was taken up when, by whom, and what it changed, the newest first.", query("limit", "before"))
	LinkToConsole  = does("/console/link", access.Manage, of(admin.people, signin.People.Link), "Makes a link that signs in to the console, once.", recorded("made a link to sign in"))

	ListEvents = reads("/events", access.Read, admin.events, "Events, the newest first.",
		query("since", "until", "limit", "before", "down_to", "connector", "kind", "phone", "trigger", "outcome"), ofPeople(ofOne), recorded("read the events of a contact"))
	ExportEvents = streams(&Stream[ListQuery, EventView]{do: admin.exportEvents, few: true, file: "events", head: EventHead, cells: (*EventView).Cells, line: func(v *EventView) any { return EventLine{Event: v} }},
		"/events/export", access.Read, EventLine{}, "All events that match, one a line, the newest first; the last line says that it is whole.",
		query("since", "until", "connector", "kind", "phone", "trigger", "outcome", "format"), recorded("exported events"))
	ShowEvent    = reads("/events/{id}", access.Read, admin.event, "One event with all that came of it.")
	PostEvents   = does("/events/{connector}", access.Sending, admin.postEvents, "Takes events as the sender of a connector would post them.", unaudited)
	TryWebhook   = does("/try", access.Read, of(admin.preview, preview.Preview.Try), "Says what a webhook, or a stored event, would lead to, by the rules in use and by edited ones; stores and sends nothing.", readOnly, upTo(preview.MaxBody))
	ReplayEvents = does("/replay", access.Operate, of(admin.preview, preview.Preview.ReplayEvents),
		"Decides about stored events again, by the rules of now, or says what would be; no trigger queues a second message for one.", patient, recorded("had events decided about again"))
	ListConnectors       = reads("/connectors", access.Read, of(admin.preview, preview.Preview.Connectors), "The connectors of the config, with their samples.", needing(needsDaemon))
	ListRejectedRequests = reads("/requests/rejected", access.Read, admin.rejectedRequests, "Requests to hooks that were not taken, the newest first.", query("since", "limit", "before", "connector"))
	ListUnused           = reads("/unused", access.Read, admin.listUnused, "What was taken and came to nothing, and is not over, by connector, reason and kind.")
	EndUnused            = does("/unused/end", access.Operate, admin.endUnused, "Says that a person has seen to what came to nothing, of a connector or of all.", recorded("saw to what came to nothing {connector}"))
	ListDrift            = reads("/connectors/drift", access.Read, of(admin.drifts, drift.Drifts.List), "What senders changed against the week before: fields that are gone, of another type or new, and kinds that nobody knows; what is to be done first.", query("connector"))
	AcceptDrift          = does("/connectors/drift/accept", access.Operate, of(admin.drifts, drift.Drifts.Accept), "Takes what a connector sends now for what it is to send, of one kind or of all.", recorded("took what {connector} sends now for right"))

	ListMessages = reads("/messages", access.Read, admin.messages, "Messages, the newest first.",
		query("since", "until", "limit", "before", "down_to", "phone", "state", "trigger", "template", "account", "class", "words", "event"), ofPeople(ofOne), recorded("read the messages of a contact"))
	MessageReasons = reads("/messages/reasons", access.Read, admin.messageReasons, "How many messages of a state there are by the words of why they are in it, the most first.",
		query("since", "until", "down_to", "state", "trigger", "template", "account", "class"))
	ExportMessages = streams(&Stream[ListQuery, MessageView]{do: admin.exportMessages, few: true, file: "messages", head: MessageHead, cells: (*MessageView).Cells, line: func(v *MessageView) any { return MessageLine{Message: v} }},
		"/messages/export", access.Read, MessageLine{}, "All messages that match, one a line, the newest first; the last line says that it is whole.",
		query("since", "until", "phone", "state", "trigger", "template", "account", "class", "words", "event", "format"), recorded("exported messages"))
	ShowMessage    = reads("/messages/{id}", access.Read, admin.message, "One message with its attempts, by its number or the service's message_id.")
	SendMessage    = does("/messages", access.Sending, admin.send, "Sends one message.", unaudited)
	SendTest       = does("/test-sends", access.Sending, of(admin.preview, preview.Preview.TestSend), "Sends one message of a trigger to a number of one's own, marked as a test, or says what it would be.", unaudited, upTo(preview.MaxBody))
	CancelMessage  = does("/messages/{id}/cancel", access.Operate, admin.cancel, "Ends a message that waits.", recorded("cancelled message {id}"))
	ResolveMessage = does("/messages/{id}/resolve", access.Operate, admin.resolve, "Says what became of a message in doubt.", recorded("said of message {id} in doubt: {as}"))
	CancelMessages = does("/messages/cancel", access.Operate, admin.cancelMany, "Ends all messages that wait and match, or counts them.", patient, recorded("cancelled what waits {trigger}"))
	RetryMessages  = does("/messages/retry", access.Operate, admin.retryMany, "Sends what surely did not reach the phone once more, or counts it.", patient,
		withExample(BulkRequest{State: "rejected", Class: "retry", DryRun: true}), recorded("sent again what did not arrive {trigger}"))
	PlanRetry = does("/messages/retry/plan", access.Read, admin.planRetry, "Says of each of these messages whether it could be sent again now, and if not, why; changes nothing.", readOnly,
		withExample(RetryPlanRequest{Messages: []messaging.MessageID{1, 2}}))
	ResolveMessages = does("/messages/resolve", access.Operate, admin.resolveMany, "Says what became of all messages in doubt that match, or counts them.", patient,
		withExample(BulkRequest{Trigger: "cart-reminder", As: messaging.ResolveDrop, DryRun: true}), recorded("said of messages in doubt {trigger}: {as}"))
	Why          = reads("/why", access.Read, admin.why, "The whole story of a phone, the oldest event first.", query("phone", "limit"), ofPeople(ofOne), recorded("read the story of a contact"))
	ShowReport   = reads("/report", access.Read, of(admin.reports, report.Reports.Report), "What happened in a time, by hour or day, and by trigger, job, template, country or connector.")
	ShowOverlap  = reads("/overlap", access.Read, of(admin.reports, report.Reports.Overlap), "Which triggers and jobs reached the same people within 24 hours, the most people first.", query("since"), patient)
	ShowCalendar = reads("/calendar", access.Read, of(admin.reports, report.Reports.Calendar), "How many messages wait for each of the next 14 days.")
	ListErrors   = reads("/errors", access.Read, admin.errorTexts, "What the service said about messages that it did not send.", query("since", "limit", "class"))

	Halt       = does("/halt", access.Operate, admin.halt, "Stops sending: everything, a trigger, a template or a job.", recorded("halted {scope} {name}"))
	Resume     = does("/resume", access.Operate, admin.resume, "Lets something that is halted go on.", recorded("let {scope} {name} go on"))
	ShowReview = reads("/review", access.Read, admin.review, "What is to be looked at before restored data may send.", query("lost_at"))

	ShowAlerts     = reads("/alerts", access.Read, admin.alerts, "How alerts stand.")
	TestAlerts     = does("/alerts/test", access.Manage, admin.testAlerts, "Sends a test to a receiver of alerts, or to all.", patient, recorded("tested alerts {receiver}"))
	ListReceivers  = reads("/webhooks-out", access.Read, admin.receivers, "The receivers of webhooks out, and how it goes with them.")
	ReplayWebhooks = does("/webhooks-out/replay", access.Operate, admin.replay, "Sends changes to a receiver again, or counts them.", patient, recorded("posted webhooks out again to {receiver}"))
	TestReceiver   = does("/webhooks-out/test", access.Operate, admin.testReceiver, "Posts a test to a receiver.", patient, recorded("tested the receiver {receiver}"))

	ListJobs    = reads("/jobs", access.Read, admin.jobs, "The jobs of the config.", needing(needsJobs))
	ForecastJob = does("/jobs/{name}/forecast", access.Operate, admin.forecast, "Reads a job's list and says what a run would do.", readOnly, patient, func(rt *Route) { rt.needs = needsJobs })
	RunJob      = does("/jobs/{name}/run", access.Operate, admin.fire, "Runs a job now.", needing(needsJobs), recorded("ran the job {name}"))
	ListRuns    = reads("/runs", access.Read, admin.runs, "Runs of jobs, the newest first; trigger names the job.", query("since", "limit", "before", "state", "trigger"))
	ShowRun     = reads("/runs/{id}", access.Read, admin.run, "One run with its parts.")
	ExportRows  = streams(&Stream[messaging.RunID, RowView]{do: admin.exportRows, line: func(v *RowView) any { return rowLine{Row: v} }},
		"/runs/{id}/rows", access.Phones, rowLine{}, "Every row of a run and what became of it, one JSON object a line; the last is {\"end\":true} and how many there were.", recorded("exported the rows of run {id}"))
	ForecastRun   = reads("/runs/{id}/forecast", access.Read, admin.forecastRun, "What a run that awaits approval would send, were it let go now.", needing(needsJobs), patient)
	ForecastRetry = reads("/runs/{id}/retry", access.Read, admin.forecastRetry, "What a retry of a run would send.", needing(needsJobs), patient)
	RetryRun      = does("/runs/{id}/retry", access.Operate, admin.retry, "Sends rows or parts of a run that did not arrive once more, as a new run.", needing(needsJobs), recorded("sent again what did not arrive of run {id}"))
	ApproveRun    = does("/runs/{id}/approve", access.Operate, admin.approve, "Approves a run that waits for it, and lets it go when enough people did.", needing(needsJobs), recorded("approved run {id}"))
	PauseRun      = does("/runs/{id}/pause", access.Operate, admin.pause, "Stops a run until it is resumed.", needing(needsJobs), recorded("paused run {id}"))
	ResumeRun     = does("/runs/{id}/resume", access.Operate, admin.resumeRun, "Lets a paused run go on.", needing(needsJobs), recorded("let run {id} go on"))
	CancelRun     = does("/runs/{id}/cancel", access.Operate, admin.cancelRun, "Ends a run.", needing(needsJobs), recorded("cancelled run {id}"))
	ResolvePart   = does("/runs/{id}/parts/{number}/resolve", access.Operate, admin.resolvePart, "Says what became of a part in doubt.", needing(needsJobs), recorded("said of part {number} of run {id} in doubt: {as}"))

	FindContacts    = reads("/contacts", access.Read, admin.findContacts, "Contacts by a part of a name or of an e-mail address, an order or a cart, at most 50.", query("find"), ofPeople(ofOne), recorded("looked for a contact"))
	ShowContact     = reads("/contacts/{phone}", access.Read, admin.contact, "What is known of a contact, and whether it wants messages.", ofPeople(ofOne), recorded("read what is known of a contact"))
	ShowContactData = reads("/contacts/{phone}/data", access.Phones, admin.contactData, "All that is stored about a contact.", ofPeople(ofAll), recorded("read all data of a contact"))
	ForgetContacts  = does("/contacts/forget", access.Contacts, admin.forget, "Has contacts forgotten, or all that came by a connector.", recorded("had contacts forgotten {connector}"))
	// The cursor of this list is a phone, and so its reader needs to see phones.
	ListConsents   = reads("/consents", access.Phones, admin.consents, "What contacts agreed to, by phone, after the given one.", query("after"), ofPeople(ofAll), recorded("read who agreed to what"))
	RecordConsents = does("/consents", access.Contacts, admin.recordConsents, "Records what contacts agreed to.", recorded("recorded consent"))
	ListBlocks     = reads("/blocks", access.Read, admin.blocks, "Blocked contacts.", query("limit"))
	BlockContacts  = does("/blocks", access.Contacts, admin.block, "Blocks contacts.", recorded("blocked contacts"))
	AllowContact   = removes("/blocks/{phone}", access.Contacts, admin.allow, "Ends a contact's block.", recorded("ended the block of {phone}"))

	ListTokens  = reads("/tokens", access.Manage, of(admin.people, signin.People.Tokens), "Tokens of the API, without what lets in.")
	CreateToken = does("/tokens", access.Manage, of(admin.people, signin.People.CreateToken), "Makes a token, which is in this answer alone.", recorded("made the token {name}"))
	RevokeToken = removes("/tokens/{token}", access.Manage, of(admin.people, signin.People.RevokeToken), "Ends a token, by its id or its name.", recorded("ended the token {token}"))

	ListUsers   = reads("/users", access.Manage, of(admin.people, signin.People.Users), "Who may sign in to the console, by name.")
	AddUser     = does("/users", access.Manage, of(admin.people, signin.People.AddUser), "Adds a user, with a link in this answer alone by which a password is chosen.", recorded("added the user {name}"))
	SetRole     = does("/users/{user}/role", access.Manage, of(admin.people, signin.People.SetRole), "Gives a user another role, at once.", recorded("gave {user} the role {role}"))
	DisableUser = does("/users/{user}/disable", access.Manage, of(admin.people, signin.People.DisableUser), "Keeps a user from signing in, and ends the sessions of that user.", recorded("disabled the user {user}"))
	EnableUser  = does("/users/{user}/enable", access.Manage, of(admin.people, signin.People.EnableUser), "Lets a user sign in again.", recorded("enabled the user {user}"))
	ResetUser   = does("/users/{user}/reset", access.Manage, of(admin.people, signin.People.ResetUser), "Takes a user's password away, ends the sessions, and makes a link as for a new user.", recorded("took the password of {user} away"))
	RemoveUser  = removes("/users/{user}", access.Manage, of(admin.people, signin.People.RemoveUser), "Removes a user, and ends the sessions of that user.", recorded("removed the user {user}"))

	ListAudit = reads("/audit", access.Manage, admin.audit,
		"Who ordered what and who was told of whom, the newest first, before the entry of the number in before; with phone what is about that contact, with configs=true which config was taken up and who ordered a reload.")
	VerifyAudit = reads("/audit/verify", access.Manage, admin.verifyAudit, "Whether the audit is as it was written; known is an entry and its hash from before.", query("known"), patient)
	AcceptAudit = does("/audit/accept", access.Manage, admin.acceptAudit, "Says that a person has looked into what is missing of the audit, which ends the trouble and mends nothing.", recorded("accepted the audit as it is"))

	ListRedactions    = reads("/redactions", access.Contacts, of(admin.redactions, privacy.OpenRedactions.List), "Connectors all of which is asked to be forgotten, the oldest request first.")
	CarryOutRedaction = does("/redactions/{connector}/do", access.Contacts, of(admin.redactions, privacy.OpenRedactions.CarryOut), "Has all forgotten that came by a connector, as it asks.", recorded("had all that came by {connector} forgotten"))
	RefuseRedaction   = does("/redactions/{connector}/refuse", access.Contacts, of(admin.redactions, privacy.OpenRedactions.Refuse), "Refuses to forget all that came by a connector: marketing to its contacts goes on.", recorded("refused to forget all that came by {connector}"))
	ListDataRequests  = reads("/data-requests", access.Contacts, admin.dataRequests, "Contacts who are to get what is stored about them.")
	CloseDataRequest  = does("/data-requests/{event}/close", access.Contacts, admin.closeRequest, "Notes that a contact got its data, and removes the file.", recorded("closed the data request of event {event}"))
)

// Routes is the table, by path, for those who describe it.
func Routes() []Route {
	out := make([]Route, len(table))
	for i, one := range table {
		out[i] = *one.route()
	}
	slices.SortFunc(out, func(a, b Route) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method)) })
	return out
}

// An API answers what it is asked, over HTTP and in this process. Whom it does not know (WithWho), it answers 401.
type API struct {
	admin
	mux *http.ServeMux
}

// Admin returns the API.
func Admin(o AdminOptions) *API {
	a := admin{AdminOptions: o, exports: make(chan struct{}, mostExports), repeats: &webhooks.Repeats{}, reads: &readers{}}
	mux := http.NewServeMux()
	for _, one := range table {
		if rt := one.route(); rt.needs&^a.has() == 0 {
			mux.Handle(rt.Method+" "+Base+rt.Path, one.serve(a))
		}
	}
	const rest = "/"
	mux.HandleFunc(rest, func(w http.ResponseWriter, r *http.Request) {
		who, known := access.WhoOf(r.Context())
		var others []string
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			if _, pattern := mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host}); pattern != rest {
				others = append(others, method)
			}
		}
		allow := strings.Join(others, ", ")
		err := noSuchPath()
		switch {
		case !known:
			err = stranger()
		case allow != "":
			w.Header().Set("Allow", allow)
			err = &refusal.Error{Status: http.StatusMethodNotAllowed, Words: "this path takes " + allow}
		}
		a.refuse(w, refusalFor(who, err))
	})
	return &API{a, mux}
}

func (api *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { api.mux.ServeHTTP(w, r) }

// has is what there is of what routes need.
func (a admin) has() (has need) {
	if a.Jobs != nil {
		has |= needsJobs
	}
	if a.Daemon != nil {
		has |= needsDaemon
	}
	return has
}

func noSuchPath() error {
	return &refusal.Error{Status: http.StatusNotFound, Words: "there is no such path", Hint: Base + "/openapi.json lists those that there are"}
}

func stranger() error {
	return &refusal.Error{Status: http.StatusUnauthorized, Words: "nobody is known by that", Hint: "send the header Authorization: Bearer with a token of \"nudgewire token create\""}
}

// guard does what holds for every route, by whichever way it is asked, and then do: who asks, whether they may, that a query has no name that
// the route does not know, and that nothing is done and nobody told of that is not in the audit. A fault of do ends what was asked, and nothing else.
func (a admin) guard(ctx context.Context, rt *Route, q *asked, do func() error) (no *refusal.Error) {
	who, known := access.WhoOf(ctx)
	defer func() {
		switch v := recover(); {
		case v == nil:
		case v == http.ErrAbortHandler: //nolint:errorlint // it is compared as net/http does
			panic(v)
		default:
			a.Log.Error("a request ended in a fault of this program", zap.String("action", rt.action()), zap.Any("fault", v), zap.StackSkip("stack", 1))
			no = refusalFor(who, &refusal.Error{Status: http.StatusInternalServerError, Words: "the request ended in a fault of this program", Hint: "the daemon's log says where; please report it"})
		}
	}()
	err := rt.knows(q)
	switch {
	case !known:
		err = stranger()
	case rt.needs&^a.has() != 0:
		err = noSuchPath()
	case rt.Scope != "" && !who.May(rt.Scope):
		err = &refusal.Error{Status: http.StatusForbidden, Words: who.Name + " may not do that: it needs the scope " + string(rt.Scope)}
	case err != nil:
	case rt.Changes:
		err = a.recordAndDo(ctx, rt, q, do)
	case rt.discloses != 0 && a.Daemon != nil:
		if err = a.recordRead(ctx, rt, q); err == nil {
			err = do()
		}
	default:
		err = do()
	}
	if err == nil {
		return nil
	}
	no = refusalFor(who, err)
	if no.Status >= http.StatusInternalServerError {
		a.Log.Error("admin request", zap.String("action", rt.action()), zap.Error(err))
	}
	return no
}

// knows says which name of a query the route does not know: a filter that is left out in silence would make a list longer than was asked for.
func (rt *Route) knows(q *asked) error {
	at := "the query of " + rt.Method + " " + Base + rt.Path
	if q.unread != nil {
		return refusal.Fieldf("", "write it as name=value, with & between two of them", "%s cannot be read: %v", mask.Own(at), q.unread)
	}
	for _, name := range slices.Sorted(maps.Keys(q.query)) {
		if slices.Contains(rt.Query, name) {
			continue
		}
		hint := "it knows " + strings.Join(rt.Query, ", ")
		if near := nearest.Of(name, rt.Query); near != "" {
			hint = "did you mean " + near + "? " + hint
		} else if len(rt.Query) == 0 {
			hint = "this route takes no query"
		}
		return refusal.Fieldf(name, hint, "%s has the name %q, which the route does not know", mask.Own(at), name)
	}
	return nil
}

// badBody is what is wrong with a body, with the field where it is one.
func badBody(err error) error {
	e := &refusal.Error{Status: http.StatusBadRequest, Words: "request body: " + mask.Text(bodyWords(err))}
	if tooLong, is := errors.AsType[*http.MaxBytesError](err); is {
		return &refusal.Error{Status: http.StatusRequestEntityTooLarge, Words: "the request body is too long", Hint: mask.Sprintf("send at most %d bytes at a time", tooLong.Limit)}
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
	Name   string         `json:"name" kind:"ours"`
	From   access.From    `json:"from"`
	Scopes []access.Scope `json:"scopes"`
}

func (a admin) whoami(ctx context.Context, _ None) (WhoView, error) {
	who, _ := access.WhoOf(ctx)
	return WhoView{who.Name, who.From, slices.Clone(who.Scopes)}, nil
}
