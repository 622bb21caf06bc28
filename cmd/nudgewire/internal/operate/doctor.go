package operate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/backup"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/disk"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/place"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// How a finding is to be taken.
const (
	wellGood = "ok"
	wellNote = "note" // worth knowing; nothing has to be done
	wellBad  = "bad"  // needs attention
)

// A finding is one line of the doctor's.
type finding struct {
	What  string `json:"what"`
	State string `json:"state"`
	Words string `json:"words"`
	Hint  string `json:"hint,omitempty"`
}

// A doctor collects findings.
type doctor struct {
	cfg      *config.Config
	problems yamlpos.Problems
	findings []finding
	asked    bool             // the daemon told what troubles it
	short    *server.DiskView // as the daemon says while it holds marketing back; nil for none
}

func (d *doctor) found(state, what, hint, format string, args ...any) {
	d.findings = append(d.findings, finding{What: what, State: state, Words: fmt.Sprintf(format, args...), Hint: hint})
}

// doctorPatience bounds each of the doctor's questions.
const doctorPatience = 5 * time.Second

func (c commands) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Look at everything that can be wrong, and say what needs attention", Args: cobra.NoArgs,
		Long: `doctor looks at the config and its secrets, the daemon and its door, the public address, each
connector, the messaging service, the disk and the database. It changes nothing and sends
nothing: the service is asked about a message that cannot be. Exit status 1 when something
needs attention.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			d := &doctor{}
			d.cfg, d.problems = config.Load(c.Config, os.LookupEnv)
			if d.problems.Errors() > 0 {
				d.withoutSecrets(c.Config)
			}
			if d.cfg == nil {
				return c.BadConfig(d.problems)
			}
			d.config(c.Config)
			if d.cfg.Server.Listen != "" {
				d.address(ctx, "listener", terminal.LocalURL(d.cfg), "is the daemon running, and server.listen the right address?")
				d.public(ctx)
			}
			if d.cfg.Storage != "" {
				d.daemon(ctx, c.CLI)
				d.disk(engine.Path(d.cfg.Storage))
				d.backup()
				d.asides()
				d.database(ctx)
			}
			d.service(ctx, c.Version)
			return c.tellDoctor(d.findings)
		},
	}
}

func (c commands) tellDoctor(findings []finding) error {
	bad := 0
	for _, f := range findings {
		if f.State == wellBad {
			bad++
		}
		if c.JSON {
			if err := c.Print(f); err != nil {
				return err
			}
			continue
		}
		color := map[string]string{wellGood: "32", wellNote: "33", wellBad: "31"}[f.State]
		c.Say("%s  %-22s %s\n", c.Paint(c.Out, color, fmt.Sprintf("%-4s", f.State)), f.What, f.Words)
		if f.Hint != "" {
			c.Say("%30s%s\n", "", f.Hint)
		}
	}
	if bad == 0 {
		c.Note("nothing needs attention")
		return nil
	}
	c.Note("%s attention", needs(bad))
	return exit.Silent(exit.Failed)
}

func needs(n int) string {
	if n == 1 {
		return "1 thing needs"
	}
	return fmt.Sprintf("%d things need", n)
}

// withoutSecrets takes the config with stand-ins where variables are set for the daemon and not in
// this shell, as they often are: that is no mistake of the config.
func (d *doctor) withoutSecrets(path string) {
	cfg, problems := config.LoadWithoutSecrets(path, os.LookupEnv)
	if cfg == nil || problems.Errors() > 0 {
		return
	}
	d.cfg, d.problems = cfg, problems
	d.found(wellNote, "secrets", "run doctor with the daemon's environment to try them", "%s not set in this shell: what needs them is not looked at", terminal.StandInWords(cfg))
}

// config reports the config's mistakes and the secrets that could be guessed.
func (d *doctor) config(path string) {
	if n := d.problems.Errors(); n > 0 {
		d.found(wellBad, "config", `"nudgewire check" shows each with its hint`, "%s cannot be used: %s, the first: %s", path, units.Count(n, "mistake"), d.problems.Faults()[0].Error())
	} else {
		d.found(wellGood, "config", "", "%s, version %s: %s, %s", path, d.cfg.Version,
			units.Count(len(d.cfg.Receivers), "connector"), units.Count(len(d.cfg.Triggers.Names()), "trigger"))
	}
	weak := false
	for _, p := range d.problems.Warnings() {
		if p.Code == yamlpos.WeakSecret {
			weak = true
			d.found(wellBad, "secrets", p.Hint, "%s %s", p.Path, p.Msg)
			continue
		}
		d.found(wellNote, "config", p.Hint, "%s: %s", p.Path, p.Msg)
	}
	if !weak && len(d.cfg.Receivers) > 0 {
		d.found(wellGood, "secrets", "", "none of them is short enough to be guessed")
	}
}

// address asks for a sign of life of the public door at base.
func (d *doctor) address(ctx context.Context, what, base, hint string) {
	v, status, err := terminal.Readiness(ctx, d.cfg, base)
	switch {
	case status == 0 && d.cfg.Server.TLS != nil && d.cfg.Server.TLS.ClientCA != "" && refusedUs(err):
		d.found(wellNote, what, "", "%s answers, and asks for a certificate by server.tls.client_ca, so more is not seen from here", base)
	case status == 0:
		d.found(wellBad, what, hint, "%s does not answer: %v", base, err)
	case v.Ready:
		d.found(wellGood, what, "", "%s answers, and takes webhooks", base)
	case v.Starting != "":
		d.found(wellBad, what, v.Hint, "%s takes no webhooks, and the daemon cannot open its data: %s", base, v.Starting)
	case v.Why != "":
		d.found(wellBad, what, v.Hint, "%s takes no webhooks: %s", base, v.Why)
	case status == http.StatusServiceUnavailable:
		d.found(wellBad, what, "the daemon's log says why", "%s answers that it is not ready", base)
	default:
		d.found(wellNote, what, "that is fine when a proxy passes on /hooks/ alone; else it is another server's address", "%s answers %d, not as nudgewire does", base, status)
	}
}

// refusedUs reports whether a server of TLS ended the handshake, as one does that asks for a certificate.
func refusedUs(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}

func (d *doctor) public(ctx context.Context) {
	if d.cfg.Server.PublicURL == "" {
		d.found(wellNote, "public address", "set server.public_url to the address that senders know", "is not set, so nobody can tell whether the internet reaches the daemon")
		return
	}
	d.address(ctx, "public address", d.cfg.Server.PublicURL, "look at the name, the certificate, and the proxy or tunnel before the daemon")
}

// daemon asks the running process, or its database, about connectors and work.
func (d *doctor) daemon(ctx context.Context, c *terminal.CLI) {
	ask := c.Dial(d.cfg.Storage)
	defer ask.Close()
	s, err := server.ShowStatus.Call(ctx, ask, server.None{})
	switch {
	case errors.Is(err, server.ErrNoDaemon) && terminal.DaemonStarts(ctx, d.cfg) != "":
		return // the listener told
	case errors.Is(err, server.ErrNoDaemon) && terminal.DaemonAnswers(ctx, d.cfg):
		d.found(wellBad, "daemon", terminal.ElsewhereHint, "none has its data at %s, and %s", engine.Name(d.cfg.Storage), terminal.DaemonElsewhere(d.cfg))
		return
	case errors.Is(err, server.ErrNoDaemon):
		d.found(wellBad, "daemon", `start it with "nudgewire serve"`, "is not running")
		return
	case err != nil:
		hint := ""
		if told, is := errors.AsType[*refusal.Error](err); is {
			hint = told.Hint
		}
		d.found(wellBad, "daemon", hint, "does not say how it is: %v", err)
		return
	}
	d.found(wellGood, "daemon", "", "running for %s (pid %d, %s)", terminal.ShortDuration(time.Since(s.Daemon.StartedAt)), s.Daemon.PID, s.Daemon.Version)
	if now := engine.Name(d.cfg.Storage); s.Storage != now {
		d.found(wellBad, "daemon", "start it anew, or put storage: back", "its data is at %s, and storage: in the config is %s now", s.Storage, now)
	}
	if s.Daemon.LoadError == "" && s.Daemon.Config != d.cfg.Version {
		d.found(wellNote, "daemon", `"nudgewire reload" takes the file as it is now`, "runs version %s of the config, and the file is version %s", s.Daemon.Config, d.cfg.Version)
	}
	for _, words := range s.Daemon.NeedsRestart {
		d.found(wellNote, "daemon", "start it anew when it suits", "%s", words)
	}
	if v := s.Daemon.Disk; v != nil && v.Held {
		d.short = v
	}
	d.asked = true
	d.nodes(s.Nodes)
	d.troubles(s.Troubles)
	if r := s.Retention; r != nil {
		state, hint := wellGood, ""
		if r.ManyFree() {
			state, hint = wellNote, `stop the daemon, "nudgewire compact", and start it anew`
		}
		d.found(state, "retention", hint, "%s; %s", r.Words(time.Now()), r.SpaceWords())
	}
	if len(d.cfg.Alerts.Receivers) == 0 {
		d.found(wellNote, "alerts", "write alerts: [{when: all, webhook: ${OPS_URL}}]; docs/alerts.md has Slack and e-mail, too", "nobody is told when messages stop")
	}
	d.runs(ctx, ask)
	d.connectors(ctx, ask, s)
}

// troubles tells what the daemon, or its data, says that needs a person. Of the disk the doctor looks itself.
func (d *doctor) troubles(all []messaging.Trouble) {
	for _, t := range all {
		state := wellBad
		if t.Severity == messaging.Note {
			state = wellNote
		}
		if t.Code != messaging.TroubleDisk {
			d.found(state, t.About, t.Hint, "%s", t.Words)
		}
	}
}

// nodes lists the daemons that share the database. What is wrong with them is a trouble.
func (d *doctor) nodes(all []server.NodeView) {
	for i := range all {
		n := &all[i]
		if n.Alive {
			d.found(wellGood, "node "+n.Name, "", "%s", n.Words())
		} else {
			d.found(wellNote, "node "+n.Name, "start it again, unless another machine took its place: it is listed for an hour", "%s", n.Words())
		}
	}
}

// runs says which of the newest runs wait for a place.
func (d *doctor) runs(ctx context.Context, ask *server.Client) {
	runs, err := server.ListRuns.Call(ctx, ask, server.ListQuery{Since: time.Now().Add(-recently), Limit: 100})
	if err != nil {
		d.found(wellBad, "campaigns", "", "the runs cannot be read: %v", err)
		return
	}
	for i := range runs {
		r := &runs[i]
		if r.State != messaging.RunPlanned {
			continue
		}
		if one, err := server.ShowRun.Call(ctx, ask, r.ID); err == nil && one.Waiting() != "" {
			d.found(wellNote, "campaigns", `"nudgewire jobs cancel RUN" ends one that hangs`, "run %d of %s %s", r.ID, r.Job, one.Waiting())
		}
	}
}

// recently is how far back rejected requests are counted.
const recently = 24 * time.Hour

// connectors says of each when it was last heard of, and what was rejected lately.
func (d *doctor) connectors(ctx context.Context, ask *server.Client, s server.StatusView) {
	silent := map[string]bool{}
	for _, v := range s.Daemon.Silent {
		silent[v.Connector] = true
	}
	for _, name := range slices.Sorted(maps.Keys(d.cfg.Receivers)) {
		what := "connector " + name
		if silent[name] {
			// troubles told
		} else if at := s.LastEvents[name]; at.IsZero() {
			d.found(wellNote, what, fmt.Sprintf(`"nudgewire trigger %s" posts a sample`, name), "no event yet")
		} else {
			d.found(wellGood, what, "", "last event %s ago (%s)", units.Brief(time.Since(at)), at.UTC().Format("2006-01-02 15:04 UTC"))
		}
		rejected, err := server.ListRejectedRequests.Call(ctx, ask, server.ListQuery{Connector: name, Since: time.Now().Add(-recently), Limit: 1000})
		if err != nil {
			d.found(wellBad, what, "", "what was rejected cannot be read: %v", err)
			continue
		}
		// What a connector in mode monitor took unverified came through.
		rejected = slices.DeleteFunc(rejected, func(r messaging.RejectedRequest) bool { return r.Status < http.StatusBadRequest })
		if len(rejected) > 0 {
			last := rejected[0]
			since := 0
			for _, r := range rejected {
				if r.At.After(s.LastEvents[name]) {
					since++
				}
			}
			// One rejected request may be a stranger's. When nothing ever got through, or several
			// in a row did not, it is the sender.
			state := wellNote
			if since >= 3 || (since > 0 && s.LastEvents[name].IsZero()) {
				state = wellBad
			}
			d.found(state, what, "nudgewire events rejected --connector "+name, "%d rejected within a day, the last %s ago with %d at %s: %s",
				len(rejected), units.Brief(time.Since(last.At)), last.Status, last.Stage, last.Reason)
		}
	}
}

func (d *doctor) disk(path string) {
	folder := filepath.Dir(path)
	free, all, err := disk.Space(folder)
	for errors.Is(err, fs.ErrNotExist) && folder != filepath.Dir(folder) {
		folder = filepath.Dir(folder) // the daemon makes the folders when it starts
		free, all, err = disk.Space(folder)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return
	}
	if err != nil {
		d.found(wellNote, "disk", "", "the space at %s is not known: %v", folder, err)
		return
	}
	if info, err := os.Stat(folder); err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		d.found(wellNote, "data folder", "chmod 700 "+folder, "%s is open to other users of this machine, and what it holds is personal", folder)
	}
	space := server.DiskView{Folder: folder, Free: free, All: all, Least: uint64(d.cfg.Server.LeastFree.Bytes())}
	if d.short != nil { // what the daemon does about it
		space = *d.short
	}
	state, hint := wellGood, ""
	if space.Short() {
		state, hint = wellBad, server.DiskHint
	}
	d.found(state, "disk", hint, "%s", space.Words())
}

// oldBackup is from when on a backup that nobody schedules is worth a word.
const oldBackup = 7 * 24 * time.Hour

// backup says how old the last backup is.
func (d *doctor) backup() {
	if engine.OnServer(d.cfg.Storage) {
		d.found(wellNote, "backup", "docs/cluster.md shows how, and how to try one", "PostgreSQL makes it by its own tools, which nudgewire does not see")
		return
	}
	const hint = `"nudgewire backup FILE" makes one while the daemon runs`
	if _, err := os.Stat(engine.Path(d.cfg.Storage)); err != nil {
		return // database tells
	}
	last, err := backup.ReadLast(d.cfg.Storage)
	age := time.Since(last.At)
	switch {
	case err != nil:
		d.found(wellBad, "backup", hint, "%v", err)
	case last.File == "":
		d.found(wellNote, "backup", hint, "none is known of this data")
	case age > oldBackup:
		d.found(wellNote, "backup", hint, "the last one is %s old: %s", terminal.ShortDuration(age), last.File)
	default:
		d.found(wellGood, "backup", "", "%s old, read whole %s ago: %s", terminal.ShortDuration(age), terminal.ShortDuration(time.Since(last.Checked)), last.File)
	}
}

// asides names what restorations moved aside: it is all data of that time, nothing removes it by itself, and forgetting does not reach it.
func (d *doctor) asides() {
	if engine.OnServer(d.cfg.Storage) {
		return
	}
	all, err := backup.Asides(d.cfg.Storage)
	for _, one := range all {
		d.found(wellNote, "restoration", "rm -r '"+one.Path+"', once the restored data was reviewed and nothing of it is missed",
			"what was there before lies in %s since %s: %.1f MB with contacts, that no age and no forgetting reaches", filepath.Base(one.Path), one.At.Format(time.DateOnly), float64(one.Bytes)/1e6)
	}
	if err != nil {
		d.found(wellNote, "restoration", "", "what was there before cannot be measured: %v", err)
	}
}

// database reads the data's structure through a connection of its own, beside the daemon.
func (d *doctor) database(ctx context.Context) {
	if engine.OnServer(d.cfg.Storage) {
		d.databaseServer(ctx)
		return
	}
	path := engine.Path(d.cfg.Storage)
	info, err := os.Stat(path)
	if err != nil && terminal.DaemonAnswers(ctx, d.cfg) {
		d.found(wellBad, "database", "put it back, or start the daemon anew to begin with an empty one", "%s was moved away or deleted while the daemon runs", path)
		return
	}
	if err := place.CopyCutOff(path); err != nil {
		d.found(wellBad, "database", "", "%v", err)
		return
	}
	if err != nil {
		d.found(wellNote, "database", "the daemon makes it when it starts", "%s does not exist yet", path)
		return
	}
	st, err := store.Open(ctx, store.Options{DSN: d.cfg.Storage, ReadOnly: true})
	if err != nil {
		d.found(wellBad, "database", "", "%v", err)
		return
	}
	err = d.look(ctx, st)
	err = errors.Join(err, st.Check(ctx))
	if err := errors.Join(err, st.Close()); err != nil {
		d.found(wellBad, "database", "stop the daemon, keep a copy of the file, and restore the last backup", "%v", err)
		return
	}
	d.found(wellGood, "database", "", "%s is whole (%.1f MB)", path, float64(info.Size())/1e6)
}

// look tells the troubles that the data shows, where no daemon told them.
func (d *doctor) look(ctx context.Context, st *store.Store) error {
	if d.asked {
		return nil
	}
	v, err := server.GatherStatus(ctx, server.AdminOptions{
		Store: st, Storage: engine.Path(d.cfg.Storage), Data: engine.Name(d.cfg.Storage), Now: st.Now,
		Errors: func() *messaging.ErrorRules { return d.cfg.Errors }, Reads: app.ReadsBeside(d.cfg),
	})
	if err == nil {
		d.nodes(v.Nodes)
		d.troubles(v.Troubles)
	}
	return err
}

// service asks whether each account's key is taken.
func (d *doctor) service(ctx context.Context, version string) {
	names := d.cfg.AccountNames()
	for _, name := range append([]string{""}, names...) {
		api, _ := d.cfg.Account(name)
		about := ""
		if len(names) > 0 {
			about = "account " + messaging.AccountName(name) + ": "
		}
		d.account(ctx, messaging.AccountName(name), about, &api, version)
	}
}

// account is service for one account.
func (d *doctor) account(ctx context.Context, name, about string, api *config.API, version string) {
	if api.BaseURL == "" || api.Key.IsZero() || config.IsStandIn(api.BaseURL) || config.IsStandIn(api.Key.Reveal()) {
		return
	}
	trouble, hint := terminal.AskService(ctx, api, version)
	if trouble != "" {
		d.found(wellBad, "service", server.OfAccount(hint, name), "%s%s", about, trouble)
		return
	}
	d.found(wellGood, "service", "", "%s%s answers, and takes the key", about, api.BaseURL)
}
