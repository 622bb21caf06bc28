package alerts

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"go.uber.org/goleak"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/receiver"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func keyNotice(words string) messaging.AlertNotice {
	return messaging.AlertNotice{
		ID: "ID1", Receiver: "r", Condition: All, CreatedAt: noon, Began: noon,
		Trouble: messaging.Trouble{Code: messaging.TroubleKey, Severity: messaging.Stops, Words: words, Hint: `"nudgewire reload"`},
	}
}

// What a webhook gets is the shape that docs/alerts.md gives.
func TestAWebhookGetsJSON(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, r.Method+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("User-Agent")+" "+string(body))
	}))
	defer s.Close()
	n := newNetwork("nudgewire/test")
	over := keyNotice("the key")
	over.EndedAt = noon.Add(90 * time.Minute)
	hook := &Receiver{Kind: Webhook, URL: secret.New(s.URL), AllowPrivate: true}
	for _, notices := range [][]messaging.AlertNotice{{keyNotice("the <key>")}, {over}, {keyNotice("a"), keyNotice("b")}} {
		if err := n.send(t.Context(), hook, nil, message(notices, "nudgewire on h")); err != nil {
			t.Fatal(err)
		}
	}
	slack := &Receiver{Kind: Slack, URL: secret.New(s.URL), AllowPrivate: true}
	if err := n.send(t.Context(), slack, nil, message([]messaging.AlertNotice{keyNotice("the <key> & <!channel>")}, "nudgewire on h")); err != nil {
		t.Fatal(err)
	}
	const head = "POST application/json nudgewire/test "
	const begun = `{"state":"begun","code":"key","severity":"stops","condition":"all","words":`
	want := []string{
		`{"id":"ID","at":"2026-11-20T12:00:00Z","from":"nudgewire on h","text":"the \u003ckey\u003e\n  what to do: \"nudgewire reload\"","alerts":[` + begun + `"the \u003ckey\u003e","hint":"\"nudgewire reload\"","since":"2026-11-20T12:00:00Z"}]}`,
		`{"id":"ID","at":"2026-11-20T12:00:00Z","from":"nudgewire on h","text":"over after 1h30m: the key","alerts":[{"state":"over","code":"key","severity":"stops","condition":"all","words":"the key","since":"2026-11-20T12:00:00Z","ended_at":"2026-11-20T13:30:00Z","lasted_seconds":5400}]}`,
		`{"id":"ID","at":"2026-11-20T12:00:00Z","from":"nudgewire on h","text":"2 alerts in one, because there were so many:\na\n  what to do: \"nudgewire reload\"\nb\n  what to do: \"nudgewire reload\"","alerts":[` + begun + `"a","hint":"\"nudgewire reload\"","since":"2026-11-20T12:00:00Z"},` + begun + `"b","hint":"\"nudgewire reload\"","since":"2026-11-20T12:00:00Z"}]}`,
		`{"text":"*nudgewire on h* the \u0026lt;key\u0026gt; \u0026amp; \u0026lt;!channel\u0026gt;\n  what to do: \"nudgewire reload\""}`,
	}
	id := regexp.MustCompile(`"id":"[0-9a-f]{32}"`)
	for i := range want {
		if i < len(got) {
			got[i] = id.ReplaceAllString(got[i], `"id":"ID"`)
		}
		if i >= len(got) || got[i] != head+want[i] {
			t.Errorf("request %d\n got %s\nwant %s", i, got[min(i, len(got)-1)], head+want[i])
		}
	}
}

// A receiver that tells repeats by the id must not take a message for a repeat because it begins as another did.
func TestAMessageIsKnownByAllThatItTells(t *testing.T) {
	one, two := keyNotice("a"), keyNotice("b")
	two.ID = "ID2"
	id := func(notices ...messaging.AlertNotice) string { return message(notices, "").ID }
	seen := map[string]int{id(one): 1, id(two): 2, id(one, two): 3}
	if len(seen) != 3 || seen[id(one)] != 1 || seen[id(one, two)] != 3 {
		t.Errorf("three messages have the ids %v", seen)
	}
}

// Whatever goes wrong, the address is a secret.
func TestWhatGoesWrongIsToldWithoutTheAddress(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/token/gone":
			http.Error(w, "no_service for http://"+r.Host+r.URL.Path, http.StatusNotFound)
		case "/token/path-alone":
			http.Error(w, "Cannot POST "+r.URL.Path, http.StatusNotFound)
		case "/v1/token-in-parts":
			http.Error(w, strings.Repeat(".", 193)+r.URL.RequestURI()+r.URL.Query().Get("key"), http.StatusNotFound)
		case "/token/away":
			http.Redirect(w, r, "/token/ok", http.StatusFound)
		case "/token/later":
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer s.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for address, want := range map[string]string{
		s.URL + "/token/ok":                             "",
		s.URL + "/token/gone":                           "it answers 404: no_service for [secret]",
		s.URL + "/token/path-alone":                     "it answers 404: Cannot POST [secret]",
		s.URL + "/v1/token-in-parts?key=token-as-value": "it answers 404: ...",
		s.URL + "/token/away":                           "it answers 302",
		s.URL + "/token/later":                          "it answers 429",
		closed.URL + "/token":                           "connection refused",
		"https://no-such.invalid/token":                 "no-such.invalid",
		"https://127.0.0.1:1/token\x7f\n":               "its address cannot be used",
	} {
		err := newNetwork("").send(t.Context(), &Receiver{Kind: Webhook, URL: secret.New(address), AllowPrivate: true}, nil, test("1", "", noon))
		switch {
		case want == "" && err == nil:
		case err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "token"):
			t.Errorf("%q: %v, want %q and no token", address, err, want)
		}
		if no, ok := errors.AsType[*receiver.RefusedError](err); ok && (no.After == 2*time.Minute) != (want == "it answers 429") {
			t.Errorf("%q: to come after %s", address, no.After)
		}
	}
	guarded := &Receiver{Kind: Webhook, URL: secret.New(s.URL + "/token/ok")}
	if err := newNetwork("").send(t.Context(), guarded, nil, test("1", "", noon)); err == nil || !strings.Contains(err.Error(), "allow_private: true") {
		t.Errorf("a private address was called: %v", err)
	}
}

// A postOffice is a mail server.
type postOffice struct {
	mu      sync.Mutex
	letters []letterIn
	said    error // to each letter
	tls     bool
	address string
	roots   *x509.CertPool
	name    string // of the user; "" lets everybody send
	used    []string
}

type letterIn struct {
	from string
	to   []string
	text string
}

func (p *postOffice) NewSession(c *smtp.Conn) (smtp.Session, error) { return &session{p: p, c: c}, nil }

type session struct {
	p  *postOffice
	c  *smtp.Conn
	in letterIn
	ok bool
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain, "LOGIN"} }

func (s *session) Auth(mechanism string) (sasl.Server, error) {
	s.p.used = append(s.p.used, mechanism)
	return sasl.NewPlainServer(func(_, username, password string) error {
		if username != s.p.name || password != "pass-of-the-tests" {
			return smtp.ErrAuthFailed
		}
		s.ok = true
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.p.name != "" && !s.ok {
		return smtp.ErrAuthRequired
	}
	_, secured := s.c.TLSConnectionState()
	s.p.tls = secured
	s.in.from = from
	return s.p.said
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.in.to = append(s.in.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.in.text = string(text)
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.p.letters = append(s.p.letters, s.in)
	return nil
}

func (s *session) Reset()        { s.in = letterIn{} }
func (s *session) Logout() error { return nil }

// open starts it, encrypted from the first byte, on demand, or never.
func (p *postOffice) open(t *testing.T, kind TLS) {
	t.Helper()
	s := smtp.NewServer(p)
	s.Domain, s.ReadTimeout, s.WriteTimeout = "localhost", time.Minute, time.Minute
	own := httptest.NewUnstartedServer(nil)
	own.StartTLS()
	pair := own.TLS.Certificates
	p.roots = x509.NewCertPool()
	p.roots.AddCert(own.Certificate())
	own.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	config := &tls.Config{Certificates: pair, MinVersion: tls.VersionTLS12}
	switch kind {
	case Implicit:
		l = tls.NewListener(l, config)
	case StartTLS:
		s.TLSConfig = config
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
}

func TestAnEMailArrives(t *testing.T) {
	words := "the service refuses the API key\r\nBcc: everybody@example.com\r\n\r\nä <b>"
	for name, tt := range map[string]struct {
		server, mail TLS
		user         string
		fails        string
	}{
		"STARTTLS with a password":         {StartTLS, StartTLS, "nudge", ""},
		"TLS with a password":              {Implicit, Implicit, "nudge", ""},
		"in the clear":                     {Off, Off, "", ""},
		"a server without STARTTLS":        {Off, StartTLS, "", "STARTTLS"},
		"a user that the server knows not": {StartTLS, StartTLS, "stranger", "uthentication failed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &postOffice{name: tt.user}
			if tt.user == "stranger" {
				p.name = "nudge"
			}
			p.open(t, tt.server)
			n := newNetwork("nudgewire/test")
			n.roots = p.roots
			m := &Mail{SMTP: p.address, TLS: tt.mail, From: "nudgewire@example.com", AllowPrivate: true}
			if tt.user != "" {
				m.Username, m.Password = tt.user, secret.New("pass-of-the-tests")
			}
			to := &Receiver{Kind: Email, To: []string{"ann@example.com", "ben@example.com"}}
			err := n.send(t.Context(), to, m, message([]messaging.AlertNotice{{
				ID: "ID1", CreatedAt: noon, Began: noon, Condition: All, Trouble: tidy(messaging.Trouble{Words: words, Hint: "reload"}),
			}}, "nudgewire on h"))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || strings.Contains(err.Error(), "pass-of") || len(p.letters) > 0 {
					t.Fatalf("%v, want %q; %d letters", err, tt.fails, len(p.letters))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(p.letters) != 1 || p.tls != (tt.server != Off) {
				t.Fatalf("%d letters, encrypted %t", len(p.letters), p.tls)
			}
			got := p.letters[0]
			if got.from != "nudgewire@example.com" || strings.Join(got.to, " ") != "ann@example.com ben@example.com" {
				t.Errorf("from %s to %v", got.from, got.to)
			}
			letter, err := mail.ReadMessage(strings.NewReader(got.text))
			if err != nil {
				t.Fatal(err)
			}
			subject, err := new(mime.WordDecoder).DecodeHeader(letter.Header.Get("Subject"))
			if err != nil || !strings.HasPrefix(subject, "[nudgewire] the service refuses the API key Bcc: everybody@example.com") {
				t.Errorf("subject %q, %v", subject, err)
			}
			if letter.Header.Get("Bcc") != "" || !regexp.MustCompile(`^<[0-9a-f]{32}@example.com>$`).MatchString(letter.Header.Get("Message-Id")) || letter.Header.Get("Auto-Submitted") != "auto-generated" {
				t.Errorf("head %v", letter.Header)
			}
			if at, err := letter.Header.Date(); err != nil || !at.Equal(noon) {
				t.Errorf("date %v, %v", at, err)
			}
			body, err := io.ReadAll(quotedprintable.NewReader(letter.Body))
			if err != nil || !strings.Contains(string(body), "ä <b>\r\n  what to do: reload\r\n") {
				t.Errorf("body %q, %v", body, err)
			}
		})
	}
}

// A server that says nothing is left when the call is cut.
func TestAMailServerThatHangsIsLeft(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cut := context.WithCancel(t.Context())
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		cut()
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}()
	m := &Mail{SMTP: l.Addr().String(), TLS: Off, From: "n@example.com", AllowPrivate: true}
	if err := newNetwork("").send(ctx, &Receiver{Kind: Email, To: []string{"a@example.com"}}, m, test("1", "", noon)); err == nil {
		t.Error("it was told all the same")
	}
}

// A server that never ends its answer is left, before it fills the memory of the daemon.
func TestAMailServerThatSaysTooMuchIsLeft(t *testing.T) {
	for name, says := range map[string]string{"one line": "220-without end ", "lines": "220-one more\r\n"} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			said := make(chan int)
			go func() {
				n := 0
				defer func() { said <- n }()
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				for err == nil && n < 64<<20 {
					var wrote int
					wrote, err = io.WriteString(c, strings.Repeat(says, 1000))
					n += wrote
				}
			}()
			m := &Mail{SMTP: l.Addr().String(), TLS: Off, From: "n@example.com", AllowPrivate: true}
			if err := newNetwork("").send(t.Context(), &Receiver{Kind: Email, To: []string{"a@example.com"}}, m, test("1", "", noon)); err == nil || !strings.Contains(err.Error(), "says too much") {
				t.Errorf("it fails with %v", err)
			}
			if n := <-said; n == 64<<20 {
				t.Errorf("it took %d bytes", n)
			}
		})
	}
}

// What the server took is told, however the connection ends afterwards. What it did not take is not.
func TestAnEMailThatWasTakenIsTold(t *testing.T) {
	for name, tt := range map[string]struct {
		afterData string // "" closes without an answer
		closes    bool   // right after that
		reset     string
		quit      string
		told      bool
	}{
		"a close right after it was taken": {afterData: "250 taken", closes: true, told: true},
		"a reset that is refused":          {afterData: "250 taken", reset: "502 no such command", quit: "221 bye", told: true},
		"an odd answer to QUIT":            {afterData: "250 taken", reset: "250 ok", quit: "what?", told: true},
		"a close at QUIT":                  {afterData: "250 taken", reset: "250 ok", told: true},
		"a refusal":                        {afterData: "451 later", reset: "250 ok", quit: "221 bye"},
		"a close in place of an answer":    {closes: true},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan struct{})
			go func() {
				defer close(served)
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				say := func(line string) { _, _ = io.WriteString(c, line+"\r\n") }
				say("220 localhost")
				inData := false
				for lines := bufio.NewScanner(c); lines.Scan(); {
					answer, verb := "250 ok", strings.ToUpper(lines.Text())
					switch {
					case inData && verb != ".":
						continue
					case inData:
						inData, answer = false, tt.afterData
						if tt.closes {
							if answer != "" {
								say(answer)
							}
							return
						}
					case verb == "DATA":
						inData, answer = true, "354 go on"
					case verb == "RSET":
						answer = tt.reset
					case verb == "QUIT":
						if answer = tt.quit; answer == "" {
							return
						}
					}
					say(answer)
				}
			}()
			m := &Mail{SMTP: l.Addr().String(), TLS: Off, From: "n@example.com", AllowPrivate: true}
			ctx, cut := context.WithCancel(t.Context())
			err = newNetwork("").send(ctx, &Receiver{Kind: Email, To: []string{"a@example.com"}}, m, test("1", "", noon))
			cut() // as after each delivery: the library leaves a connection open whose goodbye failed
			if (err == nil) != tt.told {
				t.Errorf("told %t, want %t: %v", err == nil, tt.told, err)
			}
			_ = l.Close()
			<-served
		})
	}
}

func TestNoPhoneLeavesWhole(t *testing.T) {
	for text, want := range map[string]string{
		"to 447700900123":            "to 4477******23",
		"to +44 7700 900123, twice":  "to +44 77** ****23, twice",
		"since 2026-11-22 14:02:00":  "since 2026-11-22 14:02:00",
		"run 12 of 300,000 messages": "run 12 of 300,000 messages",
		"a\nb\x1b[31m":               "a b[31m",
	} {
		if got := tidy(messaging.Trouble{Words: text}).Words; got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(Entry{Webhook: secret.New("https://x/token")}); err != nil || strings.Contains(b.String(), "token") {
		t.Errorf("%s, %v", b.String(), err)
	}
}

// The reference tells of every name that a condition may have, and of no other, and after how long it is told. The guide lists them.
func TestThePageTellsOfEveryAlert(t *testing.T) {
	page, err := os.ReadFile("../../docs/alert-names.md")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| .+ \\| .+ \\| ?(\\S*) ?\\|$").FindAllStringSubmatch(string(page), -1) {
		rows[m[1]] = m[2]
	}
	for _, code := range messaging.TroubleCodes {
		if code == messaging.TroubleUntracked {
			continue // is no alert
		}
		wait := ""
		if d := usual[code]; d > 0 {
			wait = units.Duration(d).String()
		}
		if got, ok := rows[string(code)]; !ok || got != wait {
			t.Errorf("%s: the page says %q after %q, want %q", code, map[bool]string{true: "it", false: "nothing"}[ok], got, wait)
		}
		delete(rows, string(code))
		if !strings.Contains(string(guide), "`"+string(code)+"`") {
			t.Errorf("docs/alerts.md does not list %s", code)
		}
	}
	if len(rows) > 0 {
		t.Errorf("the page tells of %v, which no alert is called", rows)
	}
}

func TestConditionsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"all": "all", "halt": "halt", " halt  for 4h ": "halt for 4h", "in_doubt > 10": "in_doubt > 10", "in_doubt > 10 for 1h": "in_doubt > 10 for 1h",
		"failed_rate": "failed_rate", "failed_rate > 5% over 1h": "failed_rate > 5% over 1h", "outage for 0s": "outage for 0s", "all for 10m": "all for 10m",
		"":                           "is empty; write all, or what is to be told, such as points",
		"pionts":                     `"pionts" is nothing that alerts know; did you mean points?`,
		"balance":                    `"balance" is nothing that alerts know; did you mean points?`,
		"untracked":                  `untracked is counted since the data began, so it would never be over; take it out; "nudgewire status" shows the number`,
		"halt > 4":                   `"halt > 4" cannot be read from "> 4" on; write halt, or halt for 1h`,
		"halt for":                   `"halt for" cannot be read from "for" on; write halt, or halt for 1h`,
		"halt for 1h for 2h":         `"halt for 1h for 2h" cannot be read from "for 2h" on; write halt, or halt for 1h`,
		"halt, key":                  `"halt," is nothing that alerts know; did you mean halt?`,
		"in_doubt > ten":             `"ten" is not a whole number; write in_doubt, in_doubt > 10, or in_doubt for 1h`,
		"in_doubt over 1h":           `"in_doubt over 1h" cannot be read from "over 1h" on; write in_doubt, in_doubt > 10, or in_doubt for 1h`,
		"failed_rate > 10%":          `"failed_rate > 10%" names the share or the time, and not both; write failed_rate, or failed_rate > 10% over 15m`,
		"failed_rate > 10 over 1h":   `"10" is not a percentage; write failed_rate, or failed_rate > 10% over 15m`,
		"failed_rate > 100% over 1h": `no more than 100% can fail, so "failed_rate > 100% over 1h" never comes; write failed_rate, or failed_rate > 10% over 15m`,
		"failed_rate > 1% over 2d":   `2d is no window that failures are counted over; write from 1m to 24h`,
	} {
		var c Condition
		got := ""
		if err := c.UnmarshalText([]byte(text)); err == nil {
			got = c.String()
		} else if e, ok := errors.AsType[*units.Error](err); ok {
			got = e.Msg + "; " + e.Hint()
		}
		if got != want {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestWhatIsWrongWithTheSections(t *testing.T) {
	hook := secret.New("https://example.com/1")
	all := []Condition{{Above: -1}}
	for name, tt := range map[string]struct {
		entries []Entry
		mail    *Mail
		want    string // path: msg
	}{
		"all is well":            {[]Entry{{When: all, Webhook: hook}, {When: all, Email: []string{"Ann <ann@example.com>"}}}, &Mail{SMTP: "h.example:25", From: "n@example.com", TLS: Off}, ""},
		"nobody":                 {[]Entry{{When: all}}, nil, "alerts[0]: tells nobody"},
		"no mail":                {[]Entry{{When: all, Email: []string{"a@example.com"}}}, nil, "alerts[0].email: needs the section mail, which says by which server"},
		"no address":             {[]Entry{{When: all, Email: []string{"ann"}}}, &Mail{SMTP: "h.example:25", From: "n@example.com"}, `alerts[0].email[0]: "ann" is not an e-mail address`},
		"a head in an address":   {[]Entry{{When: all, Email: []string{"a@example.com\r\nBcc: b@example.com"}}}, &Mail{SMTP: "h.example:25", From: "n@example.com"}, `alerts[0].email[0]: "a@example.com\r\nBcc: b@example.com" is not an e-mail address`},
		"no server":              {[]Entry{{When: all, Email: []string{"a@example.com"}}}, &Mail{SMTP: "h", From: "n@example.com"}, `mail.smtp: "h" is not a server with its port`},
		"a password in clear":    {[]Entry{{When: all, Email: []string{"a@example.com"}}}, &Mail{SMTP: "h.example:25", From: "n@example.com", TLS: Off, Username: "u", Password: hook}, "mail.tls: a password is not sent in the clear"},
		"a user alone":           {[]Entry{{When: all, Email: []string{"a@example.com"}}}, &Mail{SMTP: "h.example:25", From: "n@example.com", Username: "u"}, "mail.username: there is no password beside it"},
		"a password alone":       {[]Entry{{When: all, Email: []string{"a@example.com"}}}, &Mail{SMTP: "h.example:25", From: "n@example.com", Password: hook}, "mail.password: there is no username beside it"},
		"mail for nobody":        {[]Entry{{When: all, Webhook: hook}}, &Mail{SMTP: "h.example:25", From: "n@example.com"}, "mail: no alert is sent by e-mail"},
		"no URL":                 {[]Entry{{When: all, Slack: secret.New("example.com/token")}}, nil, "alerts[0].slack: is not an address that begins with https://"},
		"in the clear":           {[]Entry{{When: all, Slack: secret.New("http://example.com/token")}}, nil, "alerts[0].slack: begins with http://, so that everybody on the way can read and change what is told"},
		"on this machine":        {[]Entry{{When: all, Slack: secret.New("http://127.0.0.1/token")}}, nil, "alerts[0].slack: begins with http://, so that everybody on the way can read and change what is told"},
		"a private network":      {[]Entry{{When: all, Slack: secret.New("https://desk.internal/token")}}, nil, "alerts[0].slack: leads into a private network"},
		"it is meant":            {[]Entry{{When: all, Slack: secret.New("http://127.0.0.1/token"), AllowPrivate: true}}, nil, ""},
		"a private mail server":  {[]Entry{{When: all, Email: []string{"a@example.com"}}}, &Mail{SMTP: "localhost:25", From: "n@example.com"}, "mail.smtp: leads into a private network"},
		"that server is meant":   {[]Entry{{When: all, Email: []string{"a@example.com"}}}, &Mail{SMTP: "localhost:25", From: "n@example.com", AllowPrivate: true}, ""},
		"a password in it":       {[]Entry{{When: all, Slack: secret.New("https://a:b@example.com/token")}}, nil, "alerts[0].slack: has a user name or password in it"},
		"one name for two":       {[]Entry{{Name: "x", When: all, Webhook: hook}, {Name: "x", When: all, Slack: hook}}, nil, `alerts[1].name: "x" is the name of another receiver already`},
		"two ways of one name":   {[]Entry{{Name: "x", When: all, Webhook: hook, Slack: hook}}, nil, ""},
		"twice to one receiver":  {[]Entry{{When: all, Webhook: hook}, {When: all, Webhook: hook}}, nil, `alerts[1].when[0]: "all" is told to the same receiver already`},
		"two on the same server": {[]Entry{{When: all, Webhook: hook}, {When: all, Webhook: secret.New("https://example.com/2")}}, nil, ""},
	} {
		plan, problems := Compile(tt.entries, tt.mail)
		var got []string
		for _, p := range problems {
			got = append(got, p.Path+": "+p.Msg)
			if p.Hint == "" || strings.Contains(p.Msg+p.Hint, "token") {
				t.Errorf("%s: %+v", name, p)
			}
		}
		if strings.Join(got, "\n") != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
		names := map[string]bool{}
		for _, r := range plan.Receivers {
			if names[r.Name] || strings.Contains(r.Name, "token") || r.Name == "" {
				t.Errorf("%s: the name %q", name, r.Name)
			}
			names[r.Name] = true
		}
	}
}
