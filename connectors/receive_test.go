package connectors_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// open takes requests from anybody, so that tests speak of bodies alone.
const openVerify = "verify: {kind: none}\n"

func TestWhatIsNotTakenIsRefusedInWords(t *testing.T) {
	json := []string{"Content-Type", "application/json"}
	tests := map[string]struct {
		config string
		r      connectors.Request
		status int
		want   string
	}{
		"another method": {openVerify, with(request(testBody), func(r *connectors.Request) { r.Method = http.MethodDelete }), 405, "method: the method is DELETE, and events come by POST"},
		"a large body":   {openVerify + "body: {max_bytes: 10B}", request(testBody), 413, "size: the body has 64 bytes, more than 10"},
		"another content type": {
			openVerify + "body: {accept: [json]}", request("a=1", "Content-Type", "application/x-www-form-urlencoded"), 415,
			"content: the content type is application/x-www-form-urlencoded, and this connector takes only json",
		},
		"an empty body":                {openVerify, request(" \r\n", json...), 400, "body: the body is empty"},
		"broken JSON":                  {openVerify, request(`{"a": [1, 2}`, json...), 400, `body: the body is not JSON: byte 12: a comma or ']' should be here`},
		"single quotes":                {openVerify, request(`{'a': 1}`, json...), 400, `body: the body is not JSON: byte 2: a single quote where JSON wants a double one`},
		"a bare text":                  {openVerify, request(`"hello"`, json...), 400, "body: the body is one JSON text without fields"},
		"a bare number":                {openVerify, request(`42`, json...), 400, "body: the body is one JSON value without fields"},
		"plain text":                   {openVerify, request("Hello, World!", "Content-Type", "text/plain"), 400, "body: the body is plain text, neither JSON nor a form"},
		"a broken form":                {openVerify, request("a=%zz", "Content-Type", "application/x-www-form-urlencoded"), 400, `body: the body is no form: the value of field 1 has a % that begins no escape`},
		"broken XML":                   {openVerify, request("<a><b></a>", "Content-Type", "text/xml"), 400, "body: the body is broken XML in line 1"},
		"multipart without a boundary": {openVerify, request("x", "Content-Type", "multipart/form-data"), 400, "body: the body is multipart, but its content type names no boundary"},
		"a cut multipart":              {openVerify, request("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1", "Content-Type", "multipart/form-data; boundary=b"), 400, "body: the body is broken multipart at part 1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := connector(t, tt.config).Receive(tt.r)
			rejected := rejectedBy(t, err)
			if rejected == nil || rejected.Error() != tt.want || rejected.Status != tt.status || rejected.Public != "rejected" {
				t.Errorf("Receive: %v (%+v), want %d %s", err, rejected, tt.status, tt.want)
			}
			if rejected != nil && tt.status == 405 && len(rejected.Allow) == 0 {
				t.Error("405 without the methods that are taken")
			}
		})
	}
}

func with(r connectors.Request, change func(*connectors.Request)) connectors.Request {
	change(&r)
	return r
}

// payloads are the payloads of a body's events under a connector that takes anything.
func payloads(t *testing.T, config string, r connectors.Request) []string {
	t.Helper()
	got, err := connector(t, openVerify+config).Receive(r)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range got.Events {
		out = append(out, string(e.Payload))
	}
	return out
}

func TestBodiesOfEverySort(t *testing.T) {
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	const boundary = "--b\r\nContent-Disposition: form-data; name=\"raw\"\r\n\r\n{\"q3_phone\":{\"full\":\"+44\"}}\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nabc\r\n--b--\r\n"
	tests := map[string]struct {
		config string
		r      connectors.Request
		want   []string
	}{
		"JSON stays as it came":                 {"", request("{ \"a\" : 1.10, \"id\": 98765432109876543210 }\n"), []string{`{ "a" : 1.10, "id": 98765432109876543210 }`}},
		"a mark in front of JSON":               {"", request("\ufeff{\"a\":1}"), []string{`{"a":1}`}},
		"JSON under a wrong name":               {"", request(`{"a":1}`, "Content-Type", "text/plain"), []string{`{"a":1}`}},
		"JSON of a vendor":                      {"body: {accept: [json]}", request(`{"a":1}`, "Content-Type", "application/vnd.api+json; charset=utf-8"), []string{`{"a":1}`}},
		"an empty body where that is an object": {"body: {empty: object}", request(""), []string{`{}`}},
		"a form":                                {"", request("a=1&b=x+y%26z&c=", form...), []string{`{"a":"1","b":"x y&z","c":""}`}},
		"a form without its name":               {"", request("a=1&b=2"), []string{`{"a":"1","b":"2"}`}},
		"brackets":                              {"", request("contact%5Bfields%5D%5B12%5D=x&contact[email]=m&tags[]=a&tags[]=b&rows[0][n]=1&rows[1][n]=2", form...), []string{`{"contact":{"fields":{"12":"x"},"email":"m"},"tags":["a","b"],"rows":[{"n":"1"},{"n":"2"}]}`}},
		"brackets left flat":                    {"body: {form_nesting: flat}", request("a[b]=1", form...), []string{`{"a[b]":"1"}`}},
		"what only looks like brackets":         {"", request("a]=1&[b]=2&c[=3&d[e]f=4&g[[h]]=5", form...), []string{`{"a]":"1","[b]":"2","c[":"3","d[e]f":"4","g[[h]]":"5"}`}},
		"repeated fields, the last":             {"", request("a=1&a=2", form...), []string{`{"a":"2"}`}},
		"repeated fields, the first":            {"body: {repeated: first}", request("a=1&a=2", form...), []string{`{"a":"1"}`}},
		"repeated fields, all":                  {"body: {repeated: all}", request("a=1&a=2&a=3", form...), []string{`{"a":["1","2","3"]}`}},
		"a text that becomes an object":         {"", request("a=1&a[b]=2", form...), []string{`{"a":{"b":"2"}}`}},
		"JSON inside a field of multipart, and a file": {
			"body: {json_in: [raw]}", request(boundary, "Content-Type", "multipart/form-data; boundary=b"),
			[]string{`{"raw":{"q3_phone":{"full":"+44"}},"file":{"filename":"a.txt","type":"text/plain","bytes":3}}`},
		},
		"JSON inside JSON":          {"body: {json_in: [data.inner]}", request(`{"data":{"inner":"{\"a\":[1]}"}}`), []string{`{"data":{"inner":{"a":[1]}}}`}},
		"no JSON where JSON may be": {"body: {json_in: [inner]}", request(`{"inner":"{oops"}`), []string{`{"inner":"{oops"}`}},
		"XML with prefixes and a mark": {
			"", request("\ufeff<?xml version=\"1.0\"?><s:E xmlns:s=\"u\"><s:B a=\"1\"><x>é</x><x>2</x><y k=\"v\">t</y><z/></s:B></s:E>", "Content-Type", "text/xml"),
			[]string{`{"E":{"B":{"@a":"1","x":["é","2"],"y":{"@k":"v","#text":"t"},"z":""}}}`},
		},
		"XML in an older character set":   {"", request("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xe9</a>", "Content-Type", "application/xml"), []string{`{"a":"é"}`}},
		"plain text where that is wanted": {"body: {content: text}\nmap: {form.name: .}", request("Hello, World!", "Content-Type", "text/plain"), []string{"Hello, World!"}},
		"items of a list":                 {"items: '[*]'", request(` [ {"a":1} , {"a":2}] `), []string{`{"a":1}`, `{"a":2}`}},
		"items deep inside":               {"items: 'e[*].c[*].v'", request(`{"e":[{"c":[{"v":{"a":1}},{"x":0}]},{"c":[{"v":{"a":2}}]}]}`), []string{`{"a":1}`, `{"a":2}`}},
		"an object where a list may be":   {"items: '[*]'", request(`{"a":1}`), []string{`{"a":1}`}},
		"an empty batch":                  {"items: 'e[*]'", request(`{"e":[]}`), nil},
		"no batch at all":                 {"items: 'e[*]'", request(`{"f":1}`), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, payloads(t, tt.config, tt.r)); diff != "" {
				t.Errorf("payloads (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHandshakesAreAnsweredWithoutProofAndLeadToNothing(t *testing.T) {
	get := func(method, query string) connectors.Request {
		r := request("")
		r.Method, r.RawQuery = method, query
		return r
	}
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	tests := map[string]struct {
		preset string
		r      connectors.Request
		want   connectors.Reply
		name   string
		stage  string // where it ends if it is none
	}{
		"WooCommerce's ping":            {preset: "woocommerce", r: request("webhook_id=42", form...), name: "ping", want: connectors.Reply{Status: 200}},
		"a ping with more in it":        {preset: "woocommerce", r: request("webhook_id=42&order=1", form...), stage: "verify"},
		"a ping twice in one":           {preset: "woocommerce", r: request("webhook_id=42&webhook_id=43", form...), stage: "verify"},
		"Mailchimp's visit":             {preset: "mailchimp", r: get("GET", ""), name: "visit", want: connectors.Reply{Status: 200}},
		"Intercom's look":               {preset: "intercom", r: get("HEAD", ""), name: "head", want: connectors.Reply{Status: 200}},
		"Facebook's challenge":          {preset: "facebook_leads", r: get("GET", "hub.mode=subscribe&hub.challenge=77&hub.verify_token=verify-"+testSecret), name: "challenge", want: connectors.Reply{Status: 200, ContentType: "text/plain", Body: []byte("77")}},
		"a challenge with a wrong word": {preset: "facebook_leads", r: get("GET", "hub.mode=subscribe&hub.challenge=77&hub.verify_token=guess"), stage: "verify"},
		"monday's challenge":            {preset: "monday", r: request(`{"challenge":"a\"b</script>"}`, "Content-Type", "application/json"), name: "challenge", want: connectors.Reply{Status: 200, ContentType: "application/json", Body: []byte(`{"challenge":"a\"b</script>"}`)}},
		"a challenge that is none":      {preset: "monday", r: request(`{"challenge":""}`, "Content-Type", "application/json"), stage: "verify"},
		"a browser asking for CORS":     {preset: "cartflows", r: get("OPTIONS", ""), name: "preflight", want: connectors.Reply{Status: 204}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			con := mustCompile(t, tt.preset, ownConfig(t, tt.preset, testSecret), connectors.Options{})
			got, err := con.Receive(tt.r)
			if rejected := rejectedBy(t, err); rejected != nil {
				if rejected.Stage != tt.stage {
					t.Errorf("Receive: %v, want it to end at %q", err, tt.stage)
				}
				return
			}
			if tt.stage != "" || got.Handshake != tt.name || len(got.Events) != 0 {
				t.Fatalf("Receive = %+v", got)
			}
			got.Reply.Header = nil
			if diff := cmp.Diff(tt.want, got.Reply); diff != "" {
				t.Errorf("reply (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRepliesAreWhatTheSenderWants(t *testing.T) {
	con, r := signedSample(t, "cartflows", "abandoned")
	got, err := con.Receive(r)
	if err != nil {
		t.Fatal(err)
	}
	want := connectors.Reply{Status: 200, ContentType: "application/json", Body: []byte(`{"status":"success"}`), Header: map[string]string{"Access-Control-Allow-Origin": "*"}}
	if diff := cmp.Diff(want, got.Reply); diff != "" {
		t.Errorf("CartFlows (-want +got):\n%s", diff)
	}
	con, r = signedSample(t, "salesforce", "lead")
	if got, err = con.Receive(r); err != nil || !strings.Contains(string(got.Reply.Body), "<Ack>true</Ack>") || got.Reply.ContentType != "text/xml; charset=utf-8" {
		t.Errorf("Salesforce: %s %s %v", got.Reply.ContentType, got.Reply.Body, err)
	}
	con, r = signedSample(t, "shopify", "checkout")
	if got, err = con.Receive(r); err != nil || got.Reply.Status != 200 || len(got.Reply.Body) != 0 {
		t.Errorf("Shopify: %+v %v", got.Reply, err)
	}
}

func TestWhatTellsEventsApart(t *testing.T) {
	key := func(config, body string, headers ...string) string {
		t.Helper()
		got, err := connector(t, openVerify+config).Receive(request(body, headers...))
		if err != nil || len(got.Events) != 1 {
			t.Fatalf("Receive = %+v, %v", got, err)
		}
		return got.Events[0].DedupeKey
	}
	const parts = "event: {id: [a, b, c?]}"
	tests := map[string]struct{ got, want string }{
		"a path":                  {key("event: {id: id}", `{"id":98765432109876543210}`), "98765432109876543210"},
		"a header":                {key("event: {id: 'header:X-Id'}", `{}`, "X-Id", "h1"), "h1"},
		"one or the other":        {key("event: {id: ['x else header:X-Id']}", `{}`, "X-Id", "h1"), "h1"},
		"parts":                   {key(parts, `{"a":1,"b":2,"c":3}`), "1:2:3"},
		"an optional one missing": {key(parts, `{"a":1,"b":2}`), "1:2"},
		"dedupe of one's own":     {key("event: {id: id, type: t}\ndedupe: {key: [event.type, event.id, more]}", `{"id":"i","t":"T","more":"m"}`), "T:i:m"},
	}
	for name, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", name, tt.got, tt.want)
		}
	}
	if a, b := key(parts, `{"a":1}`), key(parts, `{"a":1,"z":0}`); a == b || !strings.HasPrefix(a, "1::sha256-") {
		t.Errorf("a missing part must bring the hash: %q, %q", a, b)
	}
	if a, b := key("", `{"a":1}`), key("", ` {"a":1} `); a != b || !strings.HasPrefix(a, "sha256-") {
		t.Errorf("without an id the hash of the item counts: %q, %q", a, b)
	}
	if long := key("event: {id: id}", `{"id":"`+strings.Repeat("x", 500)+`"}`); len(long) > 120 {
		t.Errorf("a long id is hashed, this has %d bytes", len(long))
	}
}

// The items of a batch are events of their own, also where the id stands around them; and a copy of
// the request is known by all of them.
func TestItemsOfOneRequestAreToldApart(t *testing.T) {
	const body = `{"batch":"b1","type":"cart","list":[{"t":"x","id":"1","n":1},{"t":"x","id":"1","n":2},{"t":"x","n":3}]}`
	for config, want := range map[string][]string{ // h is the hash of the item
		"event: {id: 'header:X-Id'}":                                       {"d1:h", "d1:h", "d1:h"},
		"event: {id: ['query:q']}":                                         {"q1:h", "q1:h", "q1:h"},
		"event: {id: 'root:batch'}":                                        {"b1:h", "b1:h", "b1:h"},
		"event: {id: ['root:batch', 'header:X-Id']}":                       {"b1:d1:h", "b1:d1:h", "b1:d1:h"},
		"event: {id: ['{root:type}-{header:X-Id}']}":                       {"cart-d1:h", "cart-d1:h", "cart-d1:h"},
		"event: {id: [\"'always'\"]}":                                      {"always:h", "always:h", "always:h"},
		"event: {type: t, id: ['header:X-Id', t]}":                         {"d1:x:h", "d1:x:h", "d1:x:h"},
		"event: {type: '{root:type}.{t}', id: ['{header:X-Id}.{t}']}":      {"d1.x:h", "d1.x:h", "d1.x:h"},
		"event: {id: ['header:X-Id', 'id?']}":                              {"d1:1", "d1:1", "d1:h"},
		"event: {id: ['id else header:X-Id']}":                             {"1", "1", "d1:h"},
		"event: {id: ['header:X-Id', n]}":                                  {"d1:1", "d1:2", "d1:3"},
		"event: {id: ['{header:X-Id}-{n}']}":                               {"d1-1", "d1-2", "d1-3"},
		"event: {id: n}\ndedupe: {key: ['header:X-Id', event.id]}":         {"d1:1", "d1:2", "d1:3"},
		"event: {id: n, type: t}\ndedupe: {key: ['header:X-Id', n]}":       {"d1:1", "d1:2", "d1:3"},
		"event: {id: n, type: t}\ndedupe: {key: [event.type, root:batch]}": {"x:b1:h", "x:b1:h", "x:b1:h"},
	} {
		con := connector(t, openVerify+"items: 'list[*]'\n"+config)
		r := request(body, "X-Id", "d1")
		r.RawQuery = "q=q1"
		var first []string
		for range 2 {
			got, err := con.Receive(r)
			if err != nil || len(got.Events) != 3 {
				t.Fatalf("%s: %+v, %v", config, got, err)
			}
			var keys, shown []string
			for _, e := range got.Events {
				before, hash, found := strings.Cut(e.DedupeKey, "sha256-")
				if found && len(hash) == 64 {
					before += "h"
				}
				keys, shown = append(keys, e.DedupeKey), append(shown, before)
			}
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Errorf("%s (-want +got):\n%s", config, diff)
			}
			if first == nil {
				first = slices.Clone(keys)
			}
			if diff := cmp.Diff(first, keys); diff != "" {
				t.Errorf("%s: a copy has other keys:\n%s", config, diff)
			}
			slices.Sort(keys)
			if strings.HasSuffix(want[0], "h") && len(slices.Compact(keys)) != 3 {
				t.Errorf("%s: three items have the keys %q", config, keys)
			}
		}
	}
}

func TestTwoOrdersOfOneSecondAreTwoEvents(t *testing.T) {
	con := mustCompile(t, "woocommerce", ownConfig(t, "woocommerce", testSecret), connectors.Options{})
	keys := map[string]bool{}
	for _, body := range []string{
		`{"id":1,"date_modified_gmt":"2026-11-20T09:00:00","number":"1"}`,
		`{"id":2,"date_modified_gmt":"2026-11-20T09:00:00","number":"1"}`,
		`{"id":1,"date_modified_gmt":"2026-11-20T09:00:01","number":"1"}`,
		`{"id":1,"number":"1"}`,
	} {
		r := request(body, "X-WC-Webhook-Topic", "order.updated", "X-WC-Webhook-Delivery-ID", "the-same", "Content-Type", "application/json")
		signed, err := con.Sign(r)
		if err != nil {
			t.Fatal(err)
		}
		r = signed
		got, err := con.Receive(r)
		if err != nil {
			t.Fatal(err)
		}
		keys[got.Events[0].DedupeKey] = true
	}
	if len(keys) != 4 {
		t.Errorf("4 events have the keys %v", keys)
	}
}

func TestKindsOfSendersWordsThatNobodyTranslated(t *testing.T) {
	for topic, want := range map[string]string{
		"products_create":    "products.create",
		"Products/Create":    "products.create",
		"productsCreate":     "products.create",
		"HTMLPageSeen":       "html.page.seen",
		"zen:event-type:x.y": "zen.event.type.x.y",
		"  ":                 "unknown",
		"///":                "unknown",
		"Bestellung Über":    "bestellung.über",
	} {
		got, err := connector(t, openVerify+"event: {type: t}").Receive(request(fmt.Sprintf(`{"t":%q}`, topic)))
		if err != nil {
			t.Fatal(err)
		}
		if kind := got.Events[0].Kind; kind != want {
			t.Errorf("%q becomes %q, want %q", topic, kind, want)
		}
	}
}

func TestTimesOfEvents(t *testing.T) {
	at := time.Date(2026, 11, 20, 8, 30, 0, 0, time.UTC)
	for written, want := range map[string]time.Time{
		`"2026-11-20T08:30:00Z"`:          at,
		`"2026-11-20T03:30:00-05:00"`:     at,
		`"2026-11-20T08:30:00.000Z"`:      at,
		`"2026-11-20T08:30:00"`:           at,
		`"2026-11-20 08:30:00"`:           at,
		`"2026-11-20 08:30:00+00:00"`:     at,
		`"Fri, 20 Nov 2026 08:30:00 GMT"`: at,
		`1795163400`:                      at,
		`1795163400000`:                   at,
		`"1795163400.000"`:                at,
		`1795163400000000`:                at,
		`"/Date(1795163400000)/"`:         at,
		`"/Date(1795163400000-0700)/"`:    at,
		`"2026-11-20"`:                    time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
		`0`:                               {},
		`"soon"`:                          {},
		`20261120`:                        {},
		`null`:                            {},
	} {
		got, err := connector(t, openVerify+"event: {time: at}").Receive(request(`{"at":` + written + `}`))
		if err != nil {
			t.Fatal(err)
		}
		e := got.Events[0]
		if !e.OccurredAt.Equal(want) || (want.IsZero() != e.OccurredAt.IsZero()) || !e.ReceivedAt.Equal(mutationNow) {
			t.Errorf("%s is read as %s, want %s", written, e.OccurredAt, want)
		}
	}
	zoned := decodeConfig(t, openVerify+"event: {time: at, time_zone: Europe/Berlin}")
	got, err := mustCompile(t, "x", zoned, connectors.Options{}).Receive(request(`{"at":"2026-11-20T09:30:00"}`))
	if err != nil || !got.Events[0].OccurredAt.Equal(at) {
		t.Errorf("a time without zone in Berlin: %s, %v", got.Events[0].OccurredAt, err)
	}
}

// A batch keeps its order, and what an item lacks is not taken from the one before.
func TestItemsDoNotLeakIntoEachOther(t *testing.T) {
	con := connector(t, openVerify+"items: '[*]'\nevent: {type: type, id: id}\nmap: {phone: phone, name: name, cart.total: total, cart.items: {each: lines, title: t, price: p}}")
	got, err := con.Receive(request(`[{"id":"1","type":"a","phone":"020 7946 0958","name":"Ann Bee","total":"9.90","lines":[{"t":"x","p":1},{"t":"y"}]},{"id":"2"}]`))
	if err != nil {
		t.Fatal(err)
	}
	second := got.Events[1]
	if got.Events[0].Contact.Phone != "442079460958" || second.Contact.Phone != "" || second.Contact.Name != "" || second.Cart.Total.Reported() || second.Cart.Items != nil || second.Kind != "unknown" {
		t.Errorf("the second event is %+v", second)
	}
	if items := got.Events[0].Cart.Items; len(items) != 2 || items[1].Price.Reported() || items[0].Quantity != 1 {
		t.Errorf("the items are %+v", items)
	}
}

func TestAThousandEventsInOneRequest(t *testing.T) {
	var b strings.Builder
	b.WriteByte('[')
	for i := range 1000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"eventId":%d,"subscriptionId":7,"portalId":1,"occurredAt":1795163400000,"subscriptionType":"contact.creation","objectId":%d}`, i, i)
	}
	b.WriteByte(']')
	con := mustCompile(t, "hubspot", connectors.Config{Secret: secret.New(testSecret)}, connectors.Options{})
	r := request(b.String(), "Content-Type", "application/json")
	signed, err := con.Sign(r)
	if err != nil {
		t.Fatal(err)
	}
	r = signed
	got, err := con.Receive(r)
	if err != nil || len(got.Events) != 1000 {
		t.Fatalf("%d events, %v", len(got.Events), err)
	}
	keys := map[string]bool{}
	for _, e := range got.Events {
		keys[e.DedupeKey] = true
	}
	if len(keys) != 1000 {
		t.Errorf("1000 events have %d keys", len(keys))
	}
}

func TestTextInPayloadsStaysText(t *testing.T) {
	con := connector(t, openVerify+"event: {type: type}\nmap: {name: name, phone: phone}\nreply: {type: application/json, json: {hello: '{{body.name}}'}}")
	got, err := con.Receive(request(`{"type":"a","name":"{{ raw.secret }} ${HOME}","phone":"+442079460958"}`))
	if err != nil {
		t.Fatal(err)
	}
	if e := got.Events[0]; e.Contact.Name != "{{ raw.secret }} ${HOME}" {
		t.Errorf("the name is %q", e.Contact.Name)
	}
	if string(got.Reply.Body) != `{"hello":"{{ raw.secret }} ${HOME}"}` {
		t.Errorf("the reply is %s", got.Reply.Body)
	}
}

func TestSamplesBelongTogetherByTheirNumber(t *testing.T) {
	con := mustCompile(t, "shopify", connectors.Config{Secret: secret.New(testSecret)}, connectors.Options{})
	events := map[string]messaging.Event{}
	for _, s := range con.SamplesAt(mutationNow, 4242) {
		got, err := con.Receive(signSample(t, con, s, mutationNow))
		if err != nil {
			t.Fatal(err)
		}
		events[s.Name] = got.Events[0]
	}
	cart, order := events["checkout"], events["order"]
	if cart.Cart.ID == "" || cart.Cart.ID != order.Cart.ID {
		t.Errorf("the cart is %q, its order's %q", cart.Cart.ID, order.Cart.ID)
	}
	if cart.DedupeKey == order.DedupeKey || !cart.OccurredAt.Equal(mutationNow) {
		t.Errorf("keys %q and %q, time %s", cart.DedupeKey, order.DedupeKey, cart.OccurredAt)
	}
	if a, b := con.Samples(), con.Samples(); cmp.Diff(a, b) != "" {
		t.Error("Samples differ from call to call")
	}
}

func FuzzBodies(f *testing.F) {
	var all []*connectors.Connector
	for _, config := range []string{
		"event: {type: type, id: id}\nmap: {phone: [phone, 'list[*].phone'], cart.items: {each: items, title: t, price: p}, form.answers: .}",
		"items: '[*]'\nbody: {json_in: [inner, a.b], repeated: all}",
		"items: 'e[*].c[*]'\nevent: {kinds: [{when: ['a > 1'], kind: b}]}",
	} {
		all = append(all, connector(f, openVerify+config))
	}
	for _, s := range []string{testBody, `[{"a":[]}]`, "a[b][c]=1&a[]=2", "<a><b>1</b></a>", "--b\r\n\r\n", `{"inner":"{}"}`, "\ufeff{}", `{"e":[{"c":[{}]}]}`, strings.Repeat("a[", 50) + "=1"} {
		for _, typ := range []string{"", "application/json", "application/x-www-form-urlencoded", "text/xml", "multipart/form-data; boundary=b"} {
			f.Add(s, typ)
		}
	}
	f.Fuzz(func(t *testing.T, body, typ string) {
		for _, con := range all {
			got, err := con.Receive(request(body, "Content-Type", typ))
			if rejected := rejectedBy(t, err); rejected != nil {
				if rejected.Status < 400 || rejected.Reason == "" || rejected.Stage == "" {
					t.Fatalf("%q: %+v", body, rejected)
				}
				continue
			}
			for _, e := range got.Events {
				if e.DedupeKey == "" || e.Kind == "" || len(e.Payload) == 0 {
					t.Fatalf("%q: %+v", body, e)
				}
			}
		}
	})
}
