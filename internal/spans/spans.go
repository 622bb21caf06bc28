// Package spans sends spans to an OpenTelemetry collector (OTLP over HTTP).
//
// A trace belongs to a request, and what follows from the request may happen hours later in another process. So nothing of a
// trace is stored: the trace's id and that of its first span are worked out from the request's id, and whoever knows that id can
// add a span to the trace. Whether a trace is sampled is decided by its id too, by all spans of it in the same way.
//
// Spans are told when they have ended, with both times. They wait in memory for the collector; what it is too slow for is dropped.
package spans

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Options say where spans go.
type Options struct {
	Endpoint string  // "http://127.0.0.1:4318/v1/traces"; "" is as the variables OTEL_EXPORTER_OTLP_… say
	Sample   float64 // the share of traces that is sent, from 0 to 1
	Service  string  // service.name, unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES says another
	Version  string
	Trouble  func(error) // is told what the exporter has to say; for the whole process
}

// A Tracer sends spans. Make it with New.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// A Span is something that has ended.
type Span struct {
	Request      string // the id of the request that it goes back to
	Name         string
	First        bool // it is the first span of its trace: the request itself
	Calls        bool // it is a call to somebody else
	Began, Ended time.Time
	Failed       string // why it did not succeed, a word of few; "" when it did
	About        []attribute.KeyValue
}

// New begins to send. It does not wait for the collector, which may be away.
func New(ctx context.Context, o Options) (*Tracer, error) {
	var to []otlptracehttp.Option
	if o.Endpoint != "" {
		to = append(to, otlptracehttp.WithEndpointURL(o.Endpoint))
	}
	exporter, err := otlptracehttp.New(ctx, to...)
	if err != nil {
		return nil, fmt.Errorf("send spans to %s: %w", o.Endpoint, err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", o.Service), attribute.String("service.version", o.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("attributes of the service: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(o.Trouble))
	p := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(ids{}),
		sdktrace.WithSampler(sdktrace.TraceIDRatioBased(o.Sample)),
	)
	return &Tracer{p, p.Tracer("github.com/nudgewire/nudgewire")}, nil
}

// Close sends what waits, until ctx ends, and takes no more.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Tell takes a span.
func (t *Tracer) Tell(s *Span) {
	first := idsOf(s.Request)
	ctx := context.WithValue(context.Background(), firstKey{}, first)
	kind := trace.SpanKindInternal
	switch {
	case s.First:
		kind = trace.SpanKindServer
	case s.Calls:
		kind = trace.SpanKindClient
	}
	if !s.First {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: first.trace, SpanID: first.span, TraceFlags: trace.FlagsSampled, Remote: true,
		}))
	}
	_, span := t.tracer.Start(ctx, s.Name, trace.WithTimestamp(s.Began), trace.WithSpanKind(kind),
		trace.WithAttributes(attribute.String("nudgewire.request", s.Request)), trace.WithAttributes(s.About...))
	if s.Failed != "" {
		span.SetStatus(codes.Error, s.Failed)
	}
	span.End(trace.WithTimestamp(s.Ended))
}

// firstIDs are those of a trace and of its first span.
type firstIDs struct {
	trace trace.TraceID
	span  trace.SpanID
}

type firstKey struct{}

// idsOf works them out. Neither is ever all zeros, which would be none.
func idsOf(request string) (f firstIDs) {
	sum := sha256.Sum256([]byte(request))
	copy(f.trace[:], sum[:16])
	copy(f.span[:], sum[16:24])
	return f
}

// ids gives a first span the ids of its request, and every other one a random one.
type ids struct{}

func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	first, _ := ctx.Value(firstKey{}).(firstIDs)
	return first.trace, first.span
}

func (ids) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	for !id.IsValid() {
		n := rand.Uint64()
		for i := range id {
			id[i] = byte(n >> (8 * i))
		}
	}
	return id
}
