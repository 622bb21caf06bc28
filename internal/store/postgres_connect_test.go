//go:build unix

package store

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A beatMeanwhile is a beat that learns how far the log goes while a new connection asks where it has led.
type beatMeanwhile struct{ s *Store }

func (beatMeanwhile) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (b beatMeanwhile) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {
	b.s.beat.Log.Add(1 << 20)
}

// A connection that was answered before a beat was is not one to a server that was put back.
func TestABeatDuringAConnectIsNoRestoration(t *testing.T) {
	s, e := openForSets(t)
	if _, err := s.RescueClaims(t.Context(), time.Now(), "web:1:A"); err != nil {
		t.Fatal(err)
	}
	config := e.Conn().Config()
	config.Tracer = beatMeanwhile{s}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if err := s.settlePlace(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	if r, open, err := s.Restoration(t.Context()); err != nil || open {
		t.Errorf("it is in review: %+v, %v", r, err)
	}
}
