package connectors_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/unicode"

	"github.com/nudgewire/nudgewire/connectors"
)

const twoOrders = `{"event":"order.created","event_id":"l1","phone":"+447700900178"}` + "\n" + `{"event":"order.created","event_id":"l2","phone":"+447700900179"}`

// openPresets are those whose bodies a team writes itself.
func openPresets(t *testing.T) (names []string) {
	for _, name := range connectors.PresetNames() {
		if c, _ := connectors.Preset(name); c.Open && len(c.Items) == 0 {
			names = append(names, name)
		}
	}
	if len(names) < 6 {
		t.Fatalf("presets of a team's own bodies: %v", names)
	}
	return names
}

// phonesOf are the phones of the events of a body, or why there are none.
func phonesOf(con *connectors.Connector, r connectors.Request) string {
	r.Proven = true
	got, err := con.Receive(r)
	if err != nil {
		return err.Error()
	}
	keys := map[string]bool{}
	var out []string
	for _, e := range got.Events {
		keys[e.DedupeKey] = true
		out = append(out, e.Kind+" "+string(e.Contact.Phone))
	}
	if len(keys) != len(out) {
		return fmt.Sprintf("%d keys of %q", len(keys), out)
	}
	return strings.Join(out, ", ")
}

// Several events in one request are one event each, however they are written and whatever they are called.
func TestAListAndALineAreEventsOfTheirOwn(t *testing.T) {
	lines := strings.Split(twoOrders, "\n")
	bodies := map[string]string{
		"a list":                       "[" + strings.Join(lines, ",") + "]",
		"a list with space":            " [\n" + strings.Join(lines, " ,\n") + "\n]\n",
		"one object a line":            twoOrders,
		"one a line, Windows":          strings.Join(lines, "\r\n") + "\r\n",
		"as curl joins the lines":      strings.Join(lines, ""),
		"empty lines between":          "\n" + strings.Join(lines, "\n\n") + "\n",
		"objects over several lines":   strings.ReplaceAll(twoOrders, `,"`, ",\n  \""),
		"a mark before it":             "\ufeff" + twoOrders,
		"a list in UTF-16 with a mark": utf16("[" + strings.Join(lines, ",") + "]"),
	}
	types := []string{"", "application/json", "application/json; charset=utf-8", "application/x-ndjson", "application/jsonl", "text/plain", "application/x-www-form-urlencoded", "application/octet-stream"}
	const want = "order.created 447700900178, order.created 447700900179"
	cons := map[string]*connectors.Connector{"own": connector(t, openVerify+"event: {type: event, id: event_id}\nmap: {phone: phone}")}
	for _, name := range openPresets(t) {
		if c, _ := connectors.Preset(name); len(c.Body.Accept) == 0 && name != "segment" {
			cons[name] = mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{})
		}
	}
	for name, con := range cons {
		for what, body := range bodies {
			for _, typ := range types {
				if got := phonesOf(con, request(body, "Content-Type", typ)); got != want {
					t.Errorf("%s, %s as %q: %s", name, what, typ, got)
				}
			}
		}
	}
}

// The items of a list are told apart without an id of their own, and a copy of the request is known by all of them.
func TestAListUnderOneHeaderIsSeveralEvents(t *testing.T) {
	con := mustCompile(t, "generic", ownConfig(t, "generic", testSecret), connectors.Options{})
	r := request(`[{"event":"a","phone":"+447700900178"},{"event":"a","phone":"+447700900179"}]`, "Idempotency-Key", "k1")
	r.Proven = true
	var keys [2][]string
	for i := range keys {
		got, err := con.Receive(r)
		if err != nil || len(got.Events) != 2 {
			t.Fatalf("Receive = %+v, %v", got, err)
		}
		for _, e := range got.Events {
			keys[i] = append(keys[i], e.DedupeKey)
		}
	}
	if diff := cmp.Diff(keys[0], keys[1]); diff != "" || keys[0][0] == keys[0][1] {
		t.Errorf("keys %q, of a copy:\n%s", keys[0], diff)
	}
}

// What cannot be an event refuses the whole request, before anything of it is stored.
func TestAnItemThatIsNoEventRefusesAll(t *testing.T) {
	const good = `{"event":"a","event_id":"1","phone":"+447700900178"}`
	for body, want := range map[string]string{
		`[` + good + `,5]`:                "body: the body has an item that is no event: item 2 is a number and not an object; nothing of the request was stored",
		`[null]`:                          "body: the body has an item that is no event: item 1 is null and not an object; nothing of the request was stored",
		`[` + good + `,"x"]`:              "body: the body has an item that is no event: item 2 is a text and not an object; nothing of the request was stored",
		`[[` + good + `]]`:                "body: the body has an item that is no event: item 1 is a list and not an object; nothing of the request was stored",
		good + "\n5":                      fmt.Sprintf("body: the body is not JSON: byte %d: more text behind the end of the value", len(good)+2),
		good + "\n{\"event\":":            fmt.Sprintf("body: the body is not JSON: byte %d: more text behind the end of the value", len(good)+2),
		good + "," + good:                 fmt.Sprintf("body: the body is not JSON: byte %d: more text behind the end of the value", len(good)+1),
		strings.Repeat("{}\n", 10_001):    "size: the body has more than 10000 items: send them in several requests",
		`{"a":1} x`:                       "body: the body is not JSON: byte 9: more text behind the end of the value",
		`[` + good + `,{"event":"a"},{}]`: "a 447700900178, a , unknown ",
	} {
		con := mustCompile(t, "generic", ownConfig(t, "generic", testSecret), connectors.Options{})
		if got := phonesOf(con, request(body, "Content-Type", "application/json")); got != want {
			t.Errorf("%.60s: %s, want %s", body, got, want)
		}
	}
	// Who asks for bare values gets them.
	bare := connector(t, openVerify+"items: 'ids[*]'\nevent: {kind: contact.updated, id: .}\nmap: {contact.id: .}")
	if got := phonesOf(bare, request(`{"ids":[5,"6"]}`)); got != "contact.updated , contact.updated " {
		t.Errorf("bare values: %s", got)
	}
	// Who reads a list by its places takes it as one.
	for _, config := range []string{"map: {phone: '[0].phone'}", "items: .\nmap: {phone: '[0].phone'}", "map: {phone: '[n=2].phone'}"} {
		con := connector(t, openVerify+config)
		if got := phonesOf(con, request(`[{"n":2,"phone":"+447700900178"},{"n":3,"phone":"+447700900179"}]`)); got != "unknown 447700900178" {
			t.Errorf("%s: %s", config, got)
		}
	}
	con := connector(t, openVerify+"body: {json_in: [data]}\nmap: {phone: data.phone}")
	if got := phonesOf(con, request(`[{"data":"{\"phone\":\"+447700900178\"}"}]`)); got != "unknown 447700900178" {
		t.Errorf("JSON inside the items of a list: %s", got)
	}
}

// All places that items names count, and the name that led to an item is at hand.
func TestGroupsOfItems(t *testing.T) {
	const config = openVerify + `
items: ['"x.new"[*]', '"x.changed"[*]', 'data.list[*]', 'data[*]', '[*]']
event:
  id: [id]
  type: event.group
  kinds: [{when: [event.group == x.new], kind: contact.created}]
  aliases: {x.changed: contact.updated}
map: {phone: p}
`
	const a, b = `{"id":"1","p":"+447700900178"}`, `{"id":"2","p":"+447700900179"}`
	for body, want := range map[string]string{
		`{"x.new":[` + a + `],"x.changed":[` + b + `]}`: "contact.created 447700900178, contact.updated 447700900179",
		`{"x.changed":[` + b + `]}`:                     "contact.updated 447700900179",
		`{"x.new":` + a + `}`:                           "contact.created 447700900178",
		`{"data":{"list":[` + a + `]}}`:                 "data.list 447700900178",
		`{"data":[` + a + `,` + b + `]}`:                "data 447700900178, data 447700900179",
		`[` + a + `,` + b + `]`:                         "unknown 447700900178, unknown 447700900179",
		`{"x.new":[],"x.changed":[` + b + `]}`:          "contact.updated 447700900179",
		a:                                               "unknown 447700900178",
	} {
		if got := phonesOf(connector(t, config), request(body)); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	same := connector(t, openVerify+"items: ['list[*]', 'list[0]']\nevent: {id: id}\nmap: {phone: p}")
	if got := phonesOf(same, request(`{"list":[`+a+`,`+b+`]}`)); got != "unknown 447700900178, unknown 447700900179" {
		t.Errorf("two paths to one item: %s", got)
	}
}

// Bodies in a list, or one a line, are what they would be one after the other: whatever a connector finds in one body it finds in several.
func TestSeveralBodiesAreWhatEachIs(t *testing.T) {
	const (
		a, b, c = `{"event":"a","event_id":"1","phone":"+447700900178"}`, `{"event":"b","event_id":"2","phone":"+447700900179"}`, `{"event":"c","event_id":"3","phone":"+447700900180"}`
		rest    = "event: {type: event, id: event_id}\nmap: {phone: phone}"
	)
	configs := map[string]string{
		"no items":             rest,
		"items in two names":   "items: 'some.path'\n" + rest,
		"items one by one":     "items: 'some.path[*]'\n" + rest,
		"two groups":           "items: ['some.path[*]', 'other[*]']\n" + rest,
		"a list or wrapped":    "items: ['some.path[*]', '[*]']\n" + rest,
		"by their wrapper":     "items: 'some.path[*]'\nevent: {type: event, id: event_id}\nmap: {phone: phone, email: 'root:from'}",
		"wrappers are texts":   "items: 'data.path[*]'\nbody: {json_in: [data]}\n" + rest,
		"an id of the wrapper": "items: 'some.path[*]'\nevent: {type: event, id: 'root:id'}\nmap: {phone: phone}",
	}
	bodies := map[string]string{
		"one event":              a,
		"one wrapped":            `{"id":1,"from":"x@example.com","some":{"path":` + a + `}}`,
		"two wrapped":            `{"id":2,"from":"y@example.com","some":{"path":[` + a + "," + b + `]}}`,
		"another group":          `{"id":3,"other":[` + c + `]}`,
		"both groups":            `{"id":4,"some":{"path":[` + b + `]},"other":[` + c + `]}`,
		"none under the path":    `{"id":5,"some":{"path":[]}}`,
		"another path":           `{"id":6,"statuses":[{"state":"read"}]}`,
		"a text with the JSON":   `{"id":7,"data":"{\"path\":[` + strings.ReplaceAll(a, `"`, `\"`) + `]}"}`,
		"an item without fields": `{"id":8,"some":{"path":[5]}}`,
	}
	several := map[string]func(bodies ...string) string{
		"a list":            func(all ...string) string { return "[" + strings.Join(all, ",") + "]" },
		"one object a line": func(all ...string) string { return strings.Join(all, "\n") + "\n" },
		"a list with space": func(all ...string) string { return " [\n" + strings.Join(all, " ,\n") + "\n]\n" },
	}
	read := func(con *connectors.Connector, body string) (events []string, empty int, err error) {
		r := request(body, "Content-Type", "application/json")
		r.Proven = true
		got, err := con.Receive(r)
		for _, e := range got.Events {
			events = append(events, e.Kind+" "+string(e.Contact.Phone)+" "+e.Contact.Email)
		}
		return events, got.Empty, err
	}
	for name, config := range configs {
		con := connector(t, openVerify+config)
		for one, first := range bodies {
			for other, second := range bodies {
				e1, n1, err1 := read(con, first)
				e2, n2, err2 := read(con, second)
				for how, join := range several {
					at := fmt.Sprintf("%s: %s, and %s, as %s", name, one, other, how)
					got, n, err := read(con, join(first, second))
					if (err1 != nil || err2 != nil) != (err != nil) {
						t.Errorf("%s: %v; one after the other %v and %v", at, err, err1, err2)
					}
					if err != nil {
						continue
					}
					if diff := cmp.Diff(append(slices.Clone(e1), e2...), got); diff != "" || n != n1+n2 {
						t.Errorf("%s: %d without an event, and one after the other %d and %d; events\n%s", at, n, n1, n2, diff)
					}
				}
			}
		}
	}
	con := connector(t, openVerify+configs["items in two names"])
	for body, want := range map[string]string{
		a:                                  `body: the body is an event itself, and has nothing under some.path: write items: ["some.path", "[*]"] to take both; nothing of the request was stored`,
		"[5]":                              "body: the body has an item that is no event: item 1 is a number and not an object; nothing of the request was stored",
		"[[" + a + "]]":                    "body: the body has an item that is no event: item 1 is a list and not an object; nothing of the request was stored",
		strings.Repeat("{}\n", 10_001):     "size: the body has more than 10000 items: send them in several requests",
		bodies["two wrapped"] + "\n" + "5": "body: the body is not JSON: byte " + fmt.Sprint(len(bodies["two wrapped"])+2) + ": more text behind the end of the value",
	} {
		if got := phonesOf(con, request(body, "Content-Type", "application/x-ndjson")); got != want {
			t.Errorf("%.60s: %s, want %s", body, got, want)
		}
	}
	gzip := request("\x1f\x8b", "Content-Type", "application/json", "Content-Encoding", "gzip")
	if got := phonesOf(con, gzip); !strings.Contains(got, "switch compression off at the sender") {
		t.Errorf("gzip: %s", got)
	}
	form := request("event=a&phone=%2B447700900178", "Content-Type", "application/x-www-form-urlencoded")
	if got := phonesOf(con, form); !strings.Contains(got, "is an event itself") {
		t.Errorf("a form: %s", got)
	}
}

// utf16 is text with the mark of UTF-16.
func utf16(text string) string {
	out, err := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		panic(err)
	}
	return out
}

func wide(order unicode.Endianness, text string) string {
	out, err := unicode.UTF16(order, unicode.IgnoreBOM).NewEncoder().String(text)
	if err != nil {
		panic(err)
	}
	return out
}

// A letter is what its charset says, or the request is refused: it is never left out.
func TestLettersAreWhatTheirCharsetSays(t *testing.T) {
	parts := func(typ, name string) (body, content string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		header := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="first_name"`}}
		if typ == "_charset_" {
			_ = w.WriteField("_charset_", "iso-8859-1")
		} else if typ != "" {
			header.Set("Content-Type", typ)
		}
		part, _ := w.CreatePart(header)
		_, _ = part.Write([]byte(name))
		_ = w.Close()
		return b.String(), w.FormDataContentType()
	}
	own, ownType := parts("text/plain; charset=ISO-8859-1", "Ren\xe9")
	field, fieldType := parts("_charset_", "Ren\xe9")
	plain, plainType := parts("", "Ren\xc3\xa9")
	bad, badType := parts("", "Ren\xe9")
	strange, strangeType := parts("text/plain; charset=klingon", "Ren\xe9")
	const form, noUTF8, unknown = "application/x-www-form-urlencoded", "holds bytes that are no UTF-8", "is in a charset that is not known here"
	tests := map[string]struct{ body, typ, config, want string }{
		"JSON in Latin 1":                      {"{\"first_name\":\"Ren\xe9\"}", "application/json; charset=ISO-8859-1", "", "René"},
		"JSON in Latin 1, in quotes and small": {"{\"first_name\":\"Ren\xe9\"}", `application/json;charset="latin1"`, "", "René"},
		"JSON in windows-1252":                 {"{\"first_name\":\"Ren\xe9 \x80\"}", "application/json; charset=windows-1252", "", "René €"},
		"JSON in Shift_JIS":                    {"{\"first_name\":\"\x83\x8c\x83\x6c\"}", "application/json; charset=Shift_JIS", "", "レネ"},
		"JSON in cyrillic":                     {"{\"first_name\":\"\xd2\xc5\xce\xc5\"}", "application/json; charset=koi8-r", "", "рене"},
		"JSON in UTF-16 that says so":          {wide(unicode.LittleEndian, `{"first_name":"René"}`), "application/json; charset=utf-16le", "", "René"},
		"JSON in UTF-16 that says nothing":     {wide(unicode.BigEndian, `{"first_name":"René"}`), "application/json", "", "René"},
		"JSON in UTF-16 with a mark":           {utf16(`{"first_name":"René"}`), "application/json; charset=utf-8", "", "René"},
		"JSON with a mark, and a wrong name":   {"\ufeff{\"first_name\":\"René\"}", "application/json; charset=ISO-8859-1", "", "René"},
		"JSON in UTF-8 that says so":           {`{"first_name":"René"}`, "application/json; charset=UTF-8", "", "René"},
		"JSON in UTF-8 and is not":             {"{\"first_name\":\"Ren\xe9\"}", "application/json; charset=utf-8", "", "the body " + noUTF8 + ", which its content type says"},
		"JSON without a name, and not UTF-8":   {"{\"first_name\":\"Ren\xe9\"}", "application/json", "", "the body " + noUTF8 + ", and no content type says what else they are: the first is byte 19"},
		"JSON in a connector's charset":        {"{\"first_name\":\"Ren\xe9\"}", "application/json", "body: {charset: latin1}", "René"},
		"JSON that names another than that":    {`{"first_name":"René"}`, "application/json; charset=utf-8", "body: {charset: latin1}", "René"},
		"JSON in no charset":                   {"{}", "application/json; charset=klingon", "", "content: the content type is application/json; charset=klingon: the body " + unknown},
		"JSON in a charset of attacks":         {"{}", "application/json; charset=iso-2022-kr", "", "content: the content type is application/json; charset=iso-2022-kr: the body " + unknown},
		"bytes that are no Shift_JIS":          {"{\"first_name\":\"\x83\"}", "application/json; charset=Shift_JIS", "", "the body holds bytes that are no Shift_JIS"},
		"a form in Latin 1":                    {"first_name=Ren%E9", form + "; charset=ISO-8859-1", "", "René"},
		"a form in Latin 1, its bytes bare":    {"first_name=Ren\xe9", form + "; charset=ISO-8859-1", "", "René"},
		"a form in UTF-8":                      {"first_name=Ren%C3%A9", form, "", "René"},
		"a form with a mark":                   {"\ufefffirst_name=Ren%C3%A9", form, "", "René"},
		"a form with a mark, wrong name":       {"\ufefffirst_name=Ren%C3%A9", form + "; charset=ISO-8859-1", "", "René"},
		"a form in UTF-16 with a mark":         {utf16("first_name=Ren%C3%A9"), form, "", "René"},
		"a form that is not UTF-8":             {"first_name=Ren%E9", form, "", "is no form: the value of field 1 " + noUTF8},
		"a form in no charset":                 {"a=1", form + "; charset=klingon", "", unknown},
		"a part in Latin 1":                    {own, ownType, "", "René"},
		"a field that names the charset":       {field, fieldType, "", "René"},
		"a part in UTF-8":                      {plain, plainType, "", "René"},
		"a part that is not UTF-8":             {bad, badType, "", "is multipart whose part 1 " + noUTF8},
		"a part in no charset":                 {strange, strangeType, "", unknown},
		"XML that says so itself":              {"<?xml version=\"1.0\" encoding=\"windows-1252\"?><first_name>Ren\xe9</first_name>", "text/xml", "", "René"},
		"XML whose header says so":             {"<first_name>Ren\xe9</first_name>", "text/xml; charset=ISO-8859-1", "", "René"},
		"XML in UTF-16":                        {utf16(`<?xml version="1.0" encoding="UTF-16"?><first_name>René</first_name>`), "application/xml", "", "René"},
		"XML with a mark":                      {"\ufeff<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><first_name>René</first_name>", "text/xml", "", "René"},
		"XML that is not UTF-8":                {"<first_name>Ren\xe9</first_name>", "text/xml", "", "is broken XML in line 1"},
		"XML in no charset":                    {"<?xml version=\"1.0\" encoding=\"klingon\"?><first_name>R</first_name>", "text/xml", "", unknown},
		"text in Latin 1 where JSON may be":    {"{\"first_name\":\"Ren\xe9\"}", "text/plain; charset=ISO-8859-1", "", "René"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := connector(t, openVerify+"map: {first_name: first_name}\n"+tt.config).Receive(request(tt.body, "Content-Type", tt.typ))
			var said string
			if err != nil {
				said = err.Error()
				if rejected := rejectedBy(t, err); (rejected.Status == 415) != strings.Contains(said, unknown) {
					t.Errorf("%s: status %d", said, rejected.Status)
				}
			} else {
				said = got.Events[0].Contact.FirstName
			}
			if said != tt.want && (err == nil || !strings.Contains(said, tt.want)) {
				t.Errorf("%q, want %q", said, tt.want)
			}
		})
	}
}

// JSON that curl calls a form is JSON; a form stays one.
func TestJSONUnderTheTypeOfAForm(t *testing.T) {
	const order = `{"event":"order.created","event_id":"h1","phone":"+447700900178","note":"a=1&b=%zz"}`
	con := mustCompile(t, "generic", ownConfig(t, "generic", testSecret), connectors.Options{})
	for body, want := range map[string]string{
		order:             "order.created 447700900178",
		" " + order:       "order.created 447700900178",
		"[" + order + "]": "order.created 447700900178",
		"%7B%22event%22%3A%22order.created%22%2C%22phone%22%3A%22%2B447700900178%22%7D":  "order.created 447700900178",
		"%7B%22event%22%3A%22order.created%22%2C%22phone%22%3A%22%2B447700900178%22%7D=": "order.created 447700900178",
		"=%7B%22event%22%3A%22order.created%22%2C%22phone%22%3A%22%2B447700900178%22%7D": "order.created 447700900178",
		"event=order.created&phone=%2B447700900178":                                      "order.created 447700900178",
		`event=order.created&phone=%2B447700900178&{"a":1}=`:                             "order.created 447700900178",
	} {
		if got := phonesOf(con, request(body, "Content-Type", "application/x-www-form-urlencoded")); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	forms := mustCompile(t, "cartflows", ownConfig(t, "cartflows", testSecret), connectors.Options{})
	for body, typ := range map[string]string{
		`{"order_status":"abandoned","phone_number":"+447700900178"}`: "application/x-www-form-urlencoded",
		`{"order_status":"abandoned","phone_number":"+447700900179"}`: "application/json",
		`{"order_status":"abandoned","phone_number":"+447700900177"}`: "",
		"\x00\x00{x":           "application/x-www-form-urlencoded",
		"hello=1":              "application/x-www-form-urlencoded",
		"Hello there, you two": "text/plain",
	} {
		r := request(body, "Content-Type", typ)
		r.Proven = true
		if got, err := forms.Receive(r); err == nil {
			t.Errorf("cartflows takes %q as %q: %+v", body, typ, got.Events)
		}
	}
}

// Two saves of one second that say different things are two events, and a delivery that comes again is one: for each preset whose
// sender's clock has whole seconds.
func TestTwoSavesOfOneSecond(t *testing.T) {
	for name, bodies := range map[string][]string{ // the last is a copy of the one before
		"woocommerce": {
			`{"id":1,"date_modified_gmt":"2026-11-20T09:00:00","status":"pending","total":"5.00"}`,
			`{"id":1,"date_modified_gmt":"2026-11-20T09:00:00","status":"processing","total":"5.00"}`,
			`{"id":1,"date_modified_gmt":"2026-11-20T09:00:00","status":"processing","total":"7.00"}`,
			`{"id":1,"date_modified_gmt":"2026-11-20T09:00:00","status":"processing","total":"7.00","billing":{"phone":"07700 900131","country":"GB"}}`,
			`{"id":1, "date_modified_gmt":"2026-11-20T09:00:00", "status":"processing", "total":"7.00", "billing":{"phone":"07700 900131", "country":"GB"}}`,
		},
		"mailchimp": {
			"type=profile&fired_at=2026-11-20+09%3A30%3A00&data%5Bid%5D=1&data%5Bmerges%5D%5BPHONE%5D=%2B46701234568",
			"type=profile&fired_at=2026-11-20+09%3A30%3A00&data%5Bid%5D=1&data%5Bmerges%5D%5BPHONE%5D=%2B46701234569",
			"type=profile&fired_at=2026-11-20+09%3A30%3A00&data%5Bmerges%5D%5BPHONE%5D=%2B46701234569&data%5Bid%5D=1",
		},
		"activecampaign": {
			"type=update&date_time=2026-11-20T09:30:00Z&contact[id]=7&contact[phone]=%2B46701234568",
			"type=update&date_time=2026-11-20T09:30:00Z&contact[id]=7&contact[phone]=%2B46701234568&contact[first_name]=Ivo",
			"type=update&date_time=2026-11-20T09:30:00Z&contact[id]=7&contact[first_name]=Ivo&contact[phone]=%2B46701234568",
		},
		"freshworks": {
			`{"event":"contact.updated","id":"1","updated_at":"2026-11-20T09:30:00Z","phone":"+46701234568"}`,
			`{"event":"contact.updated","id":"1","updated_at":"2026-11-20T09:30:00Z","phone":"+46701234569"}`,
			`{"event":"contact.updated", "id":"1","updated_at":"2026-11-20T09:30:00Z","phone":"+46701234569"}`,
		},
		"salesforce_flow": {
			`{"event":"contact.updated","id":"1","updated_at":"2026-11-20T09:30:00Z","phone":"+46701234568"}`,
			`{"event":"contact.updated","id":"1","updated_at":"2026-11-20T09:30:00Z","phone":"+46701234569"}`,
			`{"event":"contact.updated","id":"1","updated_at":"2026-11-20T09:30:00Z","phone":"+46701234569" }`,
		},
	} {
		con := mustCompile(t, name, ownConfig(t, name, testSecret), connectors.Options{})
		var keys []string
		for _, body := range bodies {
			typ := "application/json"
			if body[0] != '{' {
				typ = "application/x-www-form-urlencoded"
			}
			r := request(body, "Content-Type", typ, "X-WC-Webhook-Topic", "order.updated")
			r.Proven, r.Now = true, time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
			got, err := con.Receive(r)
			if err != nil || len(got.Events) != 1 {
				t.Fatalf("%s: %+v, %v", name, got, err)
			}
			keys = append(keys, got.Events[0].DedupeKey)
		}
		distinct := map[string]bool{}
		for _, k := range keys {
			distinct[k] = true
		}
		if n := len(keys); len(distinct) != n-1 || keys[n-1] != keys[n-2] {
			t.Errorf("%s: keys %q", name, keys)
		}
	}
}
