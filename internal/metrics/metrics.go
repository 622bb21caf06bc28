package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// Bounds of histograms, in seconds. A webhook and a commit take milliseconds, a call of the service up to its timeout; what is sent
// late is late by minutes, and a reminder leaves hours after its webhook because it should.
var (
	quick  = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	calls  = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	late   = []float64{.01, .05, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600}
	wait   = []float64{.05, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 6 * 3600, 24 * 3600, 72 * 3600, 7 * 24 * 3600}
	groups = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}
)

// Metrics is the registry of one daemon, with what is counted as it happens. Its methods are quick and may be called
// from anywhere.
type Metrics struct {
	Registry *prometheus.Registry

	webhooks, rejected, decisions, failures, reloads *prometheus.CounterVec
	calls, afterDue, afterCreated                    *prometheus.HistogramVec
	webhook, commit, commitSize                      prometheus.Histogram
}

// New makes the registry. source is asked at each scrape.
func New(version string, source Source) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) prometheus.HistogramOpts {
		return prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}
	}
	m := &Metrics{
		Registry:  prometheus.NewRegistry(),
		webhooks:  counter("webhooks_total", "Webhooks by connector and the status that they were answered with.", "connector", "answer"),
		rejected:  counter("webhooks_rejected_total", "Webhooks that were not taken, by connector and by the stage that rejected them.", "connector", "stage"),
		decisions: counter("decisions_total", "Decisions about events, by trigger and outcome.", "trigger", "outcome"),
		failures:  counter("failures_total", "Ends that are no success: attempts that the service did not take, and messages that failed later, by class of its words.", "state", "class"),
		reloads:   counter("config_reloads_total", "Reloads of the config, by whether it was taken.", "outcome"),
		calls:     prometheus.NewHistogramVec(histogram("api_request_seconds", "Time from a request to the messaging service to the end of its answer, by call and outcome.", calls), []string{"call", "outcome"}),
		afterDue: prometheus.NewHistogramVec(histogram("send_after_due_seconds",
			"Time from the moment that a message was due to the begin of its call, by category; each attempt counts from its own.", late), []string{"category"}),
		afterCreated: prometheus.NewHistogramVec(histogram("send_after_webhook_seconds",
			"Time from the webhook, or the row of a run, that queued a message to its acceptance, by category; waits that the config wants are part of it.", wait), []string{"category"}),
		webhook:    prometheus.NewHistogram(histogram("webhook_seconds", "Time from the head of a webhook to its answer.", quick)),
		commit:     prometheus.NewHistogram(histogram("commit_seconds", "Time that a commit took until it was on disk.", quick)),
		commitSize: prometheus.NewHistogram(histogram("commit_operations", "Operations that shared a commit.", groups)),
	}
	m.Registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.webhooks, m.rejected, m.decisions, m.failures, m.reloads, m.calls, m.afterDue, m.afterCreated, m.webhook, m.commit, m.commitSize,
		&scrape{source: source, version: version},
	)
	for _, outcome := range []string{"taken", "refused"} {
		m.reloads.WithLabelValues(outcome)
	}
	return m
}

const namespace = "nudgewire"

// Answered counts a webhook.
func (m *Metrics) Answered(a *webhooks.AnsweredHook) {
	m.webhooks.WithLabelValues(a.Connector, strconv.Itoa(a.Status)).Inc()
	if a.Stage != "" {
		m.rejected.WithLabelValues(a.Connector, a.Stage).Inc()
	}
	m.webhook.Observe(a.Ended.Sub(a.Began).Seconds())
}

// Decided counts what was decided about an event.
func (m *Metrics) Decided(r *messaging.Receipt) {
	if r.Duplicate {
		return
	}
	for i := range r.Decisions {
		m.decisions.WithLabelValues(r.Decisions[i].Trigger, string(r.Decisions[i].Outcome)).Inc()
	}
}

// Called is a call that sends a message.
func (m *Metrics) Called(d *messaging.Message, began, ended time.Time, a *messaging.Attempt) {
	category := string(d.Category)
	m.afterDue.WithLabelValues(category).Observe(max(0, began.Sub(d.DueAt).Seconds()))
	if a.State == messaging.StateAccepted {
		m.afterCreated.WithLabelValues(category).Observe(max(0, ended.Sub(d.CreatedAt).Seconds()))
		return
	}
	m.failures.WithLabelValues(string(a.State), className(a.Class)).Inc()
}

// Polled is a look at a message, once it is stored.
func (m *Metrics) Polled(p *messaging.Poll) {
	if p.Status == messaging.StatusFailed && p.Final {
		m.failures.WithLabelValues(string(messaging.StatusFailed), className(p.Class)).Inc()
	}
}

// className is a class as a label: what no rule knows has a name, too.
func className(c messaging.ErrorClass) string {
	if c == messaging.ErrorUnknown {
		return "unknown"
	}
	return string(c)
}

// Requested is a request to the service.
func (m *Metrics) Requested(call string, outcome apiclient.Outcome, took time.Duration) {
	m.calls.WithLabelValues(call, string(outcome)).Observe(took.Seconds())
}

// Committed is a commit of the store.
func (m *Metrics) Committed(operations int, took time.Duration) {
	m.commit.Observe(took.Seconds())
	m.commitSize.Observe(float64(operations))
}

// Reloaded is a reload, whether or not it was taken. Series of triggers and connectors that the config has no longer are let go, so
// that names which come and go do not pile up.
func (m *Metrics) Reloaded(taken bool, gone map[string][]string) {
	if !taken {
		m.reloads.WithLabelValues("refused").Inc()
		return
	}
	m.reloads.WithLabelValues("taken").Inc()
	for _, name := range gone["trigger"] {
		m.decisions.DeletePartialMatch(prometheus.Labels{"trigger": name})
	}
	for _, name := range gone["connector"] {
		m.webhooks.DeletePartialMatch(prometheus.Labels{"connector": name})
		m.rejected.DeletePartialMatch(prometheus.Labels{"connector": name})
	}
}
