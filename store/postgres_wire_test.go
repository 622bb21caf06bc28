//go:build unix

package store_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/store"
)

// A wire stands between a store and its database server and can lose what goes over it. It understands just enough of
// PostgreSQL's protocol to see a COMMIT.
type wire struct {
	t       *testing.T
	server  string
	listens net.Listener
	running sync.WaitGroup

	mu    sync.Mutex
	lose  loss
	shut  bool          // from the next loss on connections are refused
	deaf  bool          // connections are refused
	hangs chan struct{} // while it is open nothing passes; nil where all passes
	open  map[net.Conn]bool
}

// A loss is what becomes of the next COMMIT.
type loss int

const (
	nothingLost  loss = iota
	answerLost        // the server commits, and nothing that it says to that group of statements comes back
	neverArrives      // the group of statements with it does not reach the server
)

// wired gives the DSN of a fresh database behind a wire, for a folder of its own.
func wired(t *testing.T) (w *wire, dsn string) {
	t.Helper()
	address, folder, _ := strings.Cut(newDatabase(t), "#")
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w = &wire{t: t, server: u.Host, listens: l, open: map[net.Conn]bool{}}
	w.running.Go(w.accept)
	t.Cleanup(w.close)
	u.Host = l.Addr().String()
	return w, u.String() + "#" + folder
}

func (w *wire) close() {
	w.hang(false)
	_ = w.listens.Close()
	w.cut()
	w.running.Wait()
}

// cut closes every connection.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.open {
		_ = c.Close()
	}
}

// set says what becomes of the next COMMIT, and whether no connection is taken from then on.
func (w *wire) set(l loss, shut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose, w.shut, w.deaf = l, shut, false
}

// hang has nothing pass any more, and no connection end, or everything pass again.
func (w *wire) hang(yes bool) {
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
func (w *wire) pass() {
	w.mu.Lock()
	hangs := w.hangs
	w.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
}

// takeLoss is what becomes of a COMMIT; it happens once.
func (w *wire) takeLoss() loss {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lose
	if w.lose = nothingLost; l != nothingLost {
		w.deaf = w.shut
	}
	return l
}

func (w *wire) accept() {
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
		server, err := net.Dial("tcp", w.server)
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
	wire           *wire
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
			switch c.wire.takeLoss() {
			case neverArrives:
				return
			case answerLost:
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

// What is done when the answer to a COMMIT is lost, or the COMMIT: it happens once, and whoever asked for it hears so; where
// nobody can know, it is said, and asking again brings nothing twice.
func TestLostCommits(t *testing.T) {
	now := time.Now()
	type scene struct {
		*store.Store
		t *testing.T
		d nudgewire.Dispatch // claimed, for finish
	}
	count := func(s *scene, what string) int64 {
		s.t.Helper()
		c, err := s.Totals(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		return c[what]
	}
	ctx := context.Background()
	accept := func(s *scene) error {
		_, err := s.Accept(ctx, []nudgewire.Plan{benchPlan(1, now)})
		return err
	}
	claim := func(s *scene) error {
		got, err := s.Claim(ctx, nudgewire.ClaimRequest{Owner: "a:1:x", Now: now.Add(time.Minute), Lease: time.Minute, Marketing: 5})
		if err == nil && len(got) == 1 {
			s.d = got[0]
		}
		return err
	}
	finish := func(s *scene) error {
		return s.Finish(ctx, nudgewire.Attempt{
			DispatchID: s.d.ID, Owner: "a:1:x", Number: 1, State: nudgewire.StateAccepted, At: now,
			Message: &nudgewire.Message{ID: "m", Status: nudgewire.StatusQueued, AcceptedAt: now, NextPollAt: now},
		})
	}
	poll := func(s *scene) error {
		return s.FinishPoll(ctx, nudgewire.Poll{DispatchID: s.d.ID, Status: nudgewire.StatusDelivered, Final: true, ToldAt: now, At: now})
	}
	tally := func(s *scene) error {
		return s.CountRejectedRequests(ctx, 1) // all that it does goes to the server with its COMMIT
	}
	tests := map[string]struct {
		before []func(*scene) error
		do     func(*scene) error
		count  string // that is one afterwards
		again  error  // of doing it once more; nil for none
	}{
		"accept": {nil, accept, "events", nil},
		"claim":  {[]func(*scene) error{accept}, claim, "attempts", nil},
		"finish": {[]func(*scene) error{accept, claim}, finish, "dispatches_accepted", nudgewire.ErrClaimLost},
		"poll":   {[]func(*scene) error{accept, claim, finish}, poll, "polls", nil},
		"count":  {nil, tally, "requests_rejected", nil},
	}
	for name, tt := range tests {
		for how, lose := range map[string]loss{"the answer is lost": answerLost, "it never arrives": neverArrives} {
			t.Run(name+", "+how, func(t *testing.T) {
				w, dsn := wired(t)
				s := &scene{Store: beside(t, dsn, store.Options{}), t: t}
				for _, before := range tt.before {
					if err := before(s); err != nil {
						t.Fatal(err)
					}
				}
				w.set(lose, false)
				if err := tt.do(s); err != nil {
					t.Fatalf("it says %v", err)
				}
				if w.takeLoss() != nothingLost {
					t.Fatal("nothing was lost")
				}
				if n := count(s, tt.count); n != 1 {
					t.Errorf("%s: %d", tt.count, n)
				}
			})
		}
		t.Run(name+", the answer is lost and the server cannot be asked", func(t *testing.T) {
			t.Parallel() // each waits as long as a store asks
			w, dsn := wired(t)
			s := &scene{Store: beside(t, dsn, store.Options{}), t: t}
			for _, before := range tt.before {
				if err := before(s); err != nil {
					t.Fatal(err)
				}
			}
			w.set(answerLost, true)
			if err := tt.do(s); !errors.As(err, new(*store.UnknownError)) {
				t.Errorf("it says %v", err)
			}
			w.set(nothingLost, false)
			if name == "count" { // nobody asks for it again
				soon(t, "the server is back", func() bool { return count(s, tt.count) == 1 })
				return
			}
			soon(t, "the server is back", func() bool {
				err := tt.do(s)
				return err == nil && tt.again == nil || tt.again != nil && errors.Is(err, tt.again)
			})
			if name != "poll" { // to ask for a status once more is no harm
				if n := count(s, tt.count); n != 1 {
					t.Errorf("%s: %d", tt.count, n)
				}
			}
			if name != "claim" {
				return
			}
			// Nobody knows of the claim: whoever ends it cannot know either whether its call was made.
			s.d = nudgewire.Dispatch{}
			if n, err := s.RescueClaims(t.Context(), now.Add(time.Minute), "b:2:y"); err != nil || n.Doubtful+n.Unsent != 1 {
				t.Errorf("%+v were ended, %v", n, err)
			}
		})
	}
}

// A node whose way to the database lets nothing through begins no call any more before others take over what it had claimed, and is
// well by itself when the way is there again.
func TestANodeThatIsCutOff(t *testing.T) {
	w, dsn := wired(t)
	a := beside(t, dsn, store.Options{})
	b := beside(t, strings.Replace(dsn, w.listens.Addr().String(), w.server, 1), store.Options{})
	rescue := func(s *store.Store, owner string) int64 {
		t.Helper()
		n, err := s.RescueClaims(t.Context(), time.Now(), owner)
		if err != nil {
			t.Fatal(err)
		}
		return int64(n.Doubtful + n.Unsent)
	}
	rescue(a, "a:1:x")
	rescue(b, "b:2:y")
	now := time.Now()
	claim := func(s *store.Store, owner string, n int64) nudgewire.Dispatch {
		t.Helper()
		if _, err := b.Accept(t.Context(), []nudgewire.Plan{benchPlan(n, now)}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Claim(t.Context(), nudgewire.ClaimRequest{Owner: owner, Now: time.Now(), Lease: time.Hour, Marketing: 1})
		if err != nil || len(got) != 1 {
			t.Fatalf("claimed %d, %v", len(got), err)
		}
		return got[0]
	}
	d := claim(a, "a:1:x", 1)
	if err := a.BeginCall(0, d.ID, d.Attempt); err != nil {
		t.Fatal(err)
	}
	w.hang(true)
	stopped := func() bool { return errors.As(a.BeginCall(1, d.ID, d.Attempt), new(*store.CutOffNodeError)) }
	soon(t, "it has stopped, and the other has ended its claim", func() bool {
		before := stopped()
		taken := rescue(b, "b:2:y") > 0
		if taken && !before {
			t.Error("the other ended its claim while it began calls")
		}
		return taken
	})
	if got, err := b.DispatchStory(t.Context(), d.ID); err != nil || got.State != nudgewire.StateInDoubt {
		t.Errorf("its claim is %s, %v", got.State, err)
	}
	other := claim(b, "b:2:y", 2)
	if err := b.BeginCall(0, other.ID, other.Attempt); err != nil {
		t.Errorf("the other begins no call: %v", err)
	}
	w.hang(false)
	soon(t, "it begins calls again", func() bool { return !stopped() })
	// It knows what became of its call, and that settles the doubt.
	err := a.Finish(t.Context(), nudgewire.Attempt{
		DispatchID: d.ID, Owner: "a:1:x", Number: d.Attempt, State: nudgewire.StateAccepted, At: now,
		Message: &nudgewire.Message{ID: "m", Status: nudgewire.StatusQueued, AcceptedAt: now, NextPollAt: now},
	})
	if err != nil {
		t.Error(err)
	}
	if got, err := b.DispatchStory(t.Context(), d.ID); err != nil || got.State != nudgewire.StateAccepted {
		t.Errorf("what it knew came to %s, %v", got.State, err)
	}
}
