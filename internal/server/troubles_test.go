package server

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

func TestWhatTheFactsShow(t *testing.T) {
	now := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	daemon := func(d DaemonView) StatusView { return StatusView{Daemon: &d} }
	next := func(n report.NextDue) StatusView {
		return StatusView{Behind: behind(map[string]report.NextDue{"": n}, now)}
	}
	rate := func(failed, ended int64) StatusView {
		return daemon(DaemonView{FailedRates: []FailedRateView{{Above: 10, Over: 15 * time.Minute, Failed: failed, Ended: ended}}})
	}
	for name, tt := range map[string]struct {
		facts StatusView
		want  string // severity code subject, one a line; "" for none
	}{
		"all is well": {daemon(DaemonView{Disk: &DiskView{Free: 5e9}}), ""},
		"a halt":      {StatusView{Holds: []messaging.Hold{{Scope: messaging.ScopeAll, Kind: messaging.HoldHalt}}}, "stops halt everything"},
		"a halt of everything stands before an older one": {
			StatusView{Holds: []messaging.Hold{{Scope: messaging.ScopeTemplate, Kind: messaging.HoldHalt, Name: "cart", At: ago(time.Hour)}, {Scope: messaging.ScopeAll, Kind: messaging.HoldHalt, At: ago(time.Minute)}}},
			"stops halt everything\nstops halt template \"cart\"",
		},
		"a halt of a job":    {StatusView{Holds: []messaging.Hold{{Scope: messaging.ScopeJob, Kind: messaging.HoldHalt, Name: "winback"}}}, `stops halt job "winback"`},
		"restored data":      {StatusView{Holds: []messaging.Hold{{Scope: messaging.ScopeAll, Kind: messaging.HoldRestored}}}, "stops review everything"},
		"lost commits":       {StatusView{Holds: []messaging.Hold{{Scope: messaging.ScopeAll, Kind: messaging.HoldDamage}}}, "stops review everything"},
		"a trigger is off":   {StatusView{Holds: []messaging.Hold{{Scope: messaging.ScopeTrigger, Kind: messaging.HoldMode, Name: "cart", Waiting: 2}}}, `stops paused trigger "cart"`},
		"released":           {StatusView{Holds: []messaging.Hold{{Scope: messaging.ScopeTrigger, Kind: messaging.HoldReleased, Name: "cart", Waiting: 2}}}, ""},
		"an account is gone": {StatusView{Holds: []messaging.Hold{{Scope: messaging.ScopeAccount, Kind: messaging.HoldGone, Name: "b", Waiting: 2}}}, `stops paused account "b"`},
		"a template of an account": {
			StatusView{Holds: []messaging.Hold{{Scope: messaging.ScopeTemplate, Kind: messaging.HoldService, Name: "cart", Account: "b"}}}, `stops template template "cart" of account b`,
		},
		"a run is paused":  {StatusView{Holds: []messaging.Hold{{Scope: messaging.ScopeRun, Kind: messaging.HoldRun, Name: "7", Job: "winback"}}}, "stops paused run 7 of winback"},
		"a key is refused": {daemon(DaemonView{Halts: []messaging.SendingHalt{{Cause: "key"}}}), "stops key "},
		"of one of two":    {daemon(DaemonView{Accounts: []AccountView{{Name: "api"}, {Name: "b"}}, Halts: []messaging.SendingHalt{{Account: "b", Cause: "points"}}}), "stops points b"},
		"a reload":         {daemon(DaemonView{LoadError: "a.yaml cannot be used:\n  a.yaml:1:1: x"}), "bad config "},
		"a file":           {daemon(DaemonView{FileError: "a.yaml cannot be used:\n  a.yaml:1:1: x"}), "bad config "},
		"both are one":     {daemon(DaemonView{FileError: "x", LoadError: "x"}), "bad config "},
		"an open reader":   {daemon(DaemonView{OpenReader: &OpenReaderView{PID: 7, Since: ago(time.Hour)}}), "bad open_reader "},
		"a short disk":     {daemon(DaemonView{Disk: &DiskView{Free: 5e8}}), "bad disk "},
		"marketing waits for a disk that has some room again": {daemon(DaemonView{Disk: &DiskView{Free: 11e8, Least: 1e9, Held: true}}), "stops disk "},
		"ten of a hundred":    {rate(10, 100), ""},
		"eleven of a hundred": {rate(11, 100), "bad failed_rate "},
		"five of ten":         {rate(5, 10), ""},
		"a silent connector":  {daemon(DaemonView{Silent: []SilentView{{Connector: "shopify"}}}), "bad silent shopify"},
		"turned away now":     {daemon(DaemonView{Turned: []webhooks.TurnedView{{Why: "w", Last: ago(time.Minute)}}}), "bad turned_away w"},
		"turned away once":    {daemon(DaemonView{Turned: []webhooks.TurnedView{{Why: "w", Last: ago(2 * time.Hour)}}}), "note turned_away w"},
		"in time":             {next(report.NextDue{Urgent: ago(time.Minute), Marketing: ago(50 * time.Minute), Poll: ago(50 * time.Minute)}), ""},
		"to come":             {next(report.NextDue{Urgent: ago(-time.Hour), Marketing: ago(-time.Hour), Poll: ago(-time.Hour)}), ""},
		"late": {
			next(report.NextDue{Urgent: ago(2 * time.Minute), Marketing: ago(time.Hour), Poll: ago(time.Hour)}),
			"stops overdue marketing\nstops overdue urgent\nbad polls ",
		},
		"late because the account is halted": {
			StatusView{Daemon: &DaemonView{Halts: []messaging.SendingHalt{{Cause: "outage"}}}, Behind: behind(map[string]report.NextDue{"": {Urgent: ago(time.Hour)}}, now)}, "stops outage ",
		},
		"late beside an account that is halted": {
			StatusView{
				Daemon: &DaemonView{Accounts: []AccountView{{Name: "api"}, {Name: "b"}}, Halts: []messaging.SendingHalt{{Account: "api", Cause: "outage"}}},
				Behind: behind(map[string]report.NextDue{"": {Urgent: ago(time.Hour)}, "b": {Urgent: ago(time.Hour)}}, now),
			},
			"stops outage api\nstops overdue urgent b",
		},
		"a backup in time": {StatusView{Backup: &BackupView{At: ago(25 * time.Hour)}, Daemon: &DaemonView{Backups: &BackupPlanView{Every: 24 * time.Hour}}}, ""},
		"a backup is missed": {
			StatusView{Backup: &BackupView{At: ago(26 * time.Hour)}, Daemon: &DaemonView{Backups: &BackupPlanView{Every: 24 * time.Hour}}}, "bad backup ",
		},
		"no backup could be made":               {daemon(DaemonView{Backups: &BackupPlanView{Every: 24 * time.Hour, Failed: "no room", FailedAt: now}}), "bad backup "},
		"the last backup is not known":          {StatusView{BackupError: "what is known of the last backup: permission denied"}, "bad backup "},
		"in doubt":                              {StatusView{InDoubt: 3, PartsInDoubt: 1}, "bad in_doubt \nbad files_in_doubt "},
		"to be approved":                        {StatusView{Held: []HeldView{{Run: 4, Job: "winback", Why: "too many rows"}}}, "stops approval run 4 of winback"},
		"a bad campaign":                        {StatusView{Failing: []FailingView{{Run: 4, Job: "winback", Failed: 2, Messages: 2}}}, "bad failing run 4 of winback"},
		"somebody is being forgotten":           {StatusView{Forgetting: []ForgettingView{{Phone: "4477***", Since: ago(time.Hour)}}}, "note forgetting "},
		"it takes too long":                     {StatusView{Forgetting: []ForgettingView{{Connector: "shopify", Since: ago(25 * time.Hour)}, {}}}, "bad forgetting "},
		"all of a connector is to be forgotten": {StatusView{Redactions: []privacy.RedactionView{{Connector: "shopify", Since: ago(47 * time.Hour)}}}, "note redaction shopify"},
		"and nobody decides":                    {StatusView{Redactions: []privacy.RedactionView{{Connector: "shopify", Since: ago(48 * time.Hour)}}}, "bad redaction shopify"},
		"somebody asks for what is known":       {StatusView{DataRequests: []DataRequestView{{Event: 3, Since: ago(time.Hour)}}}, "bad data_request "},
		"an opt-out that blocked nobody":        {StatusView{Unused: []UnusedView{{Connector: "chat", Why: messaging.UnusedOptOut, Kind: "message.received", Count: 1, Told: true}}}, "bad opt_out_missed chat.message.received"},
		"too few without a phone":               {StatusView{Unused: []UnusedView{{Connector: "shop", Why: messaging.UnusedPhone, Kind: "order.created", Count: 9}}}, ""},
		"what else came to nothing": {
			StatusView{Unused: []UnusedView{
				{Connector: "shop", Why: messaging.UnusedRequest, Count: 10, Told: true},
				{Connector: "shop", Why: messaging.UnusedRepeated, Kind: "order.created", Count: 10, Told: true},
				{Connector: "shop", Why: messaging.UnusedTopic, Kind: "a.b", Count: 10, Told: true},
				{Connector: "shop", Why: messaging.UnusedPhone, Kind: "order.created", Count: 10, Told: true},
				{Connector: "shop", Why: messaging.UnusedKind, Kind: "unknown", Count: 10, Told: true},
			}},
			"bad unknown_kind shop\nbad no_phone shop.order.created\nbad unknown_topic shop.a.b\nbad repeated_id shop.order.created\nnote no_event shop",
		},
		"a sender that proves itself no more": {StatusView{Unverified: []UnverifiedView{{Connector: "shop", Count: 12, Since: ago(time.Hour), Reason: "the signature does not match"}}}, "bad unverified shop"},
		"nodes that run the same": {
			StatusView{Nodes: []NodeView{{Name: "a:1", Alive: true, Version: "1", Config: "c1"}, {Name: "b:1", Alive: true, Version: "1", Config: "c1"}}}, "",
		},
		"a node that died, and one that begins": {
			StatusView{Nodes: []NodeView{{Name: "a:1", Alive: true, Version: "1", Config: "c1"}, {Name: "b:1", Version: "2", Config: "c2"}, {Name: "c:1", Alive: true, Version: "2"}}}, "",
		},
		"clocks": {
			StatusView{Nodes: []NodeView{
				{Name: "a:1", Alive: true, Version: "1", Config: "c1", ClockAhead: 4.4},
				{Name: "b:1", Alive: true, Version: "1", Config: "c1", ClockAhead: 5},
				{Name: "c:1", Alive: true, Version: "1", Config: "c1", ClockAhead: -3600},
				{Name: "d:1", Version: "1", Config: "c1", ClockAhead: 3600},
			}}, "bad clock b:1\nbad clock c:1",
		},
		"nodes that run different things": {
			StatusView{Nodes: []NodeView{{Name: "a:1", Alive: true, Version: "1", Config: "c1"}, {Name: "b:1", Alive: true, Config: "c2"}}}, "bad nodes config\nbad nodes version",
		},
		"notes": {
			StatusView{UnknownErrors: &UnknownView{Count: 2}, Rejected: []RejectedView{{"failed", "no network", 2}}, Counts: map[string]int64{"messages_untracked": 2}},
			"note unknown_errors \nnote rejected failed: no network\nnote untracked ",
		},
		"a halt comes first": {
			StatusView{
				InDoubt: 1, Held: []HeldView{{Run: 4, Job: "winback"}},
				Daemon: &DaemonView{Halts: []messaging.SendingHalt{{Cause: "key"}}, Disk: &DiskView{}},
				Holds:  []messaging.Hold{{Scope: messaging.ScopeTrigger, Kind: messaging.HoldMode, Name: "cart"}, {Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "cart"}},
			},
			"stops halt trigger \"cart\"\nstops key \nstops paused trigger \"cart\"\nstops approval run 4 of winback\nbad disk \nbad in_doubt ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, one := range troubles(&tt.facts, now) {
				got = append(got, fmt.Sprintf("%s %s %s", one.Severity, one.Code, one.Subject))
				if one.Words == "" || one.Hint == "" || one.About == "" || !slices.Contains(messaging.TroubleCodes, one.Code) {
					t.Errorf("half a trouble: %+v", one)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWrongClockIsToldWithItsMachine(t *testing.T) {
	all := troubles(&StatusView{Nodes: []NodeView{{Name: "b:1", Alive: true, ClockAhead: 75.2}, {Name: "c:1", Alive: true, ClockAhead: -9}}}, time.Now())
	if len(all) != 2 || !strings.HasPrefix(all[0].Words, "the clock of b:1 is 1m15s ahead of the database's, ") || !strings.HasPrefix(all[1].Words, "the clock of c:1 is 9s behind the database's, ") {
		t.Errorf("%+v", all)
	}
}

// Who has what is told with the newest first, and since when: a restart of one that had it before begins nothing anew.
func TestNodesThatDifferAreNamed(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 11, 20, 9, minute, 0, 0, time.UTC) }
	all := troubles(&StatusView{Nodes: []NodeView{
		{Name: "a:1", Alive: true, Version: "1", Config: "c1", ConfigSince: at(0)},
		{Name: "b:1", Alive: true, Version: "1", Config: "c2", ConfigSince: at(10)},
		{Name: "c:1", Alive: true, Version: "1", Config: "c1", ConfigSince: at(20)},
	}}, at(30))
	want := messaging.Trouble{
		Code: messaging.TroubleNodes, Subject: "config", Severity: messaging.Bad, About: "nodes", Since: at(10), Words: "nodes run different configs: c2 on b:1; c1 on a:1, c:1",
		Hint: `give all machines the same file, and "nudgewire reload" on each`,
	}
	if len(all) != 1 || all[0] != want {
		t.Errorf("%+v", all)
	}
}

// A replay knows only the receivers of the config.
func TestTheHintForAReceiverThatIsGonePutsItBackFirst(t *testing.T) {
	all := troubles(&StatusView{WebhooksOut: []ReceiverView{{Name: "crm", Gone: true, GivenUp: 2}}}, time.Now())
	if len(all) != 1 || !strings.HasPrefix(all[0].Hint, "put the receiver back under webhooks_out by this name, then ") {
		t.Errorf("%+v", all)
	}
}

// Advice about an account that has a name names its keys.
func TestAHintNamesTheKeysOfItsAccount(t *testing.T) {
	v := StatusView{Daemon: &DaemonView{Accounts: []AccountView{{Name: "b"}}, Halts: []messaging.SendingHalt{{Account: "b", Cause: "key", Why: "no"}}}}
	all := troubles(&v, time.Now())
	if len(all) != 1 || !strings.Contains(all[0].Hint, "what accounts.b.key names") || !strings.HasPrefix(all[0].Words, "account b: sending is halted since ") {
		t.Errorf("%+v", all)
	}
}

func TestACertificateThatExpiresIsATrouble(t *testing.T) {
	began := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	year, week := began.AddDate(1, 0, 0), began.AddDate(0, 0, 6)
	for name, tt := range map[string]struct {
		v    certificates.CertificateView
		now  time.Time
		want messaging.Severity
	}{
		"fresh":                      {certificates.CertificateView{NotBefore: began, NotAfter: year}, began.AddDate(0, 6, 0), ""},
		"two weeks before its end":   {certificates.CertificateView{NotBefore: began, NotAfter: year}, year.AddDate(0, 0, -13), messaging.Bad},
		"at its end":                 {certificates.CertificateView{NotBefore: began, NotAfter: year}, year, messaging.Stops},
		"not yet valid":              {certificates.CertificateView{NotBefore: began, NotAfter: year}, began.Add(-time.Minute), messaging.Stops},
		"of six days, in the middle": {certificates.CertificateView{NotBefore: began, NotAfter: week}, began.AddDate(0, 0, 3), ""},
		"of six days, on its last":   {certificates.CertificateView{NotBefore: began, NotAfter: week}, began.AddDate(0, 0, 5), messaging.Bad},
		"none":                       {certificates.CertificateView{Error: "the authority does not answer"}, began, messaging.Stops},
		"files that cannot be read":  {certificates.CertificateView{NotBefore: began, NotAfter: year, Error: "no such file"}, began, messaging.Bad},
	} {
		tt.v.For = "hooks.example.com"
		got := troubles(&StatusView{Daemon: &DaemonView{Certificates: []certificates.CertificateView{tt.v}}}, tt.now)
		switch {
		case tt.want == "" && len(got) > 0, tt.want != "" && (len(got) != 1 || got[0].Severity != tt.want || got[0].Code != messaging.TroubleCertificate || got[0].Hint == ""):
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A page knows by a trouble itself what to offer: its run, or what is resumed.
func TestTroublesNameWhatTheyAreAbout(t *testing.T) {
	holds := func(h messaging.Hold) StatusView { return StatusView{Holds: []messaging.Hold{h}} }
	for _, tt := range []struct {
		facts   StatusView
		run     messaging.RunID
		resumes *messaging.Resumed
	}{
		{holds(messaging.Hold{Scope: messaging.ScopeTrigger, Kind: messaging.HoldHalt, Name: "vip"}), 0, &messaging.Resumed{Scope: messaging.ScopeTrigger, Name: "vip"}},
		{holds(messaging.Hold{Scope: messaging.ScopeJob, Kind: messaging.HoldMode, Name: "news", Waiting: 1}), 0, &messaging.Resumed{Scope: messaging.ScopeJob, Name: "news"}},
		{holds(messaging.Hold{Scope: messaging.ScopeTemplate, Kind: messaging.HoldService, Name: "hello", Account: "b"}), 0, &messaging.Resumed{Scope: messaging.ScopeTemplate, Name: "hello"}},
		{holds(messaging.Hold{Scope: messaging.ScopeText, Kind: messaging.HoldService}), 0, &messaging.Resumed{Scope: messaging.ScopeTemplate, Name: "texts"}},
		{holds(messaging.Hold{Scope: messaging.ScopeAll, Kind: messaging.HoldRestored}), 0, nil}, // reviewed first
		{holds(messaging.Hold{Scope: messaging.ScopeAccount, Kind: messaging.HoldGone, Name: "b"}), 0, nil},
		{holds(messaging.Hold{Scope: messaging.ScopeRun, Kind: messaging.HoldRun, Name: "7", Job: "news"}), 7, nil},
		{StatusView{Held: []HeldView{{Run: 3, Job: "news"}}}, 3, nil},
		{StatusView{Failing: []FailingView{{Run: 4, Job: "news"}}}, 4, nil},
	} {
		got := troubles(&tt.facts, time.Unix(1e9, 0))
		if len(got) != 1 || got[0].Run != tt.run || !reflect.DeepEqual(got[0].Resumes, tt.resumes) {
			t.Errorf("%+v: %+v", tt.facts, got)
		}
	}
}
