package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// want is how a send should end.
type want struct {
	outcome Outcome
	status  int
	wait    time.Duration
	text    string // the whole error, as a regular expression
}

func checkEnd(t *testing.T, w want, err error) {
	t.Helper()
	if got := OutcomeOf(err); got != w.outcome {
		t.Errorf("outcome %q, want %q (%v)", got, w.outcome, err)
	}
	if w.outcome == Accepted {
		return
	}
	call, ok := errors.AsType[*CallError](err)
	if !ok {
		t.Fatalf("error %T is no *CallError", err)
	}
	if call.HTTPStatus != w.status || call.RetryAfter != w.wait {
		t.Errorf("status %d and wait %s, want %d and %s", call.HTTPStatus, call.RetryAfter, w.status, w.wait)
	}
	if !regexp.MustCompile("^" + w.text + "$").MatchString(err.Error()) {
		t.Errorf("error is\n%s\nwant a match of\n%s", err, w.text)
	}
	for _, secret := range []string{testKey, testPhone} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("error tells %q: %v", secret, err)
		}
	}
}

var message = TemplateMessage{Phone: testPhone, Template: "cart_reminder", Language: "en", Variables: []string{"Ada"}}

func TestAnswersOfTheService(t *testing.T) {
	date := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		status int
		header map[string]string
		body   string
		want   want
	}{
		"200 is accepted":           {200, nil, `{"message_id":7}`, want{outcome: Accepted}},
		"201 is accepted":           {201, nil, `{}`, want{outcome: Accepted}},
		"204 is accepted":           {204, nil, ``, want{outcome: Accepted}},
		"junk with 200 is accepted": {200, nil, "<<<\x00\xff", want{outcome: Accepted}},
		"200 with a web page is in doubt, because somebody else may have given it": {
			200,
			map[string]string{"Content-Type": "text/html; charset=utf-8"},
			"\n<!doctype html><html><head><title>Hotel wifi</title></head><body>Please log in</body></html>",
			want{InDoubt, 200, 0, `send-template: 200 OK: Hotel wifi: a web page, and not an answer of the service`},
		},
		"200 with JSON that is called HTML is accepted": {
			200, map[string]string{"Content-Type": "text/html"}, `{"message_id":7}`, want{outcome: Accepted},
		},
		"200 with nothing that is called HTML is accepted": {200, map[string]string{"Content-Type": "text/html"}, ``, want{outcome: Accepted}},
		"429 with seconds waits": {
			429,
			map[string]string{"Retry-After": "7"},
			`{"error":"slow down"}`,
			want{NotAccepted, 429, 7 * time.Second, `send-template: 429 Too Many Requests: slow down; try again in 7s`},
		},
		"429 with a date waits until then by the clock of the answer": {
			429,
			map[string]string{"Retry-After": date.Add(90 * time.Second).Format(http.TimeFormat), "Date": date.Format(http.TimeFormat)},
			``,
			want{NotAccepted, 429, 90 * time.Second, `send-template: 429 Too Many Requests; try again in 1m30s`},
		},
		"429 with a date gone by may be tried at once": {
			429,
			map[string]string{"Retry-After": date.Add(-time.Hour).Format(http.TimeFormat), "Date": date.Format(http.TimeFormat)},
			``,
			want{NotAccepted, 429, 0, `send-template: 429 Too Many Requests`},
		},
		"429 without Retry-After says no time": {
			429, nil, `{"message":"quota"}`,
			want{NotAccepted, 429, 0, `send-template: 429 Too Many Requests: quota`},
		},
		"429 that asks for a year waits a day": {
			429,
			map[string]string{"Retry-After": "31536000"},
			``,
			want{NotAccepted, 429, 24 * time.Hour, `send-template: 429 Too Many Requests; try again in 24h0m0s`},
		},
		"503 with seconds was not taken": {
			503,
			map[string]string{"Retry-After": "30"},
			`maintenance`,
			want{NotAccepted, 503, 30 * time.Second, `send-template: 503 Service Unavailable: maintenance; try again in 30s`},
		},
		"503 with a date was not taken": {
			503,
			map[string]string{"Retry-After": date.Add(time.Minute).Format(http.TimeFormat), "Date": date.Format(http.TimeFormat)},
			``,
			want{NotAccepted, 503, time.Minute, `send-template: 503 Service Unavailable; try again in 1m0s`},
		},
		"503 without Retry-After is in doubt": {
			503, nil, `<html><head><title>503 Service Temporarily Unavailable</title>`,
			want{InDoubt, 503, 0, `send-template: 503 Service Unavailable: 503 Service Temporarily Unavailable`},
		},
		"503 with a Retry-After nobody can read is in doubt": {
			503,
			map[string]string{"Retry-After": "soon"},
			``,
			want{InDoubt, 503, 0, `send-template: 503 Service Unavailable`},
		},
		"500 is in doubt": {500, nil, `{"error":{"message":"oops"}}`, want{InDoubt, 500, 0, `send-template: 500 Internal Server Error: oops`}},
		"500 with Retry-After is in doubt all the same": {
			500,
			map[string]string{"Retry-After": "3"},
			``,
			want{InDoubt, 500, 3 * time.Second, `send-template: 500 Internal Server Error; try again in 3s`},
		},
		"502 is in doubt":   {502, nil, ``, want{InDoubt, 502, 0, `send-template: 502 Bad Gateway`}},
		"504 is in doubt":   {504, nil, ``, want{InDoubt, 504, 0, `send-template: 504 Gateway Timeout`}},
		"408 is in doubt":   {408, nil, ``, want{InDoubt, 408, 0, `send-template: 408 Request Timeout`}},
		"425 was not taken": {425, nil, ``, want{NotAccepted, 425, 0, `send-template: 425 Too Early`}},
		"400 is refused in the words of the service": {
			400, nil, `{"success":false,"error":"template \"x\" is not approved"}`,
			want{Rejected, 400, 0, `send-template: 400 Bad Request: template "x" is not approved`},
		},
		"401 is refused": {401, nil, `{"error":"unknown key ` + testKey + `"}`, want{Rejected, 401, 0, `send-template: 401 Unauthorized: unknown key \[key\]`}},
		"422 masks the phone that the service repeats": {
			422, nil, `{"errors":[{"message":"phone ` + testPhone + ` is not valid"}]}`,
			want{Rejected, 422, 0, `send-template: 422 Unprocessable Entity: phone 4477\*{6}23 is not valid`},
		},
		"a status nobody knows is refused with its number": {499, nil, ``, want{Rejected, 499, 0, `send-template: 499`}},
		"200 that says success false and names no message is refused": {
			200, nil, `{"success":false,"error":"insufficient points"}`,
			want{Rejected, 200, 0, `send-template: 200 OK: insufficient points`},
		},
		"200 that says success false but names a message is accepted": {200, nil, `{"success":false,"message_id":5}`, want{outcome: Accepted}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			base := answer(t, func(w http.ResponseWriter, _ *http.Request) {
				for k, v := range tt.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			a, err := open(t, base).SendTemplate(t.Context(), message)
			checkEnd(t, tt.want, err)
			if a.HTTPStatus != tt.status {
				t.Errorf("the answer's status is %d, want %d", a.HTTPStatus, tt.status)
			}
			if tt.status != 204 && a.Raw != strings.ToValidUTF8(strings.ReplaceAll(tt.body, "\x00", "\uFFFD"), "\uFFFD") {
				t.Errorf("raw answer %q is not what was said: %q", a.Raw, tt.body)
			}
		})
	}
}

func TestBeforeTheRequestLeaves(t *testing.T) {
	t.Run("a port nobody listens on", func(t *testing.T) {
		c := open(t, "http://"+vacant(t)+"/api/v1")
		_, err := c.SendTemplate(t.Context(), message)
		checkEnd(t, want{NotAccepted, 0, 0, `send-template: not sent: dial tcp 127\.0\.0\.1:\d+: connect: connection refused`}, err)
	})
	t.Run("a host that does not exist", func(t *testing.T) {
		c := open(t, "http://nudge.invalid/api/v1", patience(3*time.Second))
		_, err := c.SendTemplate(t.Context(), message)
		checkEnd(t, want{NotAccepted, 0, 0, `send-template: not sent: .*`}, err)
	})
	t.Run("a certificate nobody signed", func(t *testing.T) {
		var asked atomic.Int64
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		s.Config.ErrorLog = quiet()
		s.StartTLS()
		t.Cleanup(s.Close)
		_, err := open(t, s.URL).SendTemplate(t.Context(), message)
		checkEnd(t, want{NotAccepted, 0, 0, `send-template: not sent: .*certificate.*`}, err)
		if asked.Load() != 0 {
			t.Error("the request was served")
		}
	})
	t.Run("TLS spoken to a plain server", func(t *testing.T) {
		base := answer(t, func(http.ResponseWriter, *http.Request) { t.Error("the request was served") })
		_, err := open(t, strings.Replace(base, "http:", "https:", 1)).SendTemplate(t.Context(), message)
		checkEnd(t, want{NotAccepted, 0, 0, `send-template: not sent: the base URL says https, but plain HTTP is spoken there: tls: .*`}, err)
	})
	t.Run("a context that is already over", func(t *testing.T) {
		base := answer(t, func(http.ResponseWriter, *http.Request) { t.Error("the request was served") })
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := open(t, base).SendTemplate(ctx, message)
		checkEnd(t, want{NotAccepted, 0, 0, `send-template: not sent: context canceled`}, err)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v is not context.Canceled", err)
		}
	})
	t.Run("a service that accepts connections and never shakes hands", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		_, err = open(t, "https://"+ln.Addr().String(), patience(50*time.Millisecond)).SendTemplate(t.Context(), message)
		checkEnd(t, want{NotAccepted, 0, 0, `send-template: not sent: context deadline exceeded \(at most 50ms\)`}, err)
	})
	t.Run("every connection is taken until the time is up", func(t *testing.T) {
		hold, held := make(chan struct{}), make(chan struct{}, 1)
		base := answer(t, func(http.ResponseWriter, *http.Request) {
			held <- struct{}{}
			<-hold
		})
		c := open(t, base, func(o *Options) { o.Concurrency = 1 })
		var first sync.WaitGroup
		first.Go(func() {
			if _, err := c.SendTemplate(t.Context(), message); err != nil {
				t.Errorf("the call that held the connection: %v", err)
			}
		})
		<-held
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err := c.SendTemplate(ctx, message)
		close(hold)
		first.Wait()
		checkEnd(t, want{NotAccepted, 0, 0, `send-template: not sent: context deadline exceeded \(at most 5s\)`}, err)
	})
}

func TestAfterTheRequestLeft(t *testing.T) {
	tests := map[string]struct {
		script func(conn net.Conn, nth int64, body []byte) bool
		want   want
	}{
		"the connection is closed without an answer": {
			func(net.Conn, int64, []byte) bool { return false },
			want{InDoubt, 0, 0, `send-template: sent, but not answered: .*EOF`},
		},
		"the connection is reset": {
			func(conn net.Conn, _ int64, _ []byte) bool {
				_ = conn.(*net.TCPConn).SetLinger(0)
				return false
			},
			want{InDoubt, 0, 0, `send-template: sent, but not answered: .*reset by peer`},
		},
		"no answer comes in time": {
			func(net.Conn, int64, []byte) bool { return true },
			want{InDoubt, 0, 0, `send-template: sent, but not answered: context deadline exceeded \(at most 60ms\)`},
		},
		"the answer breaks off within its header": {
			func(conn net.Conn, _ int64, _ []byte) bool { say(conn, "HTTP/1.1 200 OK\r\nContent-"); return false },
			want{InDoubt, 0, 0, `send-template: sent, but not answered: .*malformed MIME header.*`},
		},
		"the answer is not HTTP": {
			func(conn net.Conn, _ int64, _ []byte) bool { return say(conn, "SSH-2.0-x\r\n\r\n") && false },
			want{InDoubt, 0, 0, `send-template: sent, but not answered: .*malformed HTTP.*`},
		},
		"a 2xx whose body is cut was taken": {
			func(conn net.Conn, _ int64, _ []byte) bool {
				return say(conn, "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{\"message_id\":12") && false
			},
			want{outcome: Accepted},
		},
		"a 2xx whose body never ends was taken": {
			func(conn net.Conn, _ int64, _ []byte) bool {
				return say(conn, "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{\"message_id\":12")
			},
			want{outcome: Accepted},
		},
		"a refusal whose body is cut is refused": {
			func(conn net.Conn, _ int64, _ []byte) bool {
				return say(conn, "HTTP/1.1 400 Bad Request\r\nContent-Length: 400\r\n\r\nno such template") && false
			},
			want{Rejected, 400, 0, `send-template: 400 Bad Request: no such template`},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, base := scripted(t, tt.script)
			a, err := open(t, base, patience(60*time.Millisecond)).SendTemplate(t.Context(), message)
			checkEnd(t, tt.want, err)
			if a.MessageID != "" {
				t.Errorf("read the message id %q from an answer that was cut", a.MessageID)
			}
			if n := w.whole.Load(); n != 1 {
				t.Errorf("the service read the request %d times, want once", n)
			}
		})
	}
}

// A server that closes a kept connection at the moment of the next request is where net/http
// repeats requests by itself. A send must not be; a status look-up may.
func TestAClosedKeptConnectionNeverRepeatsASend(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{\"message_id\":1}"
	for name, cut := range map[string]func(net.Conn){
		"closed": func(net.Conn) {},
		"reset":  func(conn net.Conn) { _ = conn.(*net.TCPConn).SetLinger(0) },
	} {
		t.Run(name, func(t *testing.T) {
			w, base := scripted(t, func(conn net.Conn, nth int64, _ []byte) bool {
				if nth == 1 {
					return say(conn, ok)
				}
				cut(conn)
				return false
			})
			c := open(t, base)
			if _, err := c.SendTemplate(t.Context(), message); err != nil {
				t.Fatal(err)
			}
			_, err := c.SendTemplate(t.Context(), message)
			checkEnd(t, want{InDoubt, 0, 0, `send-template: sent, but not answered: .*`}, err)
			if calls, conns := w.whole.Load(), w.conns.Load(); calls != 2 || conns != 1 {
				t.Errorf("the service read %d requests on %d connections, want 2 on 1", calls, conns)
			}
		})
	}
	t.Run("a status look-up is asked again on a new connection", func(t *testing.T) {
		w, base := scripted(t, func(conn net.Conn, nth int64, _ []byte) bool {
			if nth == 2 {
				return false
			}
			return say(conn, "HTTP/1.1 200 OK\r\nContent-Length: 35\r\n\r\n{\"status\":\"sent\",\"delivered\":false}")
		})
		c := open(t, base)
		for range 2 {
			if _, err := c.MessageStatus(t.Context(), "1"); err != nil {
				t.Fatal(err)
			}
		}
		if calls := w.whole.Load(); calls != 3 {
			t.Errorf("the service read %d requests, want 3", calls)
		}
	})
}

func TestARedirectIsAnAnswer(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			elsewhere := answer(t, func(_ http.ResponseWriter, r *http.Request) {
				t.Errorf("the key went to another place: %v", r.Header["Authorization"] != nil)
			})
			base := answer(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", elsewhere+"/send-template?token=abc")
				w.WriteHeader(status)
			})
			_, err := open(t, base).SendTemplate(t.Context(), message)
			checkEnd(t, want{Rejected, status, 0, fmt.Sprintf(
				`send-template: %d %s: redirects are not followed \(to http://127\.0\.0\.1:\d+/api/v1/send-template\)`,
				status, http.StatusText(status))}, err)
		})
	}
}

// Whatever moment a call is cut short at, NotAccepted must mean that the service never saw the whole
// request, and no request may come twice. Over HTTP/2 the service takes few requests at a time on a
// connection, and often says that it will take no more.
func TestNotAcceptedIsNeverWrong(t *testing.T) {
	for _, over2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %v", over2), func(t *testing.T) {
			var seen sync.Map // of whole bodies
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if over2 != (r.ProtoMajor == 2) {
					t.Errorf("spoke %s", r.Proto)
				}
				if body, err := io.ReadAll(r.Body); err == nil {
					if _, again := seen.Swap(string(body), true); again {
						t.Errorf("%s came twice", body)
					}
				}
				if rand.IntN(8) == 0 {
					w.Header().Set("Connection", "close") // GOAWAY in HTTP/2
				}
				_, _ = io.WriteString(w, `{"message_id":1}`)
			}))
			s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 2}
			s.Config.ErrorLog = quiet()
			s.EnableHTTP2 = over2
			s.StartTLS()
			t.Cleanup(s.Close)
			c := open(t, s.URL+"/api/v1", func(o *Options) { o.Concurrency = 4 })
			c.transport.TLSClientConfig = &tls.Config{RootCAs: s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
			counts := map[Outcome]int{}
			var refused []string
			var mu sync.Mutex
			var all sync.WaitGroup
			for w := range 8 {
				all.Go(func() {
					dice := rand.New(rand.NewPCG(uint64(w), 1))
					for i := range 150 {
						id := fmt.Sprintf("%d-%d", w, i)
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(dice.IntN(3000))*time.Microsecond)
						_, err := c.SendCampaign(ctx, testPhone, id)
						cancel()
						mu.Lock()
						counts[OutcomeOf(err)]++
						if OutcomeOf(err) == NotAccepted {
							refused = append(refused, id)
						}
						mu.Unlock()
					}
				})
			}
			all.Wait()
			for i := range 8 { // broken connections hold no place in the pool
				if _, err := c.SendCampaign(t.Context(), testPhone, fmt.Sprint("after-", i)); OutcomeOf(err) == NotAccepted {
					t.Errorf("with time enough: %v", err)
				}
			}
			time.Sleep(20 * time.Millisecond) // whatever still travels may arrive
			for _, id := range refused {
				if _, ok := seen.Load(`{"phone":"` + testPhone + `","campaign_id":"` + id + `"}`); ok {
					t.Errorf("call %s was reported as not accepted, but the service read it", id)
				}
			}
			t.Logf("outcomes: %v", counts)
			if counts[NotAccepted] == 0 || counts[Accepted] == 0 || counts[Rejected] > 0 {
				t.Errorf("the calls proved nothing: %v", counts)
			}
		})
	}
}

func TestOutcomeOf(t *testing.T) {
	tests := map[string]struct {
		err  error
		want Outcome
	}{
		"no error is accepted":                   {nil, Accepted},
		"a call error tells its own":             {&CallError{Outcome: Rejected}, Rejected},
		"a wrapped call error tells its own":     {fmt.Errorf("send: %w", &CallError{Outcome: NotAccepted}), NotAccepted},
		"an error from elsewhere proves nothing": {io.ErrUnexpectedEOF, InDoubt},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, OutcomeOf(tt.err)); diff != "" {
				t.Errorf("OutcomeOf (-want +got):\n%s", diff)
			}
		})
	}
}

// All calls that ask the service to do something read a 2xx that says no in the same way: without an id it is a refusal in the
// service's words, with one it was taken and is followed.
func TestA2xxThatSaysNoIsARefusalForEveryCall(t *testing.T) {
	calls := map[string]func(*Client) (Answer, error){
		"send-template": func(c *Client) (Answer, error) { return c.SendTemplate(t.Context(), message) },
		"send-campaign": func(c *Client) (Answer, error) { return c.SendCampaign(t.Context(), testPhone, "417") },
		"text":          func(c *Client) (Answer, error) { return c.SendText(t.Context(), testPhone, "hello") },
		"create-with-csv": func(c *Client) (Answer, error) {
			return c.CreateCampaign(t.Context(), "winback", 1042, "list.csv", strings.NewReader("phone\n"), 6)
		},
	}
	for body, words := range map[string]string{
		`{"error":"insufficient points"}`:                           "insufficient points",
		`{"status":"failed","error":"insufficient points"}`:         "insufficient points",
		`{"data":{"status":"Failed","error":"no such template"}}`:   "no such template",
		`{"success":true,"status":"FAILED","reason":"not allowed"}`: "not allowed",
		`{"success":false,"error":"insufficient points"}`:           "insufficient points",
		`{"success":true,"message_id":0,"error":"no such list"}`:    "no such list",
	} {
		for name, call := range calls {
			t.Run(name+" "+body, func(t *testing.T) {
				for _, id := range []string{"", "7"} {
					said := body
					if id != "" {
						said = `{"message_id":` + id + `,` + body[1:]
					}
					_, err := call(open(t, answer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, said) })))
					refused, is := errors.AsType[*CallError](err)
					if id != "" {
						if err != nil {
							t.Errorf("with an id: %v", err)
						}
						continue
					}
					if !is || refused.Outcome != Rejected || refused.HTTPStatus != http.StatusOK || refused.Words != words {
						t.Errorf("without an id: %v", err)
					}
				}
			})
		}
	}
}
