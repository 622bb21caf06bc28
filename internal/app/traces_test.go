package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// A collector takes spans as an OpenTelemetry collector does.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*tracev1.Span
	service string
	paths   map[string]bool
	status  int // that it answers; 0 is 200
}

func newCollector(t *testing.T, status int) *collector {
	t.Helper()
	c := &collector{paths: map[string]bool{}, status: status}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var got v1.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &got); err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paths[r.URL.Path] = true
		if c.status != 0 {
			w.WriteHeader(c.status)
			return
		}
		for _, of := range got.ResourceSpans {
			for _, a := range of.Resource.Attributes {
				if a.Key == "service.name" {
					c.service = a.Value.GetStringValue()
				}
			}
			for _, scope := range of.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// of are the spans of a request, in the order of their begin.
func (c *collector) of(request string) (out []*tracev1.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if attribute(s, "nudgewire.request") == request {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b *tracev1.Span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	return out
}

func attribute(s *tracev1.Span, name string) string {
	for _, a := range s.Attributes {
		if a.Key == name {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// A webhook, its decision, its send and its status are one trace, also where the daemon was restarted between the
// webhook and the send.
func TestATraceGoesFromTheWebhookToTheStatus(t *testing.T) {
	t.Parallel()
	c := newCollector(t, 0)
	o := options{folder: t.TempDir(), config: strings.Replace(plainConfig, "wait: 1h", "wait: 1s", 1) + "tracing: {endpoint: \"" + c.URL + "\"}\n"}
	h := open(t, o)
	at := h.postedBy(h.shopify("orders/create", "", order("c1", phone(1), "80.00")), "")
	h.eventually("delivered", func() bool {
		m := h.messages()
		return len(m) == 1 && m[0].Status == messaging.StatusDelivered
	})
	all := server.HaltRequest{Scope: messaging.ScopeAll} // the second leaves after the restart, however long a stop takes
	if _, err := server.Halt.Call(t.Context(), h.ask, all); err != nil {
		t.Fatal(err)
	}
	late := h.postedBy(h.shopify("checkouts/update", "", cart("c2", phone(2), "80.00")), "")
	forged := h.shopify("orders/create", "", order("c4", phone(4), "80.00"))
	forged.Header.Set("X-Shopify-Hmac-Sha256", "forged")
	rejected := h.postedBy(forged, "")
	h.stop()
	h = open(t, o)
	if _, err := server.Resume.Call(t.Context(), h.ask, all); err != nil {
		t.Fatal(err)
	}
	h.eventually("the second is delivered", func() bool {
		m := h.messages()
		return len(m) == 2 && m[0].Status == messaging.StatusDelivered
	})
	h.stop() // what is left goes to the collector
	for _, request := range []string{at, late} {
		spans := c.of(request)
		names := map[string]*tracev1.Span{}
		for _, s := range spans {
			if s.Name != "decision" || attribute(s, "nudgewire.outcome") == "planned" { // another trigger may say something else
				names[s.Name] = s
			}
		}
		first := names["webhook"]
		if first == nil || names["decision"] == nil || names["send"] == nil || names["status"] == nil {
			t.Fatalf("of request %s came %v", request, names)
		}
		if len(first.ParentSpanId) != 0 || first.Kind != tracev1.Span_SPAN_KIND_SERVER {
			t.Errorf("the webhook is not the first span: %v", first)
		}
		for _, s := range spans {
			if string(s.TraceId) != string(first.TraceId) || s != first && string(s.ParentSpanId) != string(first.SpanId) {
				t.Errorf("span %s is not below the webhook: %v", s.Name, s)
			}
			if s.EndTimeUnixNano < s.StartTimeUnixNano || time.Since(time.Unix(0, int64(s.StartTimeUnixNano))) > 24*time.Hour {
				t.Errorf("span %s has the times %d to %d", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano)
			}
		}
		if names["send"].StartTimeUnixNano < first.StartTimeUnixNano || attribute(names["send"], "nudgewire.outcome") != "accepted" {
			t.Errorf("the send is %v", names["send"])
		}
	}
	if string(c.of(at)[0].TraceId) == string(c.of(late)[0].TraceId) {
		t.Error("two requests are one trace")
	}
	if got := c.of(rejected); len(got) != 0 {
		t.Errorf("a stranger's request is traced: %v", got)
	}
	if c.service != "nudgewire" || !c.paths["/v1/traces"] || len(c.paths) != 1 {
		t.Errorf("service %q, paths %v", c.service, c.paths)
	}
	for _, s := range c.spans {
		if strings.Contains(s.String(), "4477009") {
			t.Errorf("a span has a phone: %v", s)
		}
	}
}

// A collector that is away, or refuses, costs nothing but its traces: messages go, and a stop is not held up.
func TestACollectorThatTakesNothing(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{"is away": "http://127.0.0.1:1", "refuses": newCollector(t, http.StatusForbidden).URL} {
		t.Run(name, func(t *testing.T) {
			h := open(t, options{config: plainConfig + "tracing: {endpoint: \"" + at + "\"}\n"})
			h.postedBy(h.shopify("orders/create", "", order("c1", phone(1), "80.00")), "")
			h.eventually("delivered", func() bool {
				m := h.messages()
				return len(m) == 1 && m[0].Status == messaging.StatusDelivered
			})
			h.stop()
		})
	}
}

// Of half of the traces all spans come, and of the others none.
func TestATraceIsSampledAsAWhole(t *testing.T) {
	t.Parallel()
	c := newCollector(t, 0)
	h := open(t, options{config: plainConfig + "tracing: {endpoint: \"" + c.URL + "\", sample: 0.5}\n"})
	var all []string
	for n := range 40 {
		paid := order(fmt.Sprintf("c%d", n), phone(n), "80.00")
		paid["id"] = n + 1
		all = append(all, h.postedBy(h.shopify("orders/create", "", paid), ""))
	}
	h.eventually("delivered", func() bool {
		n := 0
		for _, m := range h.messages() {
			if m.Status == messaging.StatusDelivered {
				n++
			}
		}
		return n == 40
	})
	h.stop()
	whole, none := 0, 0
	for _, request := range all {
		switch n := len(c.of(request)); {
		case n == 0:
			none++
		case n >= 4:
			whole++
		default:
			t.Errorf("%d spans of request %s", n, request)
		}
	}
	if whole == 0 || none == 0 || whole+none != 40 {
		t.Errorf("%d whole traces, %d not sent", whole, none)
	}
}

// Without a collector in the config, the variables of OpenTelemetry say where spans go.
func TestTheEnvironmentNamesACollector(t *testing.T) {
	c := newCollector(t, 0)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_SERVICE_NAME", "the-shops-nudges")
	h := open(t, options{env: os.LookupEnv})
	request := h.postedBy(h.shopify("orders/create", "", order("c1", phone(1), "80.00")), "")
	h.stop()
	if len(c.of(request)) == 0 || c.service != "the-shops-nudges" {
		t.Errorf("spans %v of service %q", c.of(request), c.service)
	}
}
