//go:build unix

package testserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// A Wire stands between a store or a daemon and its database server and can lose what goes over it. It understands just enough of
// PostgreSQL's protocol to see a COMMIT.
type Wire struct {
	server  string
	listens net.Listener
	running sync.WaitGroup

	mu    sync.Mutex
	lose  Loss
	shut  bool          // from the next loss on connections are refused
	deaf  bool          // connections are refused
	hangs chan struct{} // while it is open nothing passes; nil where all passes
	open  map[net.Conn]bool
}

// A Loss is what becomes of the next COMMIT.
type Loss int

const (
	NothingLost  Loss = iota
	AnswerLost        // the server commits, and nothing that it says to that group of statements comes back
	NeverArrives      // the group of statements with it does not reach the server
)

// NewWire stands before the server of a database and gives the database's address by way of it. The test closes it.
func NewWire(t testing.TB, address string) (w *Wire, by string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w = &Wire{server: u.Host, listens: l, open: map[net.Conn]bool{}}
	w.running.Go(w.accept)
	t.Cleanup(w.close)
	u.Host = l.Addr().String()
	return w, u.String()
}

// Around gives the address of a database as it is without the wire.
func (w *Wire) Around(by string) string {
	return strings.Replace(by, w.listens.Addr().String(), w.server, 1)
}

func (w *Wire) close() {
	w.Hang(false)
	_ = w.listens.Close()
	w.Cut()
	w.running.Wait()
}

// Cut closes every connection.
func (w *Wire) Cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.Close()
	}
}

// Lose says what becomes of the next COMMIT, and whether no connection is taken from then on.
func (w *Wire) Lose(l Loss, shut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose, w.shut, w.deaf = l, shut, false
}

// Hang has nothing pass any more, and no connection end, or everything pass again.
func (w *Wire) Hang(yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hangs != nil {
		close(w.hangs)
		w.hangs = nil
	}
	if yes {
		w.hangs = make(chan struct{})
	}
}

// pass waits while nothing passes.
func (w *Wire) pass() {
	w.mu.Lock()
	hangs := w.hangs
	w.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
}

// TakeLoss is what becomes of a COMMIT; it happens once.
func (w *Wire) TakeLoss() Loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lose
	if w.lose = NothingLost; l != NothingLost {
		w.deaf = w.shut
	}
	return l
}

func (w *Wire) accept() {
	for {
		client, err := w.listens.Accept()
		if err != nil {
			return
		}
		w.pass()
		w.mu.Lock()
		deaf := w.deaf
		w.mu.Unlock()
		if deaf {
			_ = client.Close()
			continue
		}
		server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", w.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		w.mu.Lock()
		w.open[client], w.open[server] = true, true
		w.mu.Unlock()
		c := &connection{wire: w, client: client, server: server, commits: map[string]bool{}}
		w.running.Go(c.toServer)
		w.running.Go(c.toClient)
	}
}

type connection struct {
	wire           *Wire
	client, server net.Conn
	commits        map[string]bool // names of prepared statements that are COMMIT

	mu   sync.Mutex
	mute bool // what the server says is thrown away until it says that it has committed
}

func (c *connection) end() {
	_ = c.client.Close()
	_ = c.server.Close()
	c.wire.mu.Lock()
	defer c.wire.mu.Unlock()
	delete(c.wire.open, c.client)
	delete(c.wire.open, c.server)
}

// message reads one message; the first of a connection has no kind.
func message(r io.Reader, first bool) ([]byte, error) {
	head := make([]byte, 5)
	if first {
		head = head[:4]
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	body := make([]byte, int(binary.BigEndian.Uint32(head[len(head)-4:]))-4)
	_, err := io.ReadFull(r, body)
	return append(head, body...), err
}

// toServer passes groups of messages that end in a Sync.
func (c *connection) toServer() {
	defer c.end()
	var group []byte
	commits := false
	for first := true; ; first = false {
		m, err := message(c.client, first)
		if err != nil {
			return
		}
		group = append(group, m...)
		if !first {
			switch texts := bytes.Split(m[5:], []byte{0}); m[0] {
			case 'P':
				c.commits[string(texts[0])] = string(texts[1]) == "COMMIT"
				continue
			case 'B':
				commits = commits || c.commits[string(texts[1])]
				continue
			case 'D', 'E', 'C':
				continue
			case 'Q':
				commits = string(texts[0]) == "COMMIT"
			}
		}
		c.wire.pass()
		if commits {
			switch c.wire.TakeLoss() {
			case NeverArrives:
				return
			case AnswerLost:
				c.mu.Lock()
				c.mute = true
				c.mu.Unlock()
			}
		}
		if _, err := c.server.Write(group); err != nil {
			return
		}
		group, commits = group[:0], false
	}
}

func (c *connection) toClient() {
	defer c.end()
	for {
		m, err := message(c.server, false)
		if err != nil {
			return
		}
		c.wire.pass()
		c.mu.Lock()
		mute := c.mute
		c.mu.Unlock()
		if mute {
			if m[0] == 'C' && bytes.HasPrefix(m[5:], []byte("COMMIT\x00")) {
				return
			}
			continue
		}
		if _, err := c.client.Write(m); err != nil {
			return
		}
	}
}
