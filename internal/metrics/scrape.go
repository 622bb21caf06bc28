package metrics

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/delivery/sender"
	"github.com/nudgewire/nudgewire/internal/delivery/tracker"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/pace"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store/commit"
)

// A Source is where a scrape gets its figures. It is asked with a ctx that ends when the scrape has waited long enough.
type Source func(ctx context.Context) (Figures, error)

// Figures are what a scrape shows beside what was counted as it happened.
type Figures struct {
	Now      time.Time // by the clock of the store
	Status   server.StatusView
	Backlogs map[string]report.Backlog // by account, as rows name it
	Runs     map[messaging.RunState]int64
	Commits  commit.Stats
	Accounts []Account

	Database, Log int64 // bytes of the database and of its log
}

// An Account is what its rooms tell of themselves.
type Account struct {
	Name    string // as rows name it
	Budget  pace.State
	Sender  sender.Stats
	Tracker tracker.Stats
}

// patience is how long a scrape waits for its figures: less than Prometheus waits for the scrape, 10s unless it is told otherwise.
const patience = 8 * time.Second

// scrape collects the figures of a Source.
type scrape struct {
	source  Source
	version string
}

// A figure is one name of a scrape.
type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

var figures []*prometheus.Desc // all of them, for Describe

func newFigure(kind prometheus.ValueType, name, help string, labels ...string) figure {
	f := figure{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil), kind}
	figures = append(figures, f.desc)
	return f
}

func gauge(name, help string, labels ...string) figure {
	return newFigure(prometheus.GaugeValue, name, help, labels...)
}

func counted(name, help string, labels ...string) figure {
	return newFigure(prometheus.CounterValue, name, help, labels...)
}

// What a scrape reads, in the order of docs/metrics.md. Totals are since the data began, and go on over a restart.
var (
	scraped = gauge("scrape_complete", "1 when all figures of this scrape could be read, 0 when the data did not answer in time.")

	messagesWaiting = gauge("messages_waiting", "Messages that wait, due or not, held back or not, by account and lane.", "account", "lane")
	queueAge        = gauge("queue_age_seconds", "How long the oldest message that nothing holds back is past its due time, by account and lane.", "account", "lane")
	deferred        = gauge("messages_deferred", "Messages that wait because a rule put them off.")
	inDoubt         = gauge("messages_in_doubt", "Messages of which nobody knows whether the service took them.")
	partsInDoubt    = gauge("parts_in_doubt", "Files of runs of which nobody knows whether the service took them.")
	followed        = gauge("messages_followed", "Messages whose status is still asked about.")
	lookups         = gauge("lookups_waiting", "Events that wait for what their webhook left out.")
	pollsOverdue    = gauge("polls_overdue", "Messages that should have been asked about by now, by account.", "account")
	pollAge         = gauge("poll_age_seconds", "How long the oldest question about a message is past its time, by account.", "account")
	inHand          = gauge("messages_in_hand", "Messages that are claimed and whose outcome is not recorded yet, by account.", "account")
	underWay        = gauge("calls_under_way", "Calls to the service that send a message and have not ended, by account.", "account")
	runs            = gauge("runs_open", "Runs that have not ended, by state.", "state")

	events   = counted("events_total", "Events that were stored.")
	repeated = counted("events_repeated_total", "Events that came again and were not stored a second time.")
	messages = counted("messages_total", "Messages that were queued.")
	outcomes = counted("messages_ended_total", "Messages that came to an end before or at the service, by outcome; one in doubt may come to another end later.", "outcome")
	statuses = counted("messages_status_total", "Messages that reached a status, by status.", "status")
	attempts = counted("attempts_total", "Claims of messages.")
	again    = counted("attempts_repeated_total", "Claims of messages that had been tried before.")
	polls    = counted("polls_total", "Questions about messages that were answered.")
	held     = counted("held_back_total", "Times that a rule put a message off or dropped it, by rule.", "rule", "action")

	halted       = gauge("sending_halted", "1 while an account sends nothing because of this cause, else 0; daemons that share the data and the key say the same.", "account", "cause")
	holds        = gauge("holds", "What keeps messages back, by kind (halt: a person; mode, run, gone, service, damage, restored) and by what it is of.", "kind", "scope")
	troubles     = gauge("troubles", "What needs a person, as status tells it, by code; notes are left out.", "code")
	limit        = gauge("rate_limit", "Requests a second that an account may make at present; 0 is no limit.", "account")
	used         = gauge("rate_used_ratio", "The busiest of the last seconds, as a share of the configured rate.", "account")
	requests     = counted("rate_requests_total", "Requests that the rate let go, by account and kind.", "account", "kind")
	lostOutcomes = counted("outcomes_lost_total", "Outcomes of calls that could not be stored, by account.", "account")

	silent    = gauge("connector_silent", "1 for a connector that sent nothing for longer than its silent_after, else 0.", "connector")
	lastEvent = gauge("connector_last_event_timestamp_seconds", "When the last event of a connector came.", "connector")
	turned    = counted("webhooks_turned_away_total", "Webhooks that the door turned away before they could be verified.")

	queued       = gauge("commit_queue", "Operations that wait for a commit, by lane.", "lane")
	databaseSize = gauge("database_size_bytes", "Bytes of the database and of its log.", "file")
	diskFree     = gauge("disk_free_bytes", "Bytes that are free on the disk of the data.")
	diskSize     = gauge("disk_size_bytes", "Bytes of the disk of the data.")
	backedUp     = gauge("backup_timestamp_seconds", "When the last backup of the data was made.")

	nodes     = gauge("nodes", "Daemons that share a PostgreSQL database, by state; those that died are counted for an hour.", "state")
	build     = gauge("build_info", "1, with the version of the program.", "version")
	configIs  = gauge("config_info", "1, with the version of the config in use.", "version")
	configAt  = gauge("config_loaded_timestamp_seconds", "When the config in use was loaded.")
	configBad = gauge("config_refused", "1 while the newest reload, or the config file as it is now, could not be used, else 0.")
	restart   = gauge("config_needs_restart", "Settings of the config that only a restart takes up.")
)

// Causes are why an account may send nothing.
var causes = []string{
	string(apiclient.TroubleKey), string(apiclient.TroublePoints), string(apiclient.TroubleAddress), string(apiclient.TroubleOutage), string(sender.TroubleRejections),
}

// Describe implements prometheus.Collector.
func (s *scrape) Describe(out chan<- *prometheus.Desc) {
	for _, d := range figures {
		out <- d
	}
}

// Collect implements prometheus.Collector. Data that does not answer costs a scrape its figures, and not the rest.
func (s *scrape) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f, err := s.source(ctx)
	w := writer(func(of figure, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(of.desc, of.kind, value, labels...)
	})
	w(build, 1, s.version)
	w(scraped, yes(err == nil))
	if err != nil {
		return
	}
	w.backlog(&f)
	w.totals(&f)
	w.service(&f)
	w.door(&f)
	w.data(&f)
}

// A writer writes one value.
type writer func(of figure, value float64, labels ...string)

func yes(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (w writer) backlog(f *Figures) {
	behind := map[[2]string]float64{}
	for _, b := range f.Status.Behind {
		behind[[2]string{b.Account, b.What}] = max(0, f.Now.Sub(b.Since).Seconds())
	}
	for _, a := range f.Accounts {
		name, waits := messaging.AccountName(a.Name), f.Backlogs[a.Name]
		w(messagesWaiting, float64(waits.Urgent), name, server.BehindUrgent)
		w(messagesWaiting, float64(waits.Marketing), name, server.BehindMarketing)
		w(queueAge, behind[[2]string{a.Name, server.BehindUrgent}], name, server.BehindUrgent)
		w(queueAge, behind[[2]string{a.Name, server.BehindMarketing}], name, server.BehindMarketing)
		w(pollsOverdue, float64(waits.PollsOverdue), name)
		w(pollAge, behind[[2]string{a.Name, server.BehindPolls}], name)
		w(inHand, float64(a.Sender.InHand), name)
		w(underWay, float64(a.Sender.UnderWay), name)
	}
	w(deferred, float64(f.Status.Deferred))
	w(inDoubt, float64(f.Status.InDoubt))
	w(partsInDoubt, float64(f.Status.PartsInDoubt))
	w(followed, float64(f.Status.Tracking))
	w(lookups, float64(f.Status.Lookups))
	for _, state := range messaging.RunStates {
		if n, open := f.Runs[state]; open || !state.Final() {
			w(runs, float64(n), string(state))
		}
	}
}

func (w writer) totals(f *Figures) {
	total := func(name string) float64 { return float64(f.Status.Counts[name]) }
	w(events, total("events"))
	w(repeated, total("events_duplicate"))
	w(messages, total("messages"))
	for _, outcome := range []messaging.State{
		messaging.StateAccepted, messaging.StateRejected, messaging.StateInDoubt, messaging.StateCancelled, messaging.StateDropped,
	} {
		w(outcomes, total("messages_"+string(outcome)), string(outcome))
	}
	for _, status := range []messaging.Status{
		messaging.StatusSent, messaging.StatusDelivered, messaging.StatusRead, messaging.StatusFailed, messaging.StatusExpired, messaging.StatusUntracked,
	} {
		w(statuses, total("messages_"+string(status)), string(status))
	}
	w(attempts, total("attempts"))
	w(again, total("attempts_again"))
	w(polls, total("polls"))
	for _, r := range f.Status.Rules {
		w(held, float64(r.Times), r.Rule, string(r.Action))
	}
}

func (w writer) service(f *Figures) {
	for _, a := range f.Accounts {
		name := messaging.AccountName(a.Name)
		for _, cause := range causes {
			w(halted, yes(a.Sender.Halt().Cause == cause), name, cause)
		}
		w(limit, a.Budget.Rate, name)
		share := 0.0
		if a.Budget.Configured > 0 {
			share = (a.Budget.Busiest + a.Budget.Status.Busiest + a.Budget.Uploads.Busiest) / a.Budget.Configured
		}
		w(used, share, name)
		w(requests, float64(a.Budget.Sends), name, "send")
		w(requests, float64(a.Budget.Polls), name, "poll")
		w(lostOutcomes, float64(a.Sender.Lost), name)
	}
	type of struct {
		kind  messaging.HoldKind
		scope messaging.HoldScope
	}
	held := map[of]float64{}
	for _, rule := range messaging.HoldKinds {
		for _, scope := range rule.Scopes {
			held[of{rule.Kind, scope}] = 0
		}
	}
	for i := range f.Status.Holds {
		held[of{f.Status.Holds[i].Kind, f.Status.Holds[i].Scope}]++
	}
	for one, n := range held {
		w(holds, n, string(one.kind), string(one.scope))
	}
	codes := map[messaging.TroubleCode]float64{}
	for _, code := range messaging.TroubleCodes {
		codes[code] = 0
	}
	for _, t := range f.Status.Troubles {
		if t.Severity != messaging.Note {
			codes[t.Code]++
		}
	}
	for code, n := range codes {
		w(troubles, n, string(code))
	}
}

func (w writer) door(f *Figures) {
	d := f.Status.Daemon
	for _, name := range d.Connectors {
		w(silent, yes(slices.ContainsFunc(d.Silent, func(s server.SilentView) bool { return s.Connector == name })), name)
		if at, heard := f.Status.LastEvents[name]; heard && !at.IsZero() {
			w(lastEvent, seconds(at), name)
		}
	}
	var n int64
	for _, t := range d.Turned {
		n += t.Count
	}
	w(turned, float64(n))
}

func (w writer) data(f *Figures) {
	d := f.Status.Daemon
	w(queued, float64(f.Commits.Queued), "webhooks")
	w(queued, float64(f.Commits.QueuedWork), "work")
	w(databaseSize, float64(f.Database), "database")
	w(databaseSize, float64(f.Log), "log")
	if d.Disk != nil {
		w(diskFree, float64(d.Disk.Free))
		w(diskSize, float64(d.Disk.All))
	}
	if b := f.Status.Backup; b != nil {
		w(backedUp, seconds(b.At))
	}
	if len(f.Status.Nodes) > 0 {
		alive := 0.0
		for _, n := range f.Status.Nodes {
			alive += yes(n.Alive)
		}
		w(nodes, alive, "alive")
		w(nodes, float64(len(f.Status.Nodes))-alive, "dead")
	}
	w(configIs, 1, d.Config)
	w(configAt, seconds(d.LoadedAt))
	w(configBad, yes(d.LoadError != "" || d.FileError != ""))
	w(restart, float64(len(d.NeedsRestart)))
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
