package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nudgewire/nudgewire/internal/sandbox"
)

// The handler alone, without sockets: what the sandbox adds to any measurement.
func BenchmarkHandler(b *testing.B) {
	s := sandbox.New(account())
	defer s.Close()
	h := s.Handler()
	var n atomic.Int64
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			body := fmt.Sprintf(`{"phone":"4477%08d","template":"cart_reminder","language":"en","variables":["Ada","Kettle"]}`, n.Add(1)+10_000)
			r := httptest.NewRequest(http.MethodPost, "/api/v1/send-template", strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+key)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != 200 && w.Code != 422 {
				b.Error(w.Code, w.Body)
				return
			}
		}
	})
}

func BenchmarkSend(b *testing.B) {
	s := serve(b, account())
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := s.client.SendTemplate(b.Context(), reminder(phone)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkStatus(b *testing.B) {
	s := serve(b, account())
	a, err := s.client.SendTemplate(b.Context(), reminder(phone))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := s.client.MessageStatus(b.Context(), a.MessageID); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
