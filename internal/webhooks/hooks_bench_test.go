package webhooks

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/triggers"
)

// A noStore stores nothing, and counts.
type noStore struct {
	refused, counted atomic.Int64
	kept             chan messaging.RejectedRequest // nil keeps nothing
}

func (l *noStore) Accept(_ context.Context, plans []messaging.Plan) ([]messaging.Receipt, error) {
	return make([]messaging.Receipt, len(plans)), nil
}

func (l *noStore) RejectRequest(_ context.Context, r messaging.RejectedRequest) error {
	l.refused.Add(1)
	if l.kept != nil {
		l.kept <- r
	}
	return nil
}

func (l *noStore) CountUnused(context.Context, messaging.Unused, messaging.Event) error { return nil }

func (l *noStore) Event(context.Context, messaging.EventID) (messaging.Event, error) {
	return messaging.Event{}, nil
}

func (l *noStore) CountRejectedRequests(_ context.Context, n int64) error {
	l.counted.Add(n)
	return nil
}

const benchSecret = "a-secret-of-the-door's-tests"

// receiver compiles one connector.
func receiver(t testing.TB, name string, c connectors.Config, opt connectors.Options) *connectors.Connector {
	t.Helper()
	if c.Verify == nil || c.Verify.Kind != "none" { // where nothing is proven a secret is a mistake
		c.Secret = secret.New(benchSecret)
	}
	opt.Country = "GB"
	r, problems := connectors.Compile(name, c, opt)
	if r == nil {
		t.Fatal(problems)
	}
	return r
}

// door is a public door over receivers.
func door(o Options, rules Rules) *Hooks {
	rules.Triggers = new(triggers.Set)
	o.Rules = new(atomic.Pointer[Rules])
	o.Rules.Store(&rules)
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	return New(o)
}

// signed is a verified webhook with about size bytes of body.
func signed(t testing.TB, to *connectors.Connector, url string, size int) *http.Request {
	t.Helper()
	body := []byte(fmt.Sprintf(`{"id":1,"token":"t","phone":"+447700900101","note":%q}`, strings.Repeat("x", size)))
	sample := to.SamplesAt(time.Now(), 1)[0]
	r := httptest.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	for k, v := range sample.Header {
		r.Header.Set(k, v)
	}
	signed, err := to.Sign(connectors.Request{Method: http.MethodPost, URL: url, Path: r.URL.Path, Header: r.Header, Body: body, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	r.Header = signed.Header
	return r
}

func BenchmarkAnAcceptedWebhook(b *testing.B) {
	for _, size := range []int{500, 20_000, 500_000} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			shop := receiver(b, "shopify", connectors.Config{}, connectors.Options{})
			handler := door(Options{Store: &noStore{}}, Rules{Receivers: map[string]*connectors.Connector{"shopify": shop}}).Handler()
			r := signed(b, shop, "http://shop.example.com/hooks/shopify", size)
			body := new(bytes.Buffer)
			_, _ = body.ReadFrom(r.Body)
			in := &again{bytes.NewReader(body.Bytes())}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = in.Seek(0, 0)
				r.Body = in
				w := httptest.NewRecorder()
				handler.ServeHTTP(deadlines{w}, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}

// deadlines is a recorder that knows deadlines, as connections do.
type deadlines struct{ *httptest.ResponseRecorder }

func (deadlines) SetReadDeadline(time.Time) error { return nil }

type again struct{ *bytes.Reader }

func (again) Close() error { return nil }
