package apiclient

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A step is how far a request and its answer come before the service breaks.
type step string

const (
	beforeIt    step = "on the waiting connection" // after an earlier request, before this one
	afterHeader step = "after the header"
	afterPart   step = "after a part of the body"
	afterWhole  step = "after the whole body"
	afterAnswer step = "after the answer's header"
	midAnswer   step = "within the answer"
)

// A fault is one way to break.
type fault struct {
	name     string
	over2    bool // there is no such thing over HTTP/1
	finishes bool // the service answers all the same
	loses    bool // an answer on its way may be lost
	do       func(*link)
}

// A link is a connection of a breaking service.
type link struct {
	net.Conn               // TLS
	raw      *net.TCPConn  // below it
	frames   *http2.Framer // nil over HTTP/1
	stream   uint32        // the one that breaks
}

var faults = []fault{
	{name: "cut", do: func(l *link) { _ = l.raw.CloseWrite() }},
	{name: "reset", loses: true, do: func(l *link) { _ = l.raw.SetLinger(0); _ = l.raw.Close() }},
	{name: "RST_STREAM REFUSED_STREAM", over2: true, do: resets(http2.ErrCodeRefusedStream)},
	{name: "RST_STREAM PROTOCOL_ERROR", over2: true, do: resets(http2.ErrCodeProtocol)},
	{name: "RST_STREAM CANCEL", over2: true, do: resets(http2.ErrCodeCancel)},
	{name: "RST_STREAM INTERNAL_ERROR", over2: true, do: resets(http2.ErrCodeInternal)},
	{name: "GOAWAY below the stream", over2: true, do: leaves(2, http2.ErrCodeNo)},
	{name: "GOAWAY below the stream, with an error", over2: true, do: leaves(2, http2.ErrCodeEnhanceYourCalm)},
	{name: "GOAWAY from the stream on, and an answer", over2: true, finishes: true, do: leaves(0, http2.ErrCodeNo)},
	{name: "GOAWAY from the stream on, and a cut", over2: true, do: func(l *link) {
		leaves(0, http2.ErrCodeNo)(l)
		_ = l.raw.CloseWrite()
	}},
}

func resets(code http2.ErrCode) func(*link) {
	return func(l *link) { _ = l.frames.WriteRSTStream(l.stream, code) }
}

// leaves tells the client that streams up to below under the breaking one are served, and no others.
func leaves(below uint32, code http2.ErrCode) func(*link) {
	return func(l *link) { _ = l.frames.WriteGoAway(max(l.stream, below)-below, code, nil) }
}

// A breaking service answers templates, and breaks once over any other request.
type breaking struct {
	at    step
	fault fault

	mu                  sync.Mutex
	broke               bool
	conns, begun, whole int           // connections; requests but templates, by their header and to the last byte
	seen                chan struct{} // closed once the client has noticed a break on the waiting connection
	once                sync.Once
}

// breaks breaks the connection if this is the moment, and reports whether the request is lost.
func (s *breaking) breaks(l *link, at step) (lost bool) {
	s.mu.Lock()
	hit := at == s.at && !s.broke
	s.broke = s.broke || hit
	s.mu.Unlock()
	if hit {
		s.fault.do(l)
	}
	return hit && !s.fault.finishes
}

func (s *breaking) count(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

func (s *breaking) noticed() { s.once.Do(func() { close(s.seen) }) }

// start serves over TLS and returns a client.
func (s *breaking) start(t *testing.T, protocol string, set ...func(*Options)) *Client {
	t.Helper()
	s.seen = make(chan struct{})
	identity := httptest.NewUnstartedServer(nil)
	identity.StartTLS()
	identity.Close()
	config := &tls.Config{Certificates: identity.TLS.Certificates, NextProtos: []string{protocol}}
	addr := serve(t, func(raw net.Conn) {
		s.count(&s.conns)
		conn := tls.Server(raw, config)
		l := &link{Conn: conn, raw: raw.(*net.TCPConn)}
		if conn.Handshake() != nil {
			return
		}
		if protocol == "h2" {
			s.serve2(l)
		} else {
			s.serve1(l)
		}
		_, _ = io.Copy(io.Discard, raw) // until the client has seen the end, too
		if s.at == beforeIt {
			s.noticed()
		}
	})
	c := open(t, "https://"+addr+"/api/v1", set...)
	c.transport.TLSClientConfig = &tls.Config{RootCAs: identity.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}
	return c
}

const breakingAnswer = `{"success":true,"message_id":12}`

func (s *breaking) serve1(l *link) {
	in := bufio.NewReader(l)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		earlier := strings.HasSuffix(r.URL.Path, "/send-template")
		lost := func(at step) bool { return !earlier && s.breaks(l, at) }
		if !earlier {
			s.count(&s.begun)
		}
		if lost(afterHeader) {
			return
		}
		if r.Header.Get("Expect") != "" {
			say(l, "HTTP/1.1 100 Continue\r\n\r\n")
		}
		if _, err := io.CopyN(io.Discard, r.Body, 5); err != nil || lost(afterPart) {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		if !earlier {
			s.count(&s.whole)
		}
		if lost(afterWhole) {
			return
		}
		say(l, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(breakingAnswer)))
		if lost(afterAnswer) {
			return
		}
		say(l, breakingAnswer[:9])
		if lost(midAnswer) {
			return
		}
		say(l, breakingAnswer[9:])
		if earlier && s.breaks(l, beforeIt) {
			return
		}
	}
}

func (s *breaking) serve2(l *link) {
	if _, err := io.ReadFull(l, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	l.frames = http2.NewFramer(l, l)
	l.frames.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	// Every body comes in parts.
	_ = l.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 8})
	earlier, gone := map[uint32]bool{}, map[uint32]bool{}
	for {
		frame, err := l.frames.ReadFrame()
		if err != nil {
			return
		}
		id := frame.Header().StreamID
		lost := func(at step) bool {
			if !earlier[id] && s.breaks(l, at) {
				gone[id] = true
			}
			return gone[id]
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = l.frames.WriteSettingsAck()
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = l.frames.WritePing(true, f.Data)
			} else if s.at == beforeIt {
				s.noticed()
			}
		case *http2.MetaHeadersFrame:
			l.stream = id
			earlier[id] = strings.HasSuffix(f.PseudoValue("path"), "/send-template")
			if !earlier[id] {
				s.count(&s.begun)
			}
			if !lost(afterHeader) && slices.ContainsFunc(f.RegularFields(), func(h hpack.HeaderField) bool { return h.Name == "expect" }) {
				l.status(id, "100")
			}
		case *http2.DataFrame:
			if n := uint32(len(f.Data())); n > 0 {
				_ = l.frames.WriteWindowUpdate(0, n)
				if !f.StreamEnded() && !lost(afterPart) {
					_ = l.frames.WriteWindowUpdate(id, 1<<16) // the rest may come at once
				}
			}
			if f.StreamEnded() && !gone[id] {
				s.answer2(l, id, earlier[id], lost)
			}
		}
	}
}

// answer2 answers a request whose last byte has come.
func (s *breaking) answer2(l *link, id uint32, earlier bool, lost func(step) bool) {
	if !earlier {
		s.count(&s.whole)
	}
	if lost(afterWhole) {
		return
	}
	l.status(id, "200")
	if lost(afterAnswer) {
		return
	}
	_ = l.frames.WriteData(id, false, []byte(breakingAnswer[:9]))
	if lost(midAnswer) {
		return
	}
	_ = l.frames.WriteData(id, true, []byte(breakingAnswer[9:]))
	if earlier {
		l.stream = id
		s.breaks(l, beforeIt)
		_ = l.frames.WritePing(false, [8]byte{1}) // answered after what came before it
	}
}

func (l *link) status(id uint32, code string) {
	var block bytes.Buffer
	_ = hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: code})
	_ = l.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true})
}

// outcomes are how a call may end. announced is an upload that waits for the service's go-ahead.
func outcomes(at step, f fault, announced bool) []Outcome {
	switch {
	case f.loses && at == beforeIt:
		return []Outcome{Accepted, NotAccepted, InDoubt}
	case f.finishes || at == beforeIt:
		return []Outcome{Accepted}
	case at == afterHeader && announced:
		return []Outcome{NotAccepted}
	case at == afterHeader: // the body is on its way, or not yet
		return []Outcome{NotAccepted, InDoubt}
	case at == afterPart, at == afterWhole:
		return []Outcome{InDoubt}
	case f.loses:
		return []Outcome{Accepted, InDoubt}
	default:
		return []Outcome{Accepted}
	}
}

// Whatever breaks, whenever: no request reaches the service twice, what is reported as not accepted did
// not reach it whole, and what is reported as accepted did.
func TestNoRequestReachesTheServiceTwice(t *testing.T) {
	file := strings.Repeat("447700900123\n", askFirst/13+1)
	calls := []struct {
		name      string
		kept      bool // there was a request on the connection before
		announced bool
		call      func(c *Client) (Answer, error)
	}{
		{"a message", true, false, func(c *Client) (Answer, error) { return c.SendCampaign(t.Context(), testPhone, "417") }},
		{"a message on a new connection", false, false, func(c *Client) (Answer, error) { return c.SendCampaign(t.Context(), testPhone, "417") }},
		{"an announced upload", true, true, func(c *Client) (Answer, error) {
			return c.CreateCampaign(t.Context(), "spring", 1042, "spring.csv", strings.NewReader(file), int64(len(file)))
		}},
	}
	for _, protocol := range []string{"http/1.1", "h2"} {
		for _, call := range calls {
			for _, at := range []step{beforeIt, afterHeader, afterPart, afterWhole, afterAnswer, midAnswer} {
				for _, f := range faults {
					if f.over2 && protocol != "h2" || !call.kept && (at == beforeIt || at == afterPart) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/%s", protocol, call.name, at, f.name), func(t *testing.T) {
						s := &breaking{at: at, fault: f}
						c := s.start(t, protocol, func(o *Options) { o.Concurrency = 1 }) // what broke must make way
						if call.kept {
							if _, err := c.SendTemplate(t.Context(), message); err != nil {
								t.Fatal(err)
							}
						}
						if at == beforeIt {
							<-s.seen
						}
						_, err := call.call(c)
						s.check(t, outcomes(at, f, call.announced), err)
						if _, err := c.SendTemplate(t.Context(), message); err != nil {
							t.Errorf("the next call: %v", err)
						}
					})
				}
			}
		}
	}
}

func (s *breaking) check(t *testing.T, want []Outcome, err error) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	got := OutcomeOf(err)
	if !slices.Contains(want, got) {
		t.Errorf("outcome %s, want %s (%v)", got, want, err)
	}
	if s.begun > 1 || s.whole > 1 {
		t.Errorf("the service saw the request %d times, %d times whole", s.begun, s.whole)
	}
	if got == NotAccepted && s.whole > 0 || got == Accepted && s.whole == 0 {
		t.Errorf("reported as %s, and it came whole %d times", got, s.whole)
	}
}

// A connection that fell silent is found within the timeout of the call that it holds, and takes no other.
func TestASilentConnectionIsFound(t *testing.T) {
	const patient = 800 * time.Millisecond
	s := &breaking{at: afterWhole, fault: fault{do: func(l *link) { _, _ = io.Copy(io.Discard, l.raw) }}}
	c := s.start(t, "h2", patience(patient), func(o *Options) { o.Concurrency = 1 })
	_, err := c.SendCampaign(t.Context(), testPhone, "417")
	if OutcomeOf(err) != InDoubt || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want a lost connection before the time is up", err)
	}
	if _, err := c.SendTemplate(t.Context(), message); err != nil || s.conns != 2 {
		t.Errorf("%v on %d connections, want an answer on a second", err, s.conns)
	}
}
