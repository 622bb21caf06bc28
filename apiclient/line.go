package apiclient

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http/httptrace"
	"sync"
)

// A line is a connection to the service that counts what was written to it.
//
// A message's few hundred bytes should travel in one packet with their header. The transport does
// that only for a body of a type it knows to be in memory, and such a body cannot tell whether it
// was read (see body). Its connection can tell more: what the system never took, the service
// never saw. It speaks HTTP/1.1, so what is written belongs to the one request that holds it.
type line struct {
	net.Conn

	mu      sync.Mutex
	written int64
	cut     bool // nothing more goes out
}

// Write counts what the system took.
func (l *line) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return 0, errSealed
	}
	n, err := l.Conn.Write(p)
	l.written += int64(n)
	return n, err
}

// end cuts the line, and reports whether anything was written since it stood at mark. It is for
// calls that failed: the transport uses their connection for no other.
func (l *line) end(mark int64) (moved bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	return l.written != mark
}

// dialLine makes every connection of a transport a line.
func dialLine(d *net.Dialer) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &line{Conn: conn}, nil
	}
}

// lineOf finds the line below TLS; nil when there is none.
func lineOf(conn net.Conn) *line {
	for {
		switch c := conn.(type) {
		case *line:
			return c
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return nil
		}
	}
}

// A memo is a request's content in memory, with the proof whether any of it may have left.
type memo struct {
	content bytes.Reader
	trace   httptrace.ClientTrace

	got  bool  // there was a connection
	line *line // the one it was
	mark int64 // where the line stood before the request
}

// newMemo is a memo of content, which the transport may read even after the call has ended: it
// must never change again.
func newMemo(content []byte) *memo {
	m := new(memo)
	m.content.Reset(content)
	m.trace.GotConn = m.gotConn
	return m
}

func (m *memo) gotConn(info httptrace.GotConnInfo) {
	m.got, m.line = true, lineOf(info.Conn)
	if m.line != nil {
		m.line.mu.Lock()
		m.mark = m.line.written
		m.line.mu.Unlock()
	}
}

// body is the content as the transport knows it to be in memory.
func (m *memo) body() io.ReadCloser { return io.NopCloser(&m.content) }

// seal lets nothing more of the request out and reports whether any of it may have left.
func (m *memo) seal() (left bool) {
	if m.line == nil {
		return m.got
	}
	return m.line.end(m.mark)
}
