package listeners

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
)

// Limits on one connection. A sender that is slower than this is cut, so that many slow ones
// cannot hold the memory of many fast ones. The tightest sender waits one second for an
// answer and the most patient a minute; none needs fifteen seconds to write a megabyte.
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 15 * time.Second
	writeTimeout  = 30 * time.Second // of writing an answer, not of the work for it; see Working
	idleTimeout   = 90 * time.Second
	maxHeader     = 32 << 10
)

// A ConnLimiter is asked about every new connection, and told when it has ended.
type ConnLimiter interface {
	Opened(c net.Conn) (welcome bool)
	Closed(c net.Conn)
}

type connectionKey struct{}

// A connection is what is known of one for all of its requests.
type connection struct {
	net.Conn
	peer string
}

// Connection is what a request came by, as a ConnLimiter knows it; nil for a request that came by none.
func Connection(ctx context.Context) net.Conn {
	c, _ := ctx.Value(connectionKey{}).(connection)
	return c.Conn
}

// PeerName is the user whose program is at the other end of the Unix socket that a request came by, "ann (1000)"; "" where the kernel does
// not say, and for a request that came otherwise.
func PeerName(ctx context.Context) string {
	c, _ := ctx.Value(connectionKey{}).(connection)
	return c.peer
}

// Serve answers on l until ctx is done, then lets requests under way finish for at most
// grace. It closes l. A clean stop returns nil. limiter may be nil: then everybody is welcome.
func Serve(ctx context.Context, l net.Listener, h http.Handler, limiter ConnLimiter, grace time.Duration, log *zap.Logger) error {
	errorLog, err := zap.NewStdLogAt(log, zap.DebugLevel)
	if err != nil {
		return fmt.Errorf("server log: %w", err)
	}
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          errorLog,

		// What a caller sends ahead and nobody reads is memory that nothing charges: 64 kB a connection at most, in place of a megabyte.
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100, MaxReceiveBufferPerConnection: 64 << 10, MaxReceiveBufferPerStream: 64 << 10},

		DisableGeneralOptionsHandler: true, // "OPTIONS *" is a path like any other

		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, connection{c, peerName(c)})
		},
	}
	if limiter != nil {
		srv.ConnState = func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				if !limiter.Opened(c) {
					_ = c.Close() // the server finds it closed and tells of that
				}
			case http.StateClosed:
				limiter.Closed(c)
			default:
			}
		}
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(toldListener{l, log, new(LogLimiter)}) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		log.Warn("requests were cut at the end of the grace time", zap.Stringer("address", l.Addr()), zap.Error(err))
		srv.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	return nil
}

// A toldListener says when connections cannot be taken, such as when no more files may be open.
// The server tries again by itself, many times a second.
type toldListener struct {
	net.Listener
	log   *zap.Logger
	quiet *LogLimiter
}

func (l toldListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		if others, ok := l.quiet.Line(time.Now()); ok {
			l.log.Error("connections cannot be taken", zap.Stringer("address", l.Addr()), zap.Error(err), zap.Int64("more_within_a_minute", others))
		}
	}
	return c, err
}

// Working lifts the bound on writing an answer while it is worked on, which takes as long as it takes: the caller's patience is its bound. An
// answer whose bound had passed in the work would never be written, and whoever asked would not know what became of it.
func Working(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // a writer that knows no deadline has none to lift
}

// Answering bounds how long the caller takes to read what is written from now on.
func Answering(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer that knows no deadline keeps to none
}
