package connectors_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// signedSample is a connector and the signed request of one of its samples.
func signedSample(t testing.TB, preset, sample string) (*connectors.Connector, connectors.Request) {
	t.Helper()
	c := connectors.Config{Secret: secret.New("0123456789abcdef0123456789abcdef")}
	con := mustCompile(t, preset, c, connectors.Options{})
	now := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, s := range con.SamplesAt(now, 1001) {
		if s.Name == sample {
			return con, signSample(t, con, s, now)
		}
	}
	t.Fatalf("%s has no sample %q", preset, sample)
	return nil, connectors.Request{}
}

func signSample(t testing.TB, con *connectors.Connector, s connectors.Sample, now time.Time) connectors.Request {
	t.Helper()
	r := connectors.Request{
		Method: s.Method, Path: "/hooks/" + con.Name(), URL: "https://hooks.example.com/hooks/" + con.Name(),
		Header: http.Header{}, Body: s.Body, Now: now,
	}
	for name, value := range s.Header {
		r.Header.Set(name, value)
	}
	signed, err := con.Sign(r)
	if err != nil {
		t.Fatalf("%s: Sign: %v", con.Name(), err)
	}
	return signed
}

// The promise: proving, checking and mapping a checkout of 2 KB costs about what HMAC and one
// look at each byte cost.
func BenchmarkReceive(b *testing.B) {
	for _, one := range []struct{ name, preset, sample string }{
		{"shopify checkout", "shopify", "checkout"},
		{"woocommerce order", "woocommerce", "order"},
		{"hubspot batch of two", "hubspot", "property changes"},
		{"stripe session", "stripe", "completed"},
		{"form", "cartflows", "abandoned"},
	} {
		b.Run(one.name, func(b *testing.B) {
			con, r := signedSample(b, one.preset, one.sample)
			b.SetBytes(int64(len(r.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := con.Receive(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
