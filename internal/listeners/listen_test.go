package listeners

import (
	"errors"
	"net"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// A shut listener takes no connections.
type shut struct {
	net.Listener
	left int
}

func (s *shut) Accept() (net.Conn, error) {
	if s.left--; s.left < 0 {
		return nil, net.ErrClosed
	}
	return nil, errors.New("too many open files")
}

func TestConnectionsThatCannotBeTakenAreOneLine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	core, logs := observer.New(zap.InfoLevel)
	told := toldListener{&shut{l, 1000}, zap.New(core), new(LogLimiter)}
	for {
		if _, err := told.Accept(); errors.Is(err, net.ErrClosed) {
			break
		}
	}
	if n := logs.Len(); n != 1 {
		t.Errorf("%d lines, want 1", n)
	}
}
