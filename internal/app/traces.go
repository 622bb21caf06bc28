package app

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/spans"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// spansWaiting is how many spans may wait for the request that they belong to, which is read from the data: more are dropped, because
// nobody waits for a trace.
const spansWaiting = 4096

// farewell is how long the collector may take at a stop to take what is left.
const farewell = 3 * time.Second

// traces sends spans of what happens. A nil one, of a daemon without a collector, does nothing.
type traces struct {
	to      *spans.Tracer
	log     *zap.Logger
	request func(messaging.MessageID) string
	now     func() time.Time
	waiting chan pendingSpan
	dropped atomic.Int64
}

// pendingSpan is a span whose request is not known yet where message is set.
type pendingSpan struct {
	spans.Span
	message messaging.MessageID
}

// openTraces begins to send spans where the config or the environment names a collector.
func (a *App) openTraces(ctx context.Context, cfg *config.Config) (*traces, error) {
	if cfg.Tracing.Endpoint == "" && !collectorInEnv(a.opt.Env) {
		return nil, nil //nolint:nilnil // nil is a traces that does nothing
	}
	t := &traces{log: a.log.Named("tracing"), request: a.requestOf, now: func() time.Time { return a.store.Now() }, waiting: make(chan pendingSpan, spansWaiting)}
	to, err := spans.New(ctx, spans.Options{
		Endpoint: cfg.Tracing.Endpoint, Sample: cfg.Tracing.Sample, Service: "nudgewire", Version: a.opt.Version,
		Trouble: onceAMinute(func(err error) { t.log.Warn("spans are not taken by the collector", zap.Error(err)) }),
	})
	t.to = to
	return t, err
}

// onceAMinute tells of a trouble that comes again and again: at once, and each minute while it lasts.
func onceAMinute(tell func(error)) func(error) {
	var last atomic.Int64 // when it was told, in Unix seconds
	return func(err error) {
		now, told := time.Now().Unix(), last.Load()
		if now-told >= 60 && last.CompareAndSwap(told, now) {
			tell(err)
		}
	}
}

// collectorInEnv reports whether the environment names a collector, as OpenTelemetry has it.
func collectorInEnv(env func(string) (string, bool)) bool {
	if env == nil {
		return false
	}
	if off, _ := env("OTEL_SDK_DISABLED"); off == "true" {
		return false
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if at, _ := env(name); at != "" {
			return true
		}
	}
	return false
}

// run is the part that passes spans on until ctx is done, and then what is left.
func (t *traces) run(ctx context.Context) error {
	if t == nil {
		<-ctx.Done()
		return nil
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case one := <-t.waiting:
			t.pass(&one)
		}
	}
	for {
		select {
		case one := <-t.waiting:
			t.pass(&one)
			continue
		default:
		}
		break
	}
	t.close()
	if n := t.dropped.Load(); n > 0 {
		t.log.Warn("spans were dropped because more came than could be passed on", zap.Int64("spans", n))
	}
	return nil
}

// close gives the collector what is left. Closing twice is harmless.
func (t *traces) close() {
	if t == nil || t.to == nil {
		return
	}
	bye, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if err := t.to.Close(bye); err != nil {
		t.log.Warn("the last spans were not taken by the collector", zap.Error(err))
	}
}

func (t *traces) pass(one *pendingSpan) {
	if one.message != 0 {
		one.Request = t.request(one.message)
	}
	if one.Request != "" { // what a list or a person sent goes back to no request
		t.to.Tell(&one.Span)
	}
}

func (t *traces) sendSpan(one *pendingSpan) {
	select {
	case t.waiting <- *one:
	default:
		t.dropped.Add(1)
	}
}

// answered tells of a webhook that brought events. Others are in the log and in the figures: strangers must not fill the collector.
func (t *traces) answered(a *webhooks.AnsweredHook) {
	if t == nil || len(a.Receipts) == 0 {
		return
	}
	repeated := true
	for i := range a.Receipts {
		repeated = repeated && a.Receipts[i].Duplicate
	}
	t.sendSpan(&pendingSpan{Span: spans.Span{Request: a.Request, Name: "webhook", First: true, Began: a.Began, Ended: a.Ended, About: []attribute.KeyValue{
		attribute.String("nudgewire.connector", a.Connector), attribute.Int("http.response.status_code", a.Status),
		attribute.Int64("nudgewire.event", int64(a.Receipts[0].EventID)), attribute.Int("nudgewire.events", len(a.Receipts)), attribute.Bool("nudgewire.repeated", repeated),
	}}})
}

// decided tells of the decisions about an event.
func (t *traces) decided(p *messaging.Plan, r *messaging.Receipt) {
	if t == nil || r.Duplicate || p.Event.Request == "" {
		return
	}
	for i := range r.Decisions {
		d := &r.Decisions[i]
		t.sendSpan(&pendingSpan{Span: spans.Span{Request: p.Event.Request, Name: "decision", Began: d.At, Ended: t.now(), About: []attribute.KeyValue{
			attribute.String("nudgewire.trigger", d.Trigger), attribute.String("nudgewire.outcome", string(d.Outcome)),
			attribute.Int64("nudgewire.event", int64(r.EventID)), attribute.Int64("nudgewire.message", int64(d.MessageID)), attribute.String("nudgewire.config", d.Config),
		}}})
	}
}

// called tells of a call that sends a message.
func (t *traces) called(d *messaging.Message, began, ended time.Time, a *messaging.Attempt) {
	if t == nil || d.EventID == 0 {
		return
	}
	one := pendingSpan{message: d.ID, Span: spans.Span{Name: "send", Calls: true, Began: began, Ended: ended, About: []attribute.KeyValue{
		attribute.Int64("nudgewire.message", int64(d.ID)), attribute.String("nudgewire.trigger", d.Trigger), attribute.Int("nudgewire.attempt", a.Number),
		attribute.String("nudgewire.account", messaging.AccountName(d.Account)), attribute.String("nudgewire.outcome", string(a.State)),
	}}}
	if a.State != messaging.StateAccepted {
		one.Failed = string(a.State)
		one.About = append(one.About, attribute.String("nudgewire.class", string(a.Class)))
	} else if a.Message != nil {
		one.About = append(one.About, attribute.String("nudgewire.message_id", string(a.Message.ServiceID)))
	}
	t.sendSpan(&one)
}

// asked tells of a look at a message that showed another status.
func (t *traces) asked(m *messaging.Message, began, ended time.Time, p *messaging.Poll) {
	if t == nil || p.Status == "" || p.Status == m.Status {
		return
	}
	one := pendingSpan{message: m.ID, Span: spans.Span{Name: "status", Calls: true, Began: began, Ended: ended, About: []attribute.KeyValue{
		attribute.Int64("nudgewire.message", int64(m.ID)), attribute.String("nudgewire.message_id", string(m.ServiceID)), attribute.String("nudgewire.status", string(p.Status)),
	}}}
	if p.Status == messaging.StatusFailed {
		one.Failed = string(p.Status)
		one.About = append(one.About, attribute.String("nudgewire.class", string(p.Class)))
	}
	t.sendSpan(&one)
}
