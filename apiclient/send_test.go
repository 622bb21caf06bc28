package apiclient

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A got is one request as the service read it.
type got struct {
	Line   string
	Header map[string]string
	Body   string
}

// recorder answers message 1 and hands over what it was asked.
func recorder(t testing.TB) (base string, last func() got) {
	t.Helper()
	asked := make(chan got, 16)
	base = answer(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read: %v", err)
		}
		h := map[string]string{}
		for _, k := range []string{"Authorization", "Content-Type", "Content-Length", "User-Agent", "Accept", "Idempotency-Key", "Accept-Encoding"} {
			if v := r.Header.Get(k); v != "" {
				h[k] = v
			}
		}
		asked <- got{r.Method + " " + r.RequestURI, h, string(body)}
		_, _ = io.WriteString(w, `{"message_id":1}`)
	})
	return base, func() got { return <-asked }
}

func TestRequests(t *testing.T) {
	base, last := recorder(t)
	c := open(t, base, func(o *Options) { o.UserAgent = "nudgewire/test" })
	tests := map[string]struct {
		call func() (Answer, error)
		line string
		body string
	}{
		"a template with everything": {
			func() (Answer, error) {
				return c.SendTemplate(t.Context(), TemplateMessage{
					Phone: testPhone, Template: "order_paid", Language: "pt_BR", Variables: []string{"Zoë \"Z\" <z>", "", "a\nb"},
					Header: &Header{"document", "https://cdn.example.com/a.pdf?x=1&y=2", "invoice.pdf"},
				})
			},
			"POST /api/v1/send-template",
			`{"phone":"447700900123","template":"order_paid","language":"pt_BR","variables":["Zoë \"Z\" <z>","","a\nb"],` +
				`"header_media_type":"document","header_media_url":"https://cdn.example.com/a.pdf?x=1&y=2","filename":"invoice.pdf"}`,
		},
		"a template with the least": {
			func() (Answer, error) {
				return c.SendTemplate(t.Context(), TemplateMessage{Phone: testPhone, Template: "t", Language: "en"})
			},
			"POST /api/v1/send-template",
			`{"phone":"447700900123","template":"t","language":"en"}`,
		},
		"a campaign": {
			func() (Answer, error) { return c.SendCampaign(t.Context(), testPhone, "417") },
			"POST /api/v1/send-campaign",
			`{"phone":"447700900123","campaign_id":"417"}`,
		},
		"a text": {
			func() (Answer, error) { return c.SendText(t.Context(), testPhone, "héllo\t\x01\\") },
			"POST /api/v1/send-message",
			`{"phone":"447700900123","message":"héllo\t\u0001\\"}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a, err := tt.call()
			if err != nil || a.MessageID != "1" || a.HTTPStatus != 200 {
				t.Fatalf("answer %+v, error %v", a, err)
			}
			want := got{tt.line, map[string]string{
				"Authorization": "Bearer " + testKey, "Content-Type": "application/json", "Accept": "application/json",
				"Content-Length": fmt.Sprint(len(tt.body)), "User-Agent": "nudgewire/test",
			}, tt.body}
			if diff := cmp.Diff(want, last()); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTextIsRefusedWhileItsPathIsUnknown(t *testing.T) {
	base := answer(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	_, err := open(t, base, func(o *Options) { o.TextPath = "" }).SendText(t.Context(), testPhone, "hello")
	checkEnd(t, want{Rejected, 0, 0, `text: the path of the text endpoint is not known: set api\.text_path`}, err)
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	var conns int
	for name, body := range map[string]string{
		"a short answer":          `{"message_id":1}`,
		"an answer beyond 64 KB":  `{"message_id":1,"x":"` + strings.Repeat("x", 80<<10) + `"}`,
		"an answer of just 64 KB": `{"message_id":1}` + strings.Repeat(" ", maxAnswer-16),
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
			conns = 0
			s.Config.ConnState = countNew(&conns)
			s.Start()
			t.Cleanup(s.Close)
			c := open(t, s.URL)
			for range 5 {
				a, err := c.SendTemplate(t.Context(), message)
				if err != nil {
					t.Fatal(err)
				}
				if got, whole := a.MessageID == "1", len(body) <= maxAnswer; got != whole {
					t.Errorf("read a message id: %v, want %v", got, whole)
				}
			}
			if conns != 1 {
				t.Errorf("five calls took %d connections", conns)
			}
		})
	}
	t.Run("an endless answer is accepted and its connection dropped", func(t *testing.T) {
		base := answer(t, func(w http.ResponseWriter, _ *http.Request) {
			page := []byte(strings.Repeat("x", 32<<10))
			for {
				if _, err := w.Write(page); err != nil {
					return
				}
			}
		})
		a, err := open(t, base).SendTemplate(t.Context(), message)
		if err != nil || a.MessageID != "" || len(a.Raw) != maxRaw {
			t.Errorf("message %q, %d bytes kept, error %v", a.MessageID, len(a.Raw), err)
		}
	})
}

func TestOptions(t *testing.T) {
	good := Options{BaseURL: "https://api.example.com/api/v1/", Key: testKey}
	tests := map[string]struct {
		change func(*Options)
		want   string // "" for good
	}{
		"a trailing slash does not matter": {func(*Options) {}, ""},
		"no base URL":                      {func(o *Options) { o.BaseURL = "" }, "base URL is empty"},
		"a base URL without scheme":        {func(o *Options) { o.BaseURL = "api.example.com/api/v1" }, `base URL "api.example.com/api/v1" must begin with https:// or http://`},
		"a base URL without host":          {func(o *Options) { o.BaseURL = "https:///api/v1" }, `base URL "https:///api/v1" names no host`},
		"a base URL with a password":       {func(o *Options) { o.BaseURL = "https://u:secret@api.example.com" }, "base URL must not hold a user or password: the key goes in a header"},
		"a base URL with a query":          {func(o *Options) { o.BaseURL = "https://api.example.com/?a=1" }, `base URL "https://api.example.com/?a=1" must not hold a query or a fragment`},
		"a base URL that is none":          {func(o *Options) { o.BaseURL = "https://a b%%/secret" }, "base URL cannot be read as a URL"},
		"no key":                           {func(o *Options) { o.Key = "" }, "API key is empty"},
		"a key with a line end":            {func(o *Options) { o.Key = "abc\n" }, "API key holds a space, a control character or a letter outside ASCII at position 4 of 4"},
		"a text path that is a URL":        {func(o *Options) { o.TextPath = "https://x/y" }, `text path "https://x/y" must be a plain path below the base URL, such as /send-message`},
		"a text path without slash":        {func(o *Options) { o.TextPath = "send-message" }, ""},
		"a negative timeout":               {func(o *Options) { o.Timeout = -time.Second }, "concurrency and timeout must not be negative"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := good
			tt.change(&o)
			_, err := New(o)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tt.want, text); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheKeyIsNeverPrinted(t *testing.T) {
	o := Options{BaseURL: "https://api.example.com/api/v1", Key: testKey}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		fmt.Sprint(o), fmt.Sprintf("%+v", o), fmt.Sprintf("%#v", o), string(inJSON),
		fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%v", []any{c, &o}),
	} {
		if strings.Contains(text, testKey) {
			t.Errorf("the key is in %q", text)
		}
	}
}
