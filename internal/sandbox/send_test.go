package sandbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

func TestRefusals(t *testing.T) {
	s := serve(t, account())
	const good = `"phone":"447700900123","template":"cart_reminder","language":"en","variables":["a","b"]`
	const base = "/api/v1"
	tests := map[string]struct {
		method, path, body string
		header             []string
		status             int
		words              string
	}{
		"no key":                {"POST", base + "/send-template", `{}`, []string{"Authorization", ""}, 401, "header Authorization is missing: send 'Authorization: Bearer <API key>'"},
		"another kind of key":   {"POST", base + "/send-template", `{}`, []string{"Authorization", "Basic abc"}, 401, "header Authorization is not of the form 'Bearer <API key>'"},
		"an unknown key":        {"POST", base + "/send-template", `{}`, []string{"Authorization", "Bearer nope"}, 401, "API key is not known"},
		"a path outside":        {"POST", "/send-template", `{}`, nil, 404, "no such path: the API begins at /api/v1"},
		"an unknown endpoint":   {"POST", base + "/send", `{}`, nil, 404, "no such endpoint"},
		"the wrong method":      {"GET", base + "/send-template", ``, nil, 405, "method GET is not allowed here: use POST"},
		"a POST for a status":   {"POST", base + "/message-status/1", `{}`, nil, 405, "method POST is not allowed here: use GET"},
		"a form":                {"POST", base + "/send-template", `a=b`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "Content-Type must be application/json"},
		"no content type":       {"POST", base + "/send-template", `{}`, []string{"Content-Type", ""}, 415, "Content-Type must be application/json"},
		"nothing":               {"POST", base + "/send-template", ``, []string{"Content-Type", "application/json"}, 400, "body is empty: send a JSON object"},
		"broken JSON":           {"POST", base + "/send-template", `{"phone":`, nil, 400, "body is not valid JSON"},
		"a list":                {"POST", base + "/send-template", `[]`, nil, 400, "body must be a JSON object"},
		"too much":              {"POST", base + "/send-template", `{"phone":"` + strings.Repeat("1", 70_000) + `"}`, nil, 413, "body is larger than 65536 bytes"},
		"no phone":              {"POST", base + "/send-template", `{}`, nil, 400, `field "phone" is missing`},
		"an empty phone":        {"POST", base + "/send-template", `{"phone":""}`, nil, 400, `field "phone" is empty`},
		"a phone as a number":   {"POST", base + "/send-template", `{"phone":447700900123}`, nil, 400, `field "phone" must be a string`},
		"no template":           {"POST", base + "/send-template", `{"phone":"447700900123"}`, nil, 400, `field "template" is missing`},
		"an unknown field":      {"POST", base + "/send-template", `{` + good + `,"variable":[]}`, nil, 400, `field "variable" is not known: known are phone, template, language, variables, header_media_type, header_media_url, filename`},
		"a field twice":         {"POST", base + "/send-template", `{"phone":"1","phone":"2"}`, nil, 400, `field "phone" is given twice`},
		"variables as text":     {"POST", base + "/send-template", `{"variables":"a"}`, nil, 400, `field "variables" must be a list of strings`},
		"a variable of null":    {"POST", base + "/send-template", `{"variables":["a",null]}`, nil, 400, `variable 2 must be a string`},
		"a plus sign":           {"POST", base + "/send-template", strings.Replace(`{`+good+`}`, "447700900123", "+447700900123", 1), nil, 400, "phone must be 7 to 15 digits with the country code, without plus sign and separators"},
		"six digits":            {"POST", base + "/send-template", strings.Replace(`{`+good+`}`, "447700900123", "447700", 1), nil, 400, "phone must be 7 to 15 digits with the country code, without plus sign and separators"},
		"sixteen digits":        {"POST", base + "/send-template", strings.Replace(`{`+good+`}`, "447700900123", "4477009001234567", 1), nil, 400, "phone must be 7 to 15 digits with the country code, without plus sign and separators"},
		"a phone ending 0004":   {"POST", base + "/send-template", strings.Replace(`{`+good+`}`, "447700900123", "447700900004", 1), nil, 422, "recipient has opted out"},
		"an unknown template":   {"POST", base + "/send-template", strings.Replace(`{`+good+`}`, "cart_reminder", "cart", 1), nil, 400, `template "cart" does not exist`},
		"an unknown language":   {"POST", base + "/send-template", strings.Replace(`{`+good+`}`, `"en"`, `"fr"`, 1), nil, 400, `template "cart_reminder" does not exist in language "fr"`},
		"too few variables":     {"POST", base + "/send-template", strings.Replace(`{`+good+`}`, `,"b"`, ``, 1), nil, 400, `template "cart_reminder" takes 2 variables, not 1`},
		"no variables":          {"POST", base + "/send-template", strings.Replace(`{`+good+`}`, `,"variables":["a","b"]`, ``, 1), nil, 400, `template "cart_reminder" takes 2 variables, not 0`},
		"an unknown header":     {"POST", base + "/send-template", `{` + good + `,"header_media_type":"audio","header_media_url":"https://x.example/a"}`, nil, 400, `header_media_type "audio" is not known: use image, video or document`},
		"a header without URL":  {"POST", base + "/send-template", `{` + good + `,"header_media_type":"image"}`, nil, 400, `header_media_type needs a header_media_url`},
		"a URL without header":  {"POST", base + "/send-template", `{` + good + `,"header_media_url":"https://x.example/a"}`, nil, 400, `header_media_url needs a header_media_type`},
		"a header too many":     {"POST", base + "/send-template", `{` + good + `,"header_media_type":"image","header_media_url":"https://x.example/a"}`, nil, 400, `template "cart_reminder" has no media header`},
		"a header missing":      {"POST", base + "/send-template", `{"phone":"447700900123","template":"invoice","language":"en"}`, nil, 400, `template "invoice" needs a header of type document`},
		"a URL that is none":    {"POST", base + "/send-template", `{"phone":"447700900123","template":"invoice","language":"en","header_media_type":"document","header_media_url":"ftp://x"}`, nil, 400, `header_media_url must be an http or https URL`},
		"a name for an image":   {"POST", base + "/send-template", `{"phone":"447700900123","template":"anything","language":"en","header_media_type":"image","header_media_url":"https://x.example/a","filename":"a"}`, nil, 400, `filename is for documents only`},
		"an unknown campaign":   {"POST", base + "/send-campaign", `{"phone":"447700900123","campaign_id":"418"}`, nil, 400, `campaign "418" does not exist`},
		"a campaign as number":  {"POST", base + "/send-campaign", `{"phone":"447700900123","campaign_id":417}`, nil, 400, `field "campaign_id" must be a string`},
		"a text without text":   {"POST", base + "/send-message", `{"phone":"447700900123","message":""}`, nil, 400, `field "message" is empty`},
		"a status of no id":     {"GET", base + "/message-status/abc", ``, nil, 400, "message id must be digits"},
		"a status of nothing":   {"GET", base + "/message-status/", ``, nil, 400, "message id must be digits"},
		"a signed id":           {"GET", base + "/message-status/+5", ``, nil, 400, "message id must be digits"},
		"a status nobody knows": {"GET", base + "/message-status/5", ``, nil, 404, "message 5 is not known"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			status, body, header := s.ask(t, tt.method, tt.path, tt.body, tt.header...)
			if diff := cmp.Diff(fmt.Sprintf(`%d {"success":false,"error":%q}`, tt.status, tt.words), fmt.Sprintf("%d %s", status, body)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if got := header.Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %q", got)
			}
			if status == 405 && header.Get("Allow") == "" {
				t.Error("405 without Allow")
			}
		})
	}
	if n := s.Stats().Messages; n != 0 {
		t.Errorf("%d messages were accepted", n)
	}
}

func TestAnswerShapes(t *testing.T) {
	tests := map[sandbox.Shape]string{
		"":                  `{"success":true,"message_id":9007199254740993}`,
		sandbox.ShapeFlat:   `{"success":true,"message_id":9007199254740993}`,
		sandbox.ShapeString: `{"success":true,"message_id":"9007199254740993"}`,
		sandbox.ShapeNested: `{"success":true,"data":{"message_id":9007199254740993}}`,
		sandbox.ShapeBare:   `{"success":true}`,
	}
	for shape, want := range tests {
		t.Run("shape "+string(shape), func(t *testing.T) {
			o := account()
			o.Shape, o.BigIDs = shape, true
			s := serve(t, o)
			a, err := s.client.SendTemplate(t.Context(), reminder(phone))
			if err != nil {
				t.Fatal(err)
			}
			id := "9007199254740993"
			if shape == sandbox.ShapeBare {
				id = ""
			}
			if a.Raw != want || a.MessageID != id {
				t.Errorf("answer %s read as %q, want %s", a.Raw, a.MessageID, want)
			}
		})
	}
}

func TestEveryKindOfSend(t *testing.T) {
	c := newClock()
	o := account()
	o.Now = c.now
	s := serve(t, o)
	doc := reminder(phone)
	doc.Template, doc.Variables = "invoice", nil
	doc.Header = &apiclient.Header{Type: "document", URL: "https://cdn.example.com/1.pdf", Filename: "invoice.pdf"}
	for _, err := range []error{
		second(s.client.SendTemplate(t.Context(), reminder(phone))),
		second(s.client.SendTemplate(t.Context(), doc)),
		second(s.client.SendCampaign(t.Context(), phone, "417")),
		second(s.client.SendText(t.Context(), phone, "hello")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	at := c.now()
	want := []sandbox.Message{
		{ID: "100001", Phone: phone, Kind: "template", Name: "cart_reminder", Language: "en", Variables: []string{"Ada", "Kettle"}, Status: "queued", AcceptedAt: at, StatusAt: at},
		{ID: "100002", Phone: phone, Kind: "template", Name: "invoice", Language: "en", Status: "queued", AcceptedAt: at, StatusAt: at},
		{ID: "100003", Phone: phone, Kind: "campaign", Name: "417", Status: "queued", AcceptedAt: at, StatusAt: at},
		{ID: "100004", Phone: phone, Kind: "text", Variables: []string{"hello"}, Status: "queued", AcceptedAt: at, StatusAt: at},
	}
	if diff := cmp.Diff(want, s.Messages(phone)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if n := s.Accepted(phone); n != 4 {
		t.Errorf("accepted %d, want 4", n)
	}
}

func second[T any](_ T, err error) error { return err }

func TestDuplicatesAreCounted(t *testing.T) {
	s := serve(t, account())
	other := reminder(phone)
	other.Variables = []string{"AdaK", "ettle"} // the same letters, parted elsewhere
	for _, m := range []string{phone, phone, "447700900124", phone} {
		if _, err := s.client.SendTemplate(t.Context(), reminder(m)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.client.SendTemplate(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	want := []sandbox.Repeat{{Phone: phone, Kind: "template", Name: "cart_reminder", Variables: []string{"Ada", "Kettle"}, Times: 3}}
	if diff := cmp.Diff(want, st.Repeated); diff != "" || st.Duplicates != 2 || st.Messages != 5 || st.Phones != 2 {
		t.Errorf("stats %+v, repeated (-want +got):\n%s", st, diff)
	}
}

func TestSendsInParallelAreAllCounted(t *testing.T) {
	s := serve(t, account())
	ids := make(chan string, 400)
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for range 50 {
				a, err := s.client.SendTemplate(t.Context(), reminder(fmt.Sprintf("44770090012%d", w%4)))
				if err != nil {
					t.Error(err)
				}
				ids <- a.MessageID
			}
		})
	}
	all.Wait()
	close(ids)
	seen := map[string]bool{}
	for id := range ids {
		seen[id] = true
	}
	st := s.Stats()
	if len(seen) != 400 || st.Messages != 400 || st.Phones != 4 || s.Accepted("447700900121") != 100 || st.Duplicates != 396 {
		t.Errorf("%d ids, %d at one phone, stats %+v", len(seen), s.Accepted("447700900121"), st)
	}
	if got := st.Endpoints["send-template"]; got.Requests != 400 || got.OK != 400 {
		t.Errorf("counts %+v", got)
	}
}

func TestAnyKeyWillDoWhereNoneIsSet(t *testing.T) {
	o := account()
	o.Keys = nil
	s := serve(t, o)
	if _, err := s.client.SendTemplate(t.Context(), reminder(phone)); err != nil {
		t.Error(err)
	}
	if status, _, _ := s.ask(t, http.MethodGet, "/api/v1/message-status/1", "", "Authorization", ""); status != 401 {
		t.Errorf("no key at all: %d", status)
	}
}

func TestWildcardTemplatesTakeAnything(t *testing.T) {
	o := sandbox.Options{Templates: []sandbox.Template{{Name: "*", Language: "*", Variables: -1, Header: "*"}}, Campaigns: []string{"*"}}
	s := serve(t, o)
	if _, err := s.client.SendTemplate(t.Context(), reminder(phone)); err != nil {
		t.Error(err)
	}
	if _, err := s.client.SendCampaign(t.Context(), phone, "whatever"); err != nil {
		t.Error(err)
	}
	if _, err := s.client.CreateCampaign(t.Context(), "n", 99, "a.csv", strings.NewReader("phone\n447700900123\n"), 19); err != nil {
		t.Error(err)
	}
}
