package connectors

import (
	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/optout"
	"github.com/nudgewire/nudgewire/internal/phones"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A Config is one entry under connectors: in config.yaml or, with more of the describing
// fields, a preset. An entry that names a preset, or is named as one, starts from it: each
// field it sets itself replaces the preset's.
type Config struct {
	Preset   string `yaml:"preset" doc:"The preset to start from; without it the entry's own name." example:"woocommerce"`
	Title    string `yaml:"title" doc:"The sender's name for people."`
	Version  int    `yaml:"version" doc:"Counts the changes of a preset."`
	Docs     string `yaml:"docs" doc:"Link to the sender's page about its webhooks."`
	Setup    string `yaml:"setup" doc:"What to do at the sender, step by step, for people."`
	Verified string `yaml:"verified" doc:"What was tested of the preset, and what only its makers' or others' text says."`
	Duties   string `yaml:"duties" doc:"What the sender's requests ask for that the operator has to do, because nothing here does it."`

	Secret      secret.Secret   `yaml:"secret" doc:"What verifies requests: the signing secret, the token, or user:password." example:"${SHOPIFY_WEBHOOK_SECRET}"`
	Secrets     []secret.Secret `yaml:"secrets" doc:"Several secrets, all accepted, while one is being replaced by another; the newest first."`
	VerifyToken secret.Secret   `yaml:"verify_token" doc:"What the sender repeats when it tries out the URL, where it asks for such a word."`
	Account     string          `yaml:"account" doc:"The account of the service that sends what its events cause, where a trigger names none: a name under accounts, or api." example:"brand-b"`
	Defaults    Defaults        `yaml:"defaults" doc:"What holds for this sender's contacts where a payload does not say it."`
	Phones      phones.Spelling `yaml:"phones" validate:"oneof=national international" doc:"How the sender writes phone numbers that have no plus sign: national as they are dialled inside the country, international with their country code, as messaging networks do. Without it a number that could be of the contact's country and is one of another country is not read." example:"international"`

	Address     string                           `yaml:"address" doc:"The whole URL as it was registered at the sender, where a proxy in front of the daemon changes it; server.public_url and /hooks/<name> unless set. Senders that sign the URL sign this one." example:"https://hooks.example.com/in/shop"`
	Methods     []string                         `yaml:"methods" validate:"oneof=POST PUT PATCH GET" doc:"HTTP methods of events; POST unless said otherwise."`
	Verify      *Verify                          `yaml:"verify" doc:"How a request shows where it comes from."`
	Handshake   []Handshake                      `yaml:"handshake" doc:"Requests that only try out the URL: answered without verification, leading to nothing."`
	Rate        units.Rate                       `yaml:"rate" validate:"min=1/min,max=10000/s" doc:"Most webhooks of this sender that are taken, ten seconds' worth at once; more are answered 429. Not limited unless set, but 10/s where requests show nothing: kind none and mode monitor." example:"50/s"`
	ClientCA    string                           `yaml:"client_ca" doc:"File (PEM) with certificates of authorities: only who connects with a certificate that one of them signed is taken, beside what verify asks for. Needs server.tls." example:"/etc/nudgewire/crm-ca.pem"`
	Body        Body                             `yaml:"body" doc:"How the body is read."`
	Items       []string                         `yaml:"items" doc:"Paths to the items of a batch; each becomes one event, of all paths that the body has; event.group is the name that led to it. Of a list, or one object a line, each is such a body. Without it the body is one event, and a list or one object a line is one each; \".\" makes one event of a list, too." example:"[*]"`
	Event       EventRule                        `yaml:"event" doc:"What happened, when, and what distinguishes one event from another."`
	Dedupe      Dedupe                           `yaml:"dedupe" doc:"When two requests are the same event."`
	Map         mapping.Mapping                  `yaml:"map" doc:"Where the fields of a contact, cart, order, deal or form are in an item." example:"{phone: customer.phone, cart.total: total_price}"`
	MapFor      yamlpos.Ordered[mapping.Mapping] `yaml:"map_for" doc:"More of map, for some kinds or topics only; * matches any characters. Later ones win." example:"{order.*: {cart.id: checkout_token}}"`
	RejectIf    []RejectRule                     `yaml:"reject_if" doc:"Bodies that cannot be what they are called: the request is rejected with 400 and leaves a trace. [] lifts those of a preset."`
	Requires    []RequireRule                    `yaml:"requires" doc:"What a body must have for the sender's word for it, where that word is not signed: the request is rejected with 400 otherwise, and leaves a trace. [] lifts those of a preset."`
	SkipIf      []string                         `yaml:"skip_if" doc:"Items for which one of these holds become no event." example:"test == true"`
	TestHeader  yamlpos.Ordered[string]          `yaml:"test_header" doc:"Headers by which the sender says that a request is only a test. A proven one is stored, its kind behind webhook_test, however old the time in it is, and starts nothing: such a header is not signed." example:"{X-Shopify-Test: 'true'}"`
	Reply       *ReplyRule                       `yaml:"reply" doc:"The answer to a request that was taken; 200 without a body unless said otherwise."`
	SilentAfter units.Duration                   `yaml:"silent_after" validate:"min=1m,max=90d" doc:"No event for longer than this is reported: a warning in the log, and in status and doctor. Without it silence is not judged." example:"24h"`
	OptOut      optout.OptOut                    `yaml:"opt_out" doc:"Whether the sender's word on who wants messages is carried out: contact.unsubscribed, and a message.received that says STOP or the like, block the contact until contact.subscribed or START comes later, or a person allows it. on, off, or on with your own words: {stop: [...], start: [...], help: [...]}; a star at the end of a word means that more may follow. Default: on." example:"{stop: [STOP, 'BAJA *'], start: [START, ALTA], help: [HELP]}"`
	History     History                          `yaml:"history" doc:"What it posts is history: stored, it cancels and stops, and sends nothing. true, or a date until which it is so, in defaults.timezone: for bringing in the orders and contacts of the past." example:"2026-12-01 18:00"`
	Sender      Sender                           `yaml:"sender" doc:"What is known about how the sender waits and repeats."`
	Kinds       []string                         `yaml:"kinds" doc:"More kinds of event than the aliases name that the sender can make, for completion and checks."`
	Open        bool                             `yaml:"open" doc:"The requests are of a shape that somebody chooses: any kind may come, and check warns of none."`
	Samples     []SampleRule                     `yaml:"samples" doc:"Invented requests in the sender's shape, for trying out."`

	Enrich       []EnrichRule  `yaml:"enrich" doc:"What is looked up at the sender's API after the webhook was answered, one after the other, because the webhook leaves it out."`
	Token        secret.Secret `yaml:"token" doc:"What look-ups authenticate with. Without it nothing is looked up." example:"${HUBSPOT_TOKEN}"`
	OAuth        *OAuth        `yaml:"oauth" doc:"For senders whose look-ups need a token that is fetched and renewed."`
	UserAgent    string        `yaml:"user_agent" doc:"How look-ups name who asks, where the sender's API wants to know whose app it is; nudgewire and its version unless set." example:"My app (me@example.com)"`
	APIURL       string        `yaml:"api_url" doc:"The sender's API, for look-ups whose address begins with /." example:"https://www.zohoapis.eu"`
	AllowPrivate bool          `yaml:"allow_private" doc:"Look-ups may go to private and loopback addresses, and by http://."`

	before []mapping.Layer // the maps of the preset this entry starts from
}

// Defaults hold for a sender's contacts where a payload does not say it.
type Defaults struct {
	Country  string `yaml:"country" validate:"country" doc:"Two-letter country that phone numbers without a country code belong to." example:"GB"`
	Language string `yaml:"language" validate:"language" doc:"Language of contacts." example:"en"`
	Timezone string `yaml:"timezone" validate:"timezone" doc:"Time zone of contacts." example:"Europe/London"`
}

// A When is what a request must look like. All that is set must hold; nothing set always does.
type When struct {
	Method []string                `yaml:"method" doc:"One of these methods."`
	Query  yamlpos.Ordered[string] `yaml:"query" doc:"These URL parameters; the value * matches any, $verify_token for the connector's."`
	Header yamlpos.Ordered[string] `yaml:"header" doc:"These headers; the value * matches any."`
	Form   *FormShape              `yaml:"form" doc:"A form body of this shape."`
	JSON   *JSONShape              `yaml:"json" doc:"A JSON body of this shape."`
}

// A FormShape describes a form body.
type FormShape struct {
	Only []string `yaml:"only" validate:"required" doc:"It has exactly these fields."`
}

// A JSONShape describes a JSON body.
type JSONShape struct {
	Has  []string `yaml:"has" doc:"These paths have a value."`
	Only []string `yaml:"only" doc:"It has exactly these fields, each with a value."`
}

// A Handshake is a request that only tries out the URL, and its answer.
type Handshake struct {
	Name  string    `yaml:"name" validate:"required" doc:"What to call it."`
	When  When      `yaml:"when" validate:"required" doc:"How it is recognised."`
	Reply ReplyRule `yaml:"reply" doc:"The answer."`
}

// A ReplyRule is an answer. Body and the values of JSON may repeat parts of the request:
// {{query.name}}, {{header.name}} and {{body.path}}, and nothing else in double braces.
type ReplyRule struct {
	Status  int                     `yaml:"status" validate:"min=200,max=299" doc:"HTTP status; 200 unless said otherwise."`
	Type    string                  `yaml:"type" doc:"Content type of the body."`
	Body    string                  `yaml:"body" doc:"The body, as it is."`
	JSON    yamlpos.Ordered[string] `yaml:"json" doc:"The body as a JSON object with these texts."`
	CORS    string                  `yaml:"cors" doc:"Origins whose pages may read the answer." example:"*"`
	Headers yamlpos.Ordered[string] `yaml:"headers" doc:"More headers."`
}

// A Body says how the body of a request is read.
type Body struct {
	Content     string     `yaml:"content" validate:"oneof=auto json form multipart xml text" doc:"What it is, whatever the content type says; auto goes by content type and then by looks."`
	Accept      []string   `yaml:"accept" validate:"oneof=json form multipart xml text" doc:"Content types that are taken; others are answered 415. A request without a content type is taken; [] lifts what a preset says."`
	Empty       string     `yaml:"empty" validate:"oneof=reject object" doc:"What an empty body is: rejected, or an object without fields."`
	FormNesting string     `yaml:"form_nesting" validate:"oneof=brackets flat" doc:"brackets reads contact[fields][12] as fields inside contact; flat does not."`
	Repeated    string     `yaml:"repeated" validate:"oneof=first last all" doc:"Which of several form fields with one name counts."`
	Charset     string     `yaml:"charset" doc:"Charset of bodies whose content type names none; UTF-8 unless said otherwise. A byte order mark says more than either." example:"ISO-8859-1"`
	LooseNames  bool       `yaml:"loose_names" doc:"Find fields whatever the case of their names and whatever separates the words: Phone Number and phoneNumber for phone_number. A field of the very name counts first."`
	JSONIn      []string   `yaml:"json_in" doc:"Fields that hold JSON written as text." example:"rawRequest"`
	MaxBytes    units.Size `yaml:"max_bytes" doc:"Longest body; server.max_body unless said otherwise." example:"5MB"`
}

// An EventRule says what happened, when, and what distinguishes one event from another.
type EventRule struct {
	Type     []mapping.PathRule      `yaml:"type" doc:"Where the sender's word for it is: a path, header:NAME, {a}.{b} joined, or {path, when}; of several the first that has a value."`
	Kind     string                  `yaml:"kind" doc:"The kind of all events, where the sender has no word for it." example:"form.submitted"`
	Kinds    []KindRule              `yaml:"kinds" doc:"Kinds that depend on more than the sender's word; the first rule that holds decides, before aliases."`
	Aliases  yamlpos.Ordered[string] `yaml:"aliases" doc:"Kinds by the sender's words; * in a word matches any characters, and a word without it goes first." example:"{orders/create: order.created}"`
	ID       []string                `yaml:"id" doc:"What distinguishes events: paths or headers, joined if several; a part may be a else b. With ? behind it a part may be missing; if another one is, none is given, or none is the own one of an item of a batch, the hash of the item counts, too. what_is_read is all that map reads: for senders whose clock has whole seconds, so that two saves of one second are two events."`
	Time     []string                `yaml:"time" doc:"Where the time of the event is; of several the first that can be read."`
	TimeZone string                  `yaml:"time_zone" validate:"timezone" doc:"Zone of times that are written without one; UTC unless said otherwise." example:"Europe/London"`
	TimeUnit string                  `yaml:"time_unit" validate:"oneof=s ms rfc3339 http_date auto" doc:"How it is written; auto knows them all."`
}

// A RejectRule describes an item that is not what it is called, or not what the sender sends.
type RejectRule struct {
	Topic   string   `yaml:"topic" doc:"For these words of the sender only; * matches any characters." example:"orders/*"`
	When    []string `yaml:"when" validate:"required" doc:"Conditions that all hold for such an item." example:"abandoned_checkout_url != null"`
	Because string   `yaml:"because" validate:"required" doc:"The reason, for people."`
}

// A KindRule gives a kind to events for which all of its conditions hold.
type KindRule struct {
	When []string `yaml:"when" validate:"required" doc:"Conditions such as status == won."`
	Kind string   `yaml:"kind" validate:"required" doc:"The kind."`
}

// Dedupe says when two requests are the same event.
type Dedupe struct {
	Key    []string       `yaml:"key" doc:"What makes the key: event.id unless said otherwise; event.type, event.kind and paths may be added."`
	Window units.Duration `yaml:"window" validate:"min=1m,max=30d" doc:"How long an event is remembered, from 1m to 30d; 7d unless said otherwise."`
}

// Sender is what is known about a sender, for people and for doctor; it changes nothing.
type Sender struct {
	Timeout  units.Duration `yaml:"timeout" doc:"How long it waits for the answer."`
	Retries  string         `yaml:"retries" doc:"How often it repeats what was not taken."`
	Disables string         `yaml:"disables" doc:"When it gives the webhook up."`
}

// A SampleRule is an invented request in the sender's shape. In Header and Body <<now>> is the
// time as RFC 3339, <<unix>> and <<millis>> as a number, <<n>> a number that differs from
// request to request, and <<secret>> the connector's first secret.
type SampleRule struct {
	Name   string                  `yaml:"name" validate:"required" doc:"What to call it."`
	Kind   string                  `yaml:"kind" validate:"required" doc:"The kind of the event it becomes."`
	Topic  string                  `yaml:"topic" doc:"The sender's word for it."`
	Page   string                  `yaml:"page" doc:"The sender's page, or another public place, that shows a body of this shape."`
	Method string                  `yaml:"method" doc:"HTTP method; POST unless said otherwise."`
	Header yamlpos.Ordered[string] `yaml:"header" doc:"Headers."`
	Body   string                  `yaml:"body" validate:"required" doc:"The body."`
}
