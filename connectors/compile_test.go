package connectors_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// problems are what Compile says of a config, one a line.
func problemsOf(t testing.TB, name, config string) string {
	t.Helper()
	con, list := connectors.Compile(name, decodeConfig(t, config), connectors.Options{PublicURL: "https://hooks.example.com"})
	var lines []string
	failed := false
	for _, p := range list {
		lines = append(lines, p.String())
		failed = failed || !p.Warning
	}
	if (con == nil) != failed {
		t.Errorf("a connector and an error, or neither: %v", lines)
	}
	return strings.Join(lines, "\n")
}

const goodVerify = "verify: {kind: signed, algorithm: hmac-sha256, signature: {header: X-Signature, encoding: hex}, parts: [body]}\nsecret: 0123456789abcdef0123456789abcdef\n"

func TestUnsafeOrMistakenSettingsAreRefusedWithWords(t *testing.T) {
	tests := map[string]struct{ name, config, want string }{
		"a good one": {"x", goodVerify, ""},
		"no preset and no verifier": {
			"shopfy", "{}",
			`"shopfy" is no preset, and the entry does not say how requests are verified; did you mean the preset "shopify"? Name the entry so, or write preset: shopify`,
		},
		"a misspelt preset": {
			"x", "preset: hubspt",
			`preset: "hubspt" is no preset; did you mean "hubspot"? It is one of ` + presetList(),
		},
		"no secret": {
			"shop-de", "preset: woocommerce",
			`secret: is missing: without it no request can be verified; add secret: ${SHOP_DE_WEBHOOK_SECRET}, and set that variable for the daemon; "nudgewire connectors show woocommerce" says where WooCommerce shows it`,
		},
		"a secret of spaces":         {"x", "preset: shopify\nsecret: '   '", `secret: is empty; copy it again from the sender's page`},
		"a secret of zeros, decoded": {"x", "preset: close\nsecret: '00000000000000000000000000000000'", `secret: is a key of zeros; copy it again from the sender's page`},
		"a secret of zeros":          {"x", "preset: shopify\nsecret: \"\\0\\0\\0\\0\"", `secret: is a key of zeros; copy it again from the sender's page`},
		"a secret that is not hex":   {"x", "preset: close\nsecret: not-hexadecimal", `secret: is not hexadecimal, which this sender's secrets are; copy it again from the sender's page`},
		"a secret that is not base64": {
			"x", "preset: standardwebhooks\nsecret: whsec_%%%",
			`secret: is not base64, which this sender's secrets are (with or without whsec_ in front); it looks like whsec_ followed by letters and digits, or whpk_ for a public key`,
		},
		"a short secret":       {"x", "preset: shopify\nsecret: hush", `warning: secret: is only 4 bytes long and could be guessed; use one of 16 or more`},
		"a secret with a line": {"x", "preset: shopify\nsecret: \"0123456789abcdef\\n\"", `warning: secret: has space around it, which is part of the key; remove the space, unless the sender's secret has it`},
		"the second of secrets": {
			"x", "preset: shopify\nsecrets: [0123456789abcdef0123456789abcdef, ' ']",
			`secrets[1]: is empty; copy it again from the sender's page`,
		},
		"kind none":           {"x", "verify: {kind: none}", `warning: verify.kind: none takes requests from anybody who knows the URL; use a token if the sender can send one: in a header, or in the URL`},
		"verify without kind": {"x", "verify: {mode: enforce}", `verify.kind: is missing: nothing says how requests are verified; write kind: signed, standard_webhooks, token, basic or none`},
		"an unknown part": {
			"x", strings.Replace(goodVerify, "[body]", "[bdy]", 1),
			`verify.parts[0]: "bdy" is no part of a request; did you mean "body"? It is one of body, body_base64, first_item, form_sorted, form_or_body_hash, method, url, path, timestamp, id, secret, sha256(body), hex(sha256(body)), base64(md5(body)), header:NAME, body:PATH, 'text'
verify.parts: does not cover the body, so anybody could change it; add body`,
		},
		"a timestamp from nowhere": {
			"x", strings.Replace(goodVerify, "[body]", "[timestamp, body]", 1),
			`verify.parts: names timestamp, but nothing says where the time is; write timestamp: {header: X-Timestamp, unit: s}`,
		},
		"a time that is not signed": {
			"x", strings.Replace(goodVerify, "[body]", "[body], timestamp: {header: X-Time}", 1),
			`verify.timestamp: is checked but not signed, so anybody could renew it; add timestamp to parts, or write it under freshness as a path in the signed body`,
		},
		"a body that is not signed": {
			"x", strings.Replace(goodVerify, "[body]", "[url]", 1),
			`verify.parts: does not cover the body, so anybody could change it; add body`,
		},
		"a plain hash without the secret": {
			"x", strings.Replace(goodVerify, "hmac-sha256", "sha256", 1),
			`verify.parts: lacks secret: a plain hash without it can be made by anybody; add secret where the sender puts it`,
		},
		"HMAC with the secret as a part": {
			"x", strings.Replace(goodVerify, "[body]", "[secret, body]", 1),
			`verify.parts: names secret, which only the plain hash sha256 has as a part; remove it; HMAC takes the secret as its key`,
		},
		"an id from nowhere": {
			"x", strings.Replace(goodVerify, "[body]", "[id, body]", 1),
			`verify.parts: names id, but nothing says which header it is; write id: X-Webhook-Id`,
		},
		"the first item only": {
			"x", strings.Replace(goodVerify, "[body]", "[first_item]", 1),
			`warning: verify.parts: first_item covers only the first item of a batch, so longer ones are rejected; switch batching off at the sender, or demand a token as well: all_of with kind: token`,
		},
		"none beside another verifier": {
			"x", "verify: {any_of: [{kind: token, from: bearer}, {kind: none}]}\nsecret: 0123456789abcdef0123456789abcdef",
			`verify.any_of[1].kind: none beside other verifiers would make them worthless; remove it`,
		},
		"a preferred verifier that is none": {
			"x", "preset: hubspot\nverify: {prefer: [v4]}\nsecret: 0123456789abcdef0123456789abcdef",
			`verify.prefer[0]: "v4" is no verifier of this connector; it is one of v3, v2, v1`,
		},
		"no public key": {
			"x", "verify: {kind: signed, algorithm: ed25519, signature: {header: X-Signature, encoding: base64}, parts: [body]}",
			`verify.key.public_keys: is missing: ed25519 is checked with the sender's public key; copy it from the sender's page`,
		},
		"a key that fits any signature": {
			"x", "verify: {kind: signed, algorithm: ed25519, signature: {header: X-Signature, encoding: base64}, parts: [body], key: {public_keys: [AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=]}}",
			`verify.key.public_keys[0]: is an Ed25519 key that fits any signature; write PEM, or the key in base64 or hex`,
		},
		"a key of another sort": {
			"x", "verify: {kind: signed, algorithm: rsa-sha256, signature: {header: X-Signature, encoding: base64}, parts: [body], key: {public_keys: [MCowBQYDK2VwAyEAi2HR1srL4o18O8BRa7gVJY7G7bupbN3H9AwJrHCDiOg=]}}",
			`verify.key.public_keys[0]: is a key of another kind than rsa-sha256; write PEM, or the key in base64 or hex`,
		},
		"a token without a header's name": {
			"x", "verify: {kind: token, from: header}\nsecret: 0123456789abcdef0123456789abcdef",
			`verify.field: is missing: which header holds the token?; write field: X-Webhook-Token`,
		},
		"a token that cannot stand in a path": {
			"x", "verify: {kind: token, from: path}\nsecret: 0123456789/abcdef0123456789abcdef",
			`secret: holds characters that cannot be in a path; use letters, digits, - and _`,
		},
		"basic without a password": {
			"x", "preset: pipedrive\nsecret: only-a-word-0123456789",
			`secret: is not user and password; write secret: ${NAME} with user:password in NAME, or user: and password: under verify`,
		},
		"a bad address": {"x", "verify: {kind: token, from: bearer, allow_ips: [192.0.2.256]}\nsecret: 0123456789abcdef0123456789abcdef", `verify.allow_ips[0]: "192.0.2.256" is neither an address nor a network; write 192.0.2.7 or 192.0.2.0/24`},
		"monitor":       {"x", "preset: shopify\nverify: {mode: monitor}\nsecret: 0123456789abcdef0123456789abcdef", `warning: verify.mode: monitor takes requests that are not verified; write enforce once the sender's requests pass`},
		"a misspelt target": {
			"x", goodVerify + "map: {custmer.first_name: name}",
			`map.custmer.first_name: "custmer.first_name" is nothing that can be mapped; did you mean "customer.first_name"?`,
		},
		"a bad path": {
			"x", goodVerify + "map: {phone: [member.mobile, member..phone]}",
			`map.phone[1]: a name should be here; write a path such as customer.phone, items[0].title or phones[primary=true].value; a header as header:X-Name; a text of its own as 'text'`,
		},
		"items without each": {
			"x", goodVerify + "map: {cart.items: lines}",
			`map.cart.items: wants each: with the path to the lines; write {each: line_items, title: title, quantity: quantity, price: price}`,
		},
		"each for a text": {
			"x", goodVerify + "map: {phone: {each: lines, title: a}}",
			`map.phone: takes one value, not a list; write a path; each: is for cart.items, order.items and form.answers`,
		},
		"cents of a name": {
			"x", goodVerify + "map: {name: a | minor}",
			`map.name[0]: | minor is for amounts; use it for cart.total, order.total and deal.amount`,
		},
		"a kind in capitals":    {"x", goodVerify + "event: {kind: Order.Created}", `event.kind: "Order.Created" is no kind; write small words joined by dots, such as order.created`},
		"a kind nearly known":   {"x", goodVerify + "event: {type: t, aliases: {a: order.create}}", `warning: event.aliases.a: "order.create" is not one of the common kinds; did you mean "order.created"?`},
		"a kind of one's own":   {"x", goodVerify + "event: {kind: login_code}", ``},
		"an unsigned type":      {"x", goodVerify + "event: {type: 'header:X-Event'}", `warning: event.type[0]: comes from header:X-Event, which is not signed: whoever copied a request can change it; take it from the body if it is there, or add header:X-Event to verify.parts if the sender signs it`},
		"a verify token":        {"x", "preset: facebook_leads\nsecret: 0123456789abcdef0123456789abcdef", `verify_token: is missing: the sender repeats it when it tries out the URL; set verify_token: ${NAME} to the word you gave the sender`},
		"a handshake for all":   {"x", goodVerify + "handshake: [{name: a, when: {}, reply: {status: 200}}]", `handshake[0].when: would take every request for a handshake; write method, query, header, form or json`},
		"a reply that repeats":  {"x", goodVerify + "reply: {body: '{{secret}}'}", `reply.body: cannot repeat {{secret}}; in double braces only query.NAME, header.NAME and body.PATH can be repeated`},
		"a reply in HTML":       {"x", goodVerify + "reply: {type: text/html, body: '{{query.a}}'}", `reply.type: an answer that repeats a part of the request must not be HTML; write text/plain`},
		"a huge body":           {"x", goodVerify + "body: {max_bytes: 1GB}", `body.max_bytes: is more than 64MiB, which a webhook never needs; write a size up to 64MiB`},
		"a rule for everything": {"x", goodVerify + "event: {kinds: [{when: [], kind: a}]}", `event.kinds[0].when: is empty, so the rule would hold for everything; write a condition, or event.kind for all events`},
		"a bad condition":       {"x", goodVerify + "skip_if: ['a >= b']", `skip_if[0]: >= compares numbers, and "b" is none; write a path, or compare it: status == paid, completed_at != null, total >= 10, email contains @example.com`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, problemsOf(t, tt.name, tt.config)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func presetList() string {
	var names []string
	for _, p := range connectors.Presets() {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

func TestAProblemSaysWhereInAnExpression(t *testing.T) {
	_, list := connectors.Compile("x", decodeConfig(t, goodVerify+"map: {phone: 'member.mobile | uper'}"), connectors.Options{})
	want := []problems.Problem{{Path: "map.phone[0]", Offset: 16, Msg: `"uper" is no function`, Hint: `did you mean "upper"?`}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProblemsCanBeFoundInTheFile(t *testing.T) {
	const source = "verify: {kind: token, from: bearer, allow_ips: [10.0.0.0/8, nowhere]}\nsecret: 0123456789abcdef0123456789abcdef\nmap:\n  customer.first_name: [a..b]\nmap_for:\n  order.*: {phone: 'x |'}\n"
	var c connectors.Config
	doc, broken := yamlpos.Decode("config.yaml", []byte(source), &c)
	if broken.Err() != nil {
		t.Fatal(broken)
	}
	_, list := connectors.Compile("x", c, connectors.Options{})
	if len(list) != 3 {
		t.Fatalf("%d problems: %v", len(list), list)
	}
	for _, p := range list {
		if doc.Node(p.Path) == nil {
			t.Errorf("there is no %q in the file", p.Path)
		}
	}
}

func TestEveryPresetIsWhole(t *testing.T) {
	for _, p := range connectors.Presets() {
		t.Run(p.Name, func(t *testing.T) {
			if p.Title == "" || p.Setup == "" || p.Verified == "" || (p.Docs == "" && p.Name != "generic") || p.Verifier == "nothing" {
				t.Errorf("something is missing: %+v", p)
			}
			con := mustCompile(t, p.Name, ownConfig(t, p.Name, testSecret), connectors.Options{})
			if len(con.Kinds()) == 0 && p.Name != "standardwebhooks" && p.Name != "svix" {
				t.Error("it names no kinds")
			}
			header := map[string]string{"shopify": "X-Shopify-Topic", "woocommerce": "X-WC-Webhook-Topic", "recharge": "X-Recharge-Topic"}[p.Name]
			if con.TopicHeader() != header && p.Name != "generic" && p.Name != "shopify_flow" && p.Name != "zapier" && p.Name != "make" && p.Name != "n8n" && p.Name != "magento" && p.Name != "prestashop" {
				t.Errorf("the topic's header is %q, want %q", con.TopicHeader(), header)
			}
			if info := con.Info(); info.Setup == "" || info.Verifier != p.Verifier || con.Name() != p.Name || info.Title != p.Title {
				t.Error("the connector does not say what its preset says")
			}
		})
	}
	if _, ok := connectors.Preset("nothing"); ok {
		t.Error("there is a preset called nothing")
	}
}

func TestAUsersEntryWinsOverItsPreset(t *testing.T) {
	con := mustCompile(t, "shop", decodeConfig(t, `
preset: shopify
secret: 0123456789abcdef0123456789abcdef
map: {phone: note_phone, cart.url: my_url}
map_for: {cart.updated: {cart.total: my_total}}
event: {aliases: {checkouts/update: cart.touched}, kinds: [{when: [urgent == true], kind: cart.urgent}]}
skip_if: [test == true]
defaults: {country: GB, language: en}
body: {max_bytes: 2kB}
dedupe: {key: [event.kind, token], window: 1d}
`), connectors.Options{MaxBody: 5000})
	receive := func(topic, body string) connectors.Received {
		t.Helper()
		r := request(body, "X-Shopify-Topic", topic, "Content-Type", "application/json")
		signed, err := con.Sign(r)
		if err != nil {
			t.Fatal(err)
		}
		r = signed
		got, err := con.Receive(r)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	const body = `{"token":"t1","phone":"+14155550100","note_phone":"020 7946 0958","my_url":"https://u","abandoned_checkout_url":"https://v","total_price":"5.00","my_total":"6.00"`
	e := receive("checkouts/update", body+"}").Events[0]
	if e.Kind != "cart.touched" || e.Contact.Phone != "442079460958" || e.Cart.URL != "https://u" || e.Cart.Total.String() != "5.00" ||
		e.Cart.ID != "t1" || e.DedupeKey != "cart.touched:t1" || e.Contact.Language != "en" || e.Contact.Country != "GB" {
		t.Errorf("the event is %+v", e)
	}
	if e := receive("checkouts/update", body+`,"urgent":true}`).Events[0]; e.Kind != "cart.urgent" {
		t.Errorf("the user's rule did not come first: %s", e.Kind)
	}
	if got := receive("checkouts/update", body+`,"test":true}`); len(got.Events) != 0 || got.Skipped[0].Reason != "skip_if: test == true" {
		t.Errorf("a test was not skipped: %+v", got)
	}
	if con.MaxBody() != 2000 || con.DedupeWindow().Hours() != 24 {
		t.Errorf("max body %d, window %s", con.MaxBody(), con.DedupeWindow())
	}
}
