package server

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/certificates"
	"github.com/nudgewire/nudgewire/internal/delivery/sender"
	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/drift"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What needs a person is worked out here and nowhere else: status, doctor and alerts show what troubles finds in a
// StatusView. It is pure, so each rule can be tested by the facts that it looks at.
//
// GET /readyz is not answered by it. It says whether webhooks can be stored, which a halt does not change, and a
// proxy that turned them away because of one would lose them.

// From when on work that is late is a trouble. Marketing may be late by its rate, and questions give way to sends.
const (
	urgentLate    = 2 * time.Minute
	marketingLate = time.Hour
	pollsLate     = time.Hour
)

// shedLately is how long ago webhooks that were turned away still need attention.
const shedLately = time.Hour

// mostRejected is how many reasons are told of messages that the service did not send.
const mostRejected = 5

// troubles are what the facts show, holds first.
func troubles(v *StatusView, now time.Time) []messaging.Trouble {
	t := found{now: now}
	for i := range v.Holds {
		t.hold(&v.Holds[i])
	}
	if v.Daemon != nil {
		for i := range v.Daemon.Halts {
			if h := &v.Daemon.Halts[i]; h.Node == "" {
				t.service(h)
			}
		}
		t.daemon(v.Daemon)
	}
	t.nodes(v.Nodes)
	if v.Daemon != nil {
		t.elsewhere(v.Daemon.Halts, v.Nodes)
	}
	t.audit(v)
	t.backup(v)
	t.late(v)
	t.runs(v)
	t.doubts(v)
	t.contacts(v)
	t.unused(v)
	t.unverified(v.Unverified)
	for _, one := range drift.Troubles(v.Drift) {
		t.add(one)
	}
	t.webhooksOut(v)
	t.budget(v.Spend)
	t.notes(v)
	messaging.SortTroubles(t.all)
	return t.all
}

// found is the list as it grows.
type found struct {
	now time.Time
	all []messaging.Trouble
}

func (t *found) add(one messaging.Trouble) {
	one.Severity = cmp.Or(one.Severity, messaging.Bad)
	if !one.Since.IsZero() {
		one.Since = one.Since.UTC()
	}
	t.all = append(t.all, one)
}

func (t *found) hold(h *messaging.Hold) {
	one := messaging.Trouble{Code: messaging.TroublePaused, Subject: h.What(), Severity: messaging.Stops, About: "messages", Since: h.At, Amount: float64(h.Waiting), Run: h.Run(), Resumes: h.Resumes()}
	switch h.Kind {
	case messaging.HoldReleased: // it is sent all the same
		return
	case messaging.HoldDamage:
		one.Code, one.About, one.Words = messaging.TroubleReview, "database", "webhooks are taken and nothing is sent: "+h.Reason
		one.Hint = fmt.Sprintf(`"nudgewire messages list --state waiting" shows what would be sent again; then %q`, h.GoesOn())
	case messaging.HoldRestored:
		one.Code, one.About, one.Words = messaging.TroubleReview, "database", "webhooks are taken and nothing is sent: "+h.Reason
		one.Hint = fmt.Sprintf(`"nudgewire review" shows what to look at; then %q`, h.GoesOn())
	case messaging.HoldMode:
		one.Words = fmt.Sprintf("%s, paused: %s %s", h.Waits(), h.What(), h.Reason)
		one.Hint = fmt.Sprintf("%q sends, and %q ends what waits", h.GoesOn(), h.Cancels())
	case messaging.HoldGone:
		one.Words = fmt.Sprintf("%s, paused: %s %s", h.Waits(), h.What(), h.Reason)
		one.Hint = fmt.Sprintf("put it back under accounts, then %q; %q ends what waits", h.GoesOn(), h.Cancels())
	case messaging.HoldService:
		one.Code, one.Words = messaging.TroubleTemplate, h.Stands()
		if h.Account != "" {
			one.Subject += " of account " + h.Account
		}
		one.Hint = fmt.Sprintf("look at the template on the service's dashboard; %q tries at once", h.GoesOn())
		if h.Cause == messaging.CauseRefused {
			one.Hint = fmt.Sprintf("compare its name, language and variables with the service's dashboard; %q tries at once, and one message tries by itself now and then", h.GoesOn())
		}
	case messaging.HoldRun:
		one.About, one.Words = "campaigns", h.What()+" waits to be resumed: "+h.Reason
		one.Hint = fmt.Sprintf("%q lets it go on; \"nudgewire jobs cancel %s\" ends it", h.GoesOn(), h.Name)
	default:
		one.Code, one.Words = messaging.TroubleHalt, h.Stands()
		one.Hint = fmt.Sprintf("%q lets it go on", h.GoesOn())
	}
	t.add(one)
}

// serviceHints say what to do about what the service does.
var serviceHints = map[apiclient.Trouble]string{
	apiclient.TroubleKey:     `copy the key anew from the service's dashboard to what api.key names, then "nudgewire reload"`,
	apiclient.TroublePoints:  `top up the account; "nudgewire reload" tries at once`,
	apiclient.TroubleAddress: `look at api.base_url and api.text_path, then "nudgewire reload"`,
	apiclient.TroubleOutage:  "messages wait meanwhile; nothing needs to be done but at the service",
	sender.TroubleRejections: `"nudgewire messages list --state rejected" shows what is rejected and why; "nudgewire reload" tries at once`,
}

// A process sees no variable that was changed since it began.
const keyOfEnvironment = "copy the key anew from the service's dashboard to the variable that api.key names, then restart the daemon: " +
	"a reload does not read the environment again"

// OfAccount names the keys of an account in advice about those of the section api.
func OfAccount(words, name string) string {
	if name == "" || name == messaging.DefaultAccount {
		return words
	}
	return strings.NewReplacer("api.key", "accounts."+name+".key", "api.base_url", "accounts."+name+".base_url", "api.text_path", "accounts."+name+".text_path").Replace(words)
}

// service is an account that sends nothing at present. Its cause is the code.
func (t *found) service(h *messaging.SendingHalt) {
	words, hint := h.Words(t.now), serviceHints[apiclient.Trouble(h.Cause)]
	if h.Account != "" {
		words = "account " + h.Account + ": " + words
	}
	if h.OfEnvironment {
		hint = keyOfEnvironment
	}
	t.add(messaging.Trouble{
		Code: messaging.TroubleCode(h.Cause), Subject: strings.TrimSpace(string(h.Lane) + " " + h.Account), Severity: messaging.Stops, About: "messages",
		Since: h.Since, Words: words, Hint: OfAccount(hint, h.Account),
	})
}

// filesDiffer is how long config files may differ from what is in use before it is told: somebody may be writing them.
const filesDiffer = 10 * time.Minute

// daemon is what the running process knows of itself.
func (t *found) daemon(d *DaemonView) {
	const check = `"nudgewire check" shows the mistakes`
	switch {
	case d.LoadError != "":
		t.add(messaging.Trouble{
			Code: messaging.TroubleConfig, About: "daemon", Since: d.LoadErrorAt, Hint: check,
			Words: "the last reload was rejected, and the daemon uses the config before it: " + firstLine(d.LoadError),
		})
	case d.FileError != "":
		t.add(messaging.Trouble{
			Code: messaging.TroubleConfig, About: "daemon", Since: d.FileChangedAt, Hint: check,
			Words: "the config file was changed and cannot be used as it is; the daemon uses what it read before, and could not start anew: " + firstLine(d.FileError),
		})
	case d.TakesUp() && t.now.Sub(d.FileChangedAt) >= filesDiffer:
		t.add(messaging.Trouble{
			Code: messaging.TroubleConfig, About: "daemon", Since: d.FileChangedAt,
			Words: "the config files were changed and not taken up: they are config " + d.FileVersion + ", and config " + d.Config + " is in use; a restart would take them",
			Hint:  `"nudgewire plan" says what would change, and how to take it up`,
		})
	}
	if d.DataError != "" {
		hint := d.DataHint
		if hint == "" {
			hint = `look at the disk and at the folder of the data; the daemon goes on by itself, and "nudgewire doctor" says whether the data is whole`
		}
		t.add(messaging.Trouble{
			Code: messaging.TroubleData, Severity: messaging.Stops, About: "database", Words: "webhooks are rejected and nothing is sent: " + d.DataError,
			Hint: hint,
		})
	}
	if r := d.OpenReader; r != nil {
		t.add(messaging.Trouble{Code: messaging.TroubleReader, About: "database", Since: r.Since, Amount: float64(r.Log), Words: r.Words(), Hint: r.Hint()})
	}
	for _, r := range d.Receivers {
		if !r.FailingSince.IsZero() {
			t.add(messaging.Trouble{
				Code: messaging.TroubleReceiver, Subject: r.Name, About: "alerts", Since: r.FailingSince, Words: fmt.Sprintf("%s is not reached by alerts: %s", r.Name, r.LastError),
				Hint: fmt.Sprintf("look at its entry under alerts in the config, and for e-mail at mail, such as mail.tls; \"nudgewire alerts test '%s'\" tries it", r.Name),
			})
		}
	}
	if d.Disk != nil && d.Disk.Short() {
		t.add(messaging.Trouble{
			Code: messaging.TroubleDisk, Severity: diskSeverity(d.Disk), About: "disk", Since: d.Disk.Since, Amount: float64(d.Disk.Free), Words: d.Disk.Words(), Hint: DiskHint,
		})
	}
	for _, r := range d.FailedRates {
		if !r.TooMany() {
			continue
		}
		t.add(messaging.Trouble{
			Code: messaging.TroubleFailedRate, Subject: r.Subject, About: "messages", Since: r.Since, Amount: r.Percent(), Words: r.Words(),
			Hint: `"nudgewire status" names the reasons, and "nudgewire messages list --state failed" and "--state rejected" the messages`,
		})
	}
	for _, s := range d.Silent {
		t.add(messaging.Trouble{
			Code: messaging.TroubleSilent, Subject: s.Connector, About: "connector " + s.Connector, Since: s.Since, Words: s.Words(),
			Hint: `look at the sender's own list of deliveries; "nudgewire connectors show ` + s.Connector + `" has its URL`,
		})
	}
	for i := range d.Certificates {
		t.certificate(&d.Certificates[i])
	}
	for _, one := range d.Turned {
		severity := messaging.Note
		if t.now.Sub(one.Last) < shedLately {
			severity = messaging.Bad
		}
		t.add(messaging.Trouble{
			Code: messaging.TroubleTurnedAway, Subject: one.Why, Severity: severity, About: "door", Amount: float64(one.Count), Words: one.Words(t.now),
			Hint: "where all senders come through a proxy, name it in server.trusted_proxies; else see the log for the addresses, and server.max_in_flight",
		})
	}
}

// budget is one that is nearly spent, and told once more when it is met: that what was told before is over would be wrong then.
func (t *found) budget(v *report.SpendView) {
	if v == nil {
		return
	}
	for i := range v.Budget {
		b := &v.Budget[i]
		one := messaging.Trouble{
			Code: messaging.TroubleBudget, Subject: b.Of, About: "messages", Amount: b.Spent, Words: fmt.Sprintf("%d%% of the budget is spent: %s", b.Percent(), b.Words()),
			Hint: `"nudgewire report --group trigger" shows what it went for; a higher budget holds from "nudgewire reload" on`,
		}
		if b.Nearly() {
			t.add(one)
		}
		if b.Met {
			one.Subject, one.Severity = b.Of+" met", messaging.Stops
			one.Words = fmt.Sprintf("the budget of the %s is met, so marketing waits until %s: %s are spent", b.Of, units.Stamp(b.Until), b.Words())
			t.add(one)
		}
	}
}

// audit is a chain whose end is not what was written.
func (t *found) audit(v *StatusView) {
	if v.AuditBroken != "" {
		t.add(messaging.Trouble{
			Code: messaging.TroubleAudit, About: "audit", Since: v.AuditSince, Words: "somebody changed the audit: " + v.AuditBroken,
			Hint: `find out who can write the database; "nudgewire audit verify" reads all of it, and "nudgewire audit accept" ends this once somebody has looked into it`,
		})
	}
}

// backup is a plan of backups that is not kept, or of which nobody can say whether it is kept.
func (t *found) backup(v *StatusView) {
	failed := v.Daemon != nil && v.Daemon.Backups != nil && v.Daemon.Backups.Failed != ""
	if v.BackupError != "" && !failed { // a failure says more
		t.add(messaging.Trouble{
			Code: messaging.TroubleBackup, Severity: messaging.Bad, About: "backup", Words: v.BackupError,
			Hint: `let the daemon read the file DATABASE.backup, or remove it; "nudgewire backup FILE" makes a backup and writes it anew`,
		})
		return
	}
	if v.Daemon == nil || v.Daemon.Backups == nil {
		return
	}
	plan := v.Daemon.Backups
	words := plan.Missed(v.Backup, t.now)
	if words == "" {
		return
	}
	since := plan.FailedAt
	if plan.Failed == "" {
		since = v.Backup.At.Add(plan.Every)
	}
	t.add(messaging.Trouble{
		Code: messaging.TroubleBackup, About: "backup", Since: since, Words: "a backup is missed: " + words,
		Hint: "look at the folder " + plan.To + `; "nudgewire backup FILE" makes one elsewhere`,
	})
}

// certificate is one of the door that senders do not take, or will not for long.
func (t *found) certificate(v *certificates.CertificateView) {
	words := v.Words(t.now)
	if words == "" {
		return
	}
	one := messaging.Trouble{
		Code: messaging.TroubleCertificate, Subject: v.For, About: "certificate", Since: v.ErrorAt, Words: words,
		Hint: "renew the files that server.tls names: the daemon reads them again when they change, and a reload is not needed",
	}
	if v.Valid(t.now) != nil {
		one.Severity = messaging.Stops
	}
	if v.ByACME {
		one.Hint = "each of the domains must lead to this door on port 443; the daemon asks again by itself, and its log says what the authority answers"
	}
	t.add(one)
}

// late is what is past its time though nothing is known that holds it back.
func (t *found) late(v *StatusView) {
	halted := map[string]bool{}
	several := false
	if v.Daemon != nil {
		several = len(v.Daemon.Accounts) > 0
		for i := range v.Daemon.Halts {
			switch h := &v.Daemon.Halts[i]; {
			case h.Node != "":
			case h.Lane == "":
				halted[messaging.AccountKey(h.Account)] = true
			default: // of what is urgent nothing is overdue where one of its lanes is halted
				halted[messaging.AccountKey(h.Account)+" "+laneGroup(h.Lane)] = true
			}
		}
	}
	for _, b := range v.Behind {
		if halted[b.Account] || halted[b.Account+" "+b.What] {
			continue // that is told already
		}
		one := messaging.Trouble{Severity: messaging.Stops, About: "messages", Since: b.Since}
		of := ""
		if several {
			one.Subject = messaging.AccountName(b.Account)
			of = " of account " + one.Subject
		}
		late := t.now.Sub(b.Since).Round(time.Second).String()
		switch {
		case b.What == BehindUrgent && t.now.Sub(b.Since) >= urgentLate:
			one.Code, one.Subject = messaging.TroubleOverdue, strings.TrimSpace("urgent "+one.Subject)
			one.Words = "the oldest message" + of + " of category utility or authentication is " + late + " past its time"
			one.Hint = `"nudgewire status" shows at what rate messages leave, and the daemon's log what holds them up`
		case b.What == BehindMarketing && t.now.Sub(b.Since) >= marketingLate:
			one.Code, one.Subject = messaging.TroubleOverdue, strings.TrimSpace("marketing "+one.Subject)
			one.Words = "the oldest marketing message" + of + " is " + late + " past its time"
			one.Hint = `"nudgewire status" shows at what rate messages leave: raise api.rate if the service allows more, or spread what falls due`
		case b.What == BehindPolls && t.now.Sub(b.Since) >= pollsLate:
			one.Code, one.Severity = messaging.TroublePolls, messaging.Bad
			one.Words = "the status of a message" + of + " should have been asked for " + late + " ago: what status and why say of deliveries is old"
			one.Hint = `"nudgewire status" shows the rate that questions share with messages: raise api.rate, or ask less often with tracking.poll`
		default:
			continue
		}
		t.add(one)
	}
}

// laneGroup is what may be behind that a lane belongs to.
func laneGroup(lane messaging.Category) string {
	if lane.Urgent() {
		return BehindUrgent
	}
	return BehindMarketing
}

func (t *found) runs(v *StatusView) {
	for _, r := range v.Held {
		t.add(messaging.Trouble{
			Code: messaging.TroubleApproval, Subject: fmt.Sprintf("run %d of %s", r.Run, r.Job), Severity: messaging.Stops, About: "campaigns", Since: r.Since,
			Words: r.Words(), Run: r.Run,
			Hint: fmt.Sprintf(`"nudgewire jobs show %d", then "nudgewire jobs approve %d" or "nudgewire jobs cancel %d"`, r.Run, r.Run, r.Run),
		})
	}
	for _, f := range v.Failing {
		t.add(messaging.Trouble{
			Code: messaging.TroubleFailing, Subject: fmt.Sprintf("run %d of %s", f.Run, f.Job), About: "campaigns", Since: f.Since, Words: f.Words(), Run: f.Run,
			Hint: fmt.Sprintf(`"nudgewire jobs show %d", then "nudgewire jobs retry %d"`, f.Run, f.Run),
		})
	}
}

func (t *found) doubts(v *StatusView) {
	if n := v.InDoubt; n > 0 {
		t.add(messaging.Trouble{
			Code: messaging.TroubleInDoubt, About: "messages", Since: v.InDoubtSince, Amount: float64(n),
			Words: fmt.Sprintf("%s in doubt: somebody must say what became of %s", units.Count(n, "message"), itOrThem(n)),
			Hint:  `"nudgewire messages list --state in_doubt", then "nudgewire messages resolve"`,
		})
	}
	if n := v.PartsInDoubt; n > 0 {
		t.add(messaging.Trouble{
			Code: messaging.TroubleFiles, About: "campaigns", Since: v.PartsInDoubtSince, Amount: float64(n),
			Words: fmt.Sprintf("%s in doubt: somebody must say what became of %s", units.Count(n, "uploaded file"), itOrThem(n)),
			Hint:  `"nudgewire jobs history" names the runs, and "nudgewire jobs show RUN" the next step`,
		})
	}
}

// forgettingLate is from when on an order to forget somebody needs a person.
const forgettingLate = 24 * time.Hour

// redactionLate is from when on a request to forget all that came by a connector is late: senders count in days.
const redactionLate = 48 * time.Hour

// contacts are what people asked for by law.
func (t *found) contacts(v *StatusView) {
	if n := len(v.Forgetting); n > 0 {
		one := messaging.Trouble{
			Code: messaging.TroubleForgetting, Severity: messaging.Note, About: "contacts", Since: v.Forgetting[0].Since, Amount: float64(n),
			Words: v.Forgetting[0].Words(), Hint: `it goes on by itself; if a run is in its way, "nudgewire jobs pause RUN" is enough`,
		}
		if n > 1 {
			one.Words += fmt.Sprintf("; %d more wait behind it", n-1)
		}
		if t.now.Sub(one.Since) >= forgettingLate {
			one.Severity = messaging.Bad
		}
		t.add(one)
	}
	for i := range v.Redactions {
		r := &v.Redactions[i]
		one := messaging.Trouble{
			Code: messaging.TroubleRedaction, Subject: r.Connector, Severity: messaging.Note, About: "contacts", Since: r.Since, Amount: float64(r.Contacts), Words: r.Words(),
			Hint: fmt.Sprintf(`if that is so, "nudgewire contacts redactions do %s" forgets them, which cannot be undone; else "nudgewire contacts redactions refuse %s"`, r.Connector, r.Connector),
		}
		if t.now.Sub(one.Since) >= redactionLate {
			one.Severity = messaging.Bad
		}
		t.add(one)
	}
	if n := len(v.DataRequests); n > 0 {
		who := "1 contact asks"
		if n > 1 {
			who = fmt.Sprintf("%d contacts ask", n)
		}
		t.add(messaging.Trouble{
			Code: messaging.TroubleDataRequest, About: "contacts", Since: v.DataRequests[0].Since, Amount: float64(n),
			Words: who + " for what is stored about them, the first since " + v.DataRequests[0].Since.Format("2006-01-02"),
			Hint:  `"nudgewire contacts requests" names the files: send each to its contact, then "nudgewire contacts answered EVENT"`,
		})
	}
}

// notes are what is worth knowing.
func (t *found) notes(v *StatusView) {
	if u := v.UnknownErrors; u != nil {
		t.add(messaging.Trouble{
			Code: messaging.TroubleUnknownText, Severity: messaging.Note, About: "messages", Since: u.Since, Amount: float64(u.Count),
			Words: fmt.Sprintf("no rule knows %s of the service within a day, the last: %s", units.Count(u.Count, "text"), u.Last),
			Hint:  `"nudgewire errors list --class unknown" shows them; give each a class under errors: in the config`,
		})
	}
	for _, r := range v.Rejected[:min(len(v.Rejected), mostRejected)] {
		t.add(messaging.Trouble{
			Code: messaging.TroubleRejected, Subject: r.State + ": " + r.Reason, Severity: messaging.Note, About: "messages", Amount: float64(r.Count), Words: r.Words(),
			Hint: `"nudgewire messages list --state rejected" and "--state failed" name them`,
		})
	}
	if n := v.Counts["messages_untracked"]; n > 0 {
		t.add(messaging.Trouble{
			Code: messaging.TroubleUntracked, Severity: messaging.Note, About: "messages", Amount: float64(n),
			Words: fmt.Sprintf("%s accepted without a message_id in all: nobody can ask what became of %s", units.Count(n, "message"), itOrThem(n)),
			Hint:  "the service's own pages tell what became of them",
		})
	}
}

func itOrThem(n int64) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func firstLine(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	if len(lines) == 0 {
		return ""
	}
	if len(lines) > 1 && strings.HasSuffix(lines[0], ":") { // the head of a list
		return strings.TrimSpace(lines[1])
	}
	return lines[0]
}

// A BehindView is work that is past its time.
type BehindView struct {
	What    string    `json:"what" kind:"ours"`              // urgent, marketing or polls
	Account string    `json:"account,omitempty" kind:"ours"` // as rows name it
	Since   time.Time `json:"since"`                         // when the oldest of it was due
}

// What may be behind: messages of the two lanes, and questions about messages.
const (
	BehindUrgent    = "urgent"
	BehindMarketing = "marketing"
	BehindPolls     = "polls"
)

// behind lists what is past its time.
func behind(next map[string]report.NextDue, now time.Time) (out []BehindView) {
	for account, at := range next {
		for what, due := range map[string]time.Time{BehindUrgent: at.Urgent, BehindMarketing: at.Marketing, BehindPolls: at.Poll} {
			if !due.IsZero() && due.Before(now) {
				out = append(out, BehindView{what, account, due.UTC()})
			}
		}
	}
	slices.SortFunc(out, func(a, b BehindView) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.What, b.What))
	})
	return out
}

// A HeldView is a run that waits to be approved.
type HeldView struct {
	Run   messaging.RunID `json:"run"`
	Job   string          `json:"job" kind:"ours"`
	Why   string          `json:"why" kind:"text"`
	Since time.Time       `json:"since"`

	Approved string `json:"approved,omitempty" kind:"ours"` // how far it is where several people have to: "1 of 2 approved: ann (1000)"
}

// Words say it in a line.
func (v HeldView) Words() string {
	words := fmt.Sprintf("run %d of %s waits to be approved: %s", v.Run, v.Job, v.Why)
	if v.Approved != "" {
		words += "; " + v.Approved
	}
	return words
}

// An UnknownView counts the texts of the service that no rule of the config knows, in the last 24 hours.
type UnknownView struct {
	Count int64     `json:"count"`
	Last  string    `json:"last" kind:"text"` // numbers in it are #
	Since time.Time `json:"since"`
}

// A DiskView is the space on the disk that holds the data.
type DiskView struct {
	Folder string    `json:"folder" kind:"ours"`
	Free   uint64    `json:"free"` // bytes
	All    uint64    `json:"all"`
	Least  uint64    `json:"least,omitempty"` // server.least_free
	Held   bool      `json:"held,omitempty"`  // marketing waits, and webhooks that nothing verifies are turned away
	Since  time.Time `json:"short_since,omitzero"`
}

func diskSeverity(d *DiskView) messaging.Severity {
	if d.Held {
		return messaging.Stops
	}
	return messaging.Bad
}

// DiskHint is what to do about a disk that is short.
const DiskHint = "make room; it goes on by itself once there is a quarter more than server.least_free. When the disk is full, every webhook is answered 503"

// Short reports whether there is hardly any space left.
func (d *DiskView) Short() bool { return d.Held || d.Free < cmp.Or(d.Least, disk.Least) }

// Words are the space for people.
func (d *DiskView) Words() string {
	unit, name := 1e9, "GB"
	if d.All < 1e9 || d.Free < 1e8 {
		unit, name = 1e6, "MB"
	}
	words := fmt.Sprintf("%.1f of %.1f %s free at %s", float64(d.Free)/unit, float64(d.All)/unit, name, d.Folder)
	if d.Held {
		words += fmt.Sprintf(": marketing waits, and webhooks that nothing verifies are answered 503 (server.least_free: %s)", units.Size(d.Least))
	}
	return words
}

// leastEnded is how many messages must have ended before a share of them says anything.
const leastEnded = 20

// A FailedRateView is which share of the messages that ended in a window did not arrive: the service rejected them, or
// took them and failed later.
type FailedRateView struct {
	Subject string        `json:"subject,omitempty" kind:"ours"` // "" for the usual window and share, else as alerts write it
	Above   float64       `json:"above"`                         // percent; more than that is a trouble
	Over    time.Duration `json:"over"`
	Failed  int64         `json:"failed"`
	Ended   int64         `json:"ended"`
	Since   time.Time     `json:"since,omitzero"` // since when it is above
}

// Percent is the share.
func (r FailedRateView) Percent() float64 {
	if r.Ended == 0 {
		return 0
	}
	return 100 * float64(r.Failed) / float64(r.Ended)
}

// TooMany reports whether it is a trouble.
func (r FailedRateView) TooMany() bool { return r.Ended >= leastEnded && r.Percent() > r.Above }

// Words say it in a line.
func (r FailedRateView) Words() string {
	return fmt.Sprintf("%.0f%% of the messages that ended in the last %s did not arrive: %s of %s, and more than %s%% is too many",
		r.Percent(), units.Brief(r.Over), units.Number(r.Failed), units.Number(r.Ended), strconv.FormatFloat(r.Above, 'f', -1, 64))
}
