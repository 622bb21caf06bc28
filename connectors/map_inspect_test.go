package connectors_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/connectors/mapping"
)

func TestInspectSaysWhichPathFilledWhichField(t *testing.T) {
	con := connector(t, openVerify+`
items: "[*]"
map:
  phone: [mobile, "tel[*]"]
  name: ["{first} {last}", {default: friend}]
  country: {path: land, default: GB}
  consent: optin
  cart.items: {each: lines, title: t}
`)
	body := `[{"mobile":null,"tel":["","020 7946 0958"],"first":"A","last":"B","optin":"yes","lines":[{"t":"a"},{"t":"b"}]},{"land":"DE","optin":"no"}]`
	got, readings, err := con.Inspect(request(body, "Content-Type", "application/json"))
	if err != nil || len(got.Events) != 2 {
		t.Fatalf("Inspect = %+v, %v", got, err)
	}
	origins := make([][]mapping.Origin, len(readings))
	for i := range readings {
		origins[i] = readings[i].Fields
	}
	want := [][]mapping.Origin{
		{
			{Field: "contact.country", Path: "GB", Value: "GB"},
			{Field: "contact.name", Path: "{first} {last}", Value: "A B"},
			{Field: "contact.accepts_marketing", Path: "optin", Value: "yes"},
			{Field: "contact.phone", Path: "tel[*]", Value: "442079460958", Body: "020 7946 0958"},
			{Field: "cart.items", Path: "lines", Value: "2 items"},
		},
		{
			{Field: "contact.country", Path: "land", Value: "DE"},
			{Field: "contact.name", Path: "friend", Value: "friend"},
			{Field: "contact.accepts_marketing", Path: "optin", Value: "no"},
		},
	}
	if diff := cmp.Diff(want, origins); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	plain, err := con.Receive(request(body, "Content-Type", "application/json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fmt.Sprintf("%+v", plain.Events), fmt.Sprintf("%+v", got.Events)); diff != "" {
		t.Errorf("Inspect makes other events than Receive (-Receive +Inspect):\n%s", diff)
	}
}

func TestTheURLToPasteHasTheTokenWhereItTravelsInIt(t *testing.T) {
	tests := map[string]struct{ config, url, token string }{
		"a signature":            {"verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X, encoding: hex}, parts: [body]}", "https://h.example/hooks/x", ""},
		"a parameter":            {"verify: {kind: token, from: query, field: key}", "https://h.example/hooks/x?key=YOUR_SECRET", ""},
		"the path":               {"verify: {kind: token, from: path}", "https://h.example/hooks/x/YOUR_SECRET", ""},
		"a header":               {"verify: {kind: token, from: header, field: X-T}", "https://h.example/hooks/x", ""},
		"a header or the URL":    {"verify: {any_of: [{name: a, kind: token, from: bearer}, {name: b, kind: token, from: query, field: t}]}", "https://h.example/hooks/x", "https://h.example/hooks/x?t=YOUR_SECRET"},
		"a signature and a path": {"verify: {all_of: [{name: a, kind: signed, algorithm: hmac-sha256, signature: {header: X, encoding: hex}, parts: [url, body]}, {name: b, kind: token, from: path}]}", "https://h.example/hooks/x/YOUR_SECRET", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			info := connector(t, tt.config+"\nsecret: "+testSecret).Info()
			if url, token := info.URL("https://h.example/"), info.TokenURL("https://h.example"); url != tt.url || token != tt.token {
				t.Errorf("got %q and %q, want %q and %q", url, token, tt.url, tt.token)
			}
		})
	}
	if i, _ := connectors.PresetInfo("square"); !i.SignsURL() {
		t.Error("Square is not said to sign the URL")
	}
}

// Everything that issue 3 names can be set up by a preset.
func TestEverySystemThatWasPromisedHasAPreset(t *testing.T) {
	for _, name := range []string{
		"shopify", "woocommerce", "cartflows", "bigcommerce", "adobe_commerce", "prestashop", "magento", "hubspot", "salesforce", "salesforce_flow",
		"zoho_crm", "pipedrive", "freshworks", "activecampaign", "klaviyo", "klaviyo_flow", "mailchimp", "customerio", "braze", "segment", "rudderstack",
		"gohighlevel", "intercom", "zendesk", "stripe", "square", "razorpay", "paypal", "calendly", "typeform", "tally", "jotform", "facebook_leads",
		"close", "monday", "copper", "dynamics365", "odoo", "zapier", "make", "n8n", "standardwebhooks", "svix", "generic",
	} {
		info, ok := connectors.PresetInfo(name)
		if !ok {
			t.Errorf("there is no preset %q", name)
			continue
		}
		if info.Setup == "" || info.Verified == "" || len(info.Samples) == 0 || info.Sender == (connectors.Sender{}) {
			t.Errorf("%s lacks steps, what is tested, a sample, or what is known of its sender", name)
		}
		c, _ := connectors.Preset(name)
		if len(c.Event.ID) == 0 && name != "odoo" && name != "cartflows" { // they have nothing to tell two events apart by
			t.Errorf("%s says nothing that tells two events apart", name)
		}
	}
}

func FuzzXML(f *testing.F) {
	con := connector(f, openVerify+"body: {content: xml}\nitems: 'Envelope.Body.n.N[*]'\nmap: {phone: o.Phone, contact.id: o.@type}")
	for _, s := range []string{
		`<Envelope><Body><n><N><o type="a"><Phone>1</Phone></o></N><N/></n></Body></Envelope>`, "\ufeff<?xml version=\"1.0\"?><a/>",
		`<a xmlns:b="c"><b:d/></a>`, `<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, `<a><![CDATA[<b>]]></a>`, "<a>", "</a>", `<a b="1" b="2"/>`, "<a>&#0;</a>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, err := con.Receive(request(body, "Content-Type", "text/xml"))
		if rejected := rejectedBy(t, err); rejected != nil && (rejected.Status < 400 || rejected.Reason == "") {
			t.Fatalf("%q: %+v", body, rejected)
		}
		for _, e := range got.Events {
			if e.DedupeKey == "" || len(e.Payload) == 0 {
				t.Fatalf("%q: %+v", body, e)
			}
		}
	})
}

// Answers repeat parts of requests that nobody has verified yet.
func FuzzAnswersThatRepeatTheRequest(f *testing.F) {
	con := connector(f, openVerify+`
handshake:
  - {name: text, when: {query: {challenge: "*"}}, reply: {type: text/plain, body: "a{{query.challenge}}b{{header.X-Name}}"}}
  - {name: json, when: {json: {has: challenge}}, reply: {json: {challenge: "{{body.challenge}}"}}}
`)
	for _, s := range []string{"a", "{{query.challenge}}", `{"challenge":"{{header.X-Name}}"}`, `{"challenge":{"a":[1]}}`, "\"\n<", "{{", "}}"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		r := request(text, "Content-Type", "application/json")
		r.Header["X-Name"] = []string{name}
		got, err := con.Receive(r)
		rejectedBy(t, err)
		checkAnswer(t, got)
		r = request("{}", "Content-Type", "application/json")
		r.RawQuery = "challenge=" + url.QueryEscape(text)
		r.Header["X-Name"] = []string{name}
		got, err = con.Receive(r)
		rejectedBy(t, err)
		checkAnswer(t, got)
		if got.Handshake != "text" {
			return
		}
		body := string(got.Reply.Body)
		if !utf8.ValidString(body) || len(body) > 2*1024+2 {
			t.Fatalf("%q and %q became %d bytes: %q", text, name, len(body), body)
		}
		// What an honest sender would send comes back as it is, whatever stands in it.
		if len(text) <= 1024 && len(name) <= 1024 && utf8.ValidString(text) && utf8.ValidString(name) && body != "a"+text+"b"+name {
			t.Fatalf("%q and %q became %q", text, name, body)
		}
	})
}

func checkAnswer(t *testing.T, got connectors.Received) {
	t.Helper()
	if got.Handshake != "" && len(got.Events) > 0 {
		t.Fatal("a handshake made an event")
	}
	if got.Handshake == "json" && !json.Valid(got.Reply.Body) {
		t.Fatalf("the answer is no JSON: %q", got.Reply.Body)
	}
}
