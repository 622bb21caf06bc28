package setup

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// The steps, in their order. Each but the first needs those before it.
const (
	stepService   = "service"
	stepSender    = "sender"
	stepConnector = "connector"
	stepRule      = "rule"
	stepWrite     = "write"
	stepFirst     = "first" // webhook and message
)

var steps = []string{stepService, stepSender, stepConnector, stepRule, stepWrite, stepFirst}

// A guide is one setup: what was answered, and what runs by now.
type guide struct {
	cli  *terminal.CLI
	path string // of the config
	link string // that opens the pages, once

	mu      sync.Mutex // of all below
	session string     // of the browser that opened the link; "" before
	a       answers
	reached int // index of the furthest step
	service *service
	daemon  *daemon
	written []string // names of the files, once they are
	tested  test
}

func newGuide(cli *terminal.CLI, path string) *guide {
	g := &guide{cli: cli, path: path, link: rand.Text(), a: answers{Country: "GB", Zone: zoneHere(), Language: "en", Values: map[string]string{}}}
	g.a.Hooks = freeAddress(8080, "")
	g.a.Console = freeAddress(8081, g.a.Hooks)
	return g
}

// zoneHere is the zone of this machine where it has a name, else UTC.
func zoneHere() string {
	if name := time.Local.String(); name != "Local" {
		return name
	}
	return "UTC"
}

// stop ends what runs.
func (g *guide) stop() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.daemon.stop()
	g.service.stop()
	return err
}

// opened takes a link, and returns the session that begins with it; false where it was used or is none.
func (g *guide) opened(link string) (session string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.session != "" || subtle.ConstantTimeCompare([]byte(link), []byte(g.link)) != 1 {
		return "", false
	}
	g.session = rand.Text()
	return g.session, true
}

func (g *guide) knows(session string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.session != "" && subtle.ConstantTimeCompare([]byte(session), []byte(g.session)) == 1
}

// A wrong answer is told beside its question.
type wrong struct {
	Words, Hint string
	Lines       []problem // of the rules
}

// A problem is a mistake in the rules, at the line of the text as it was written on the page.
type problem struct {
	Line      int // 0 for the whole
	Msg, Hint string
}

// answerService takes the messaging service, once its key was tried.
func (g *guide) answerService(ctx context.Context, r *http.Request) *wrong {
	a := &g.a
	a.Pretended = r.FormValue("which") == "pretended"
	if a.Pretended {
		if g.service == nil {
			s, err := startService()
			if err != nil {
				return &wrong{Words: err.Error(), Hint: "try again"}
			}
			g.service = s
		}
		a.BaseURL = "http://" + g.service.address + "/api/v1"
		a.Key = "pretended-" + rand.Text()
	} else {
		a.BaseURL, a.Key = strings.TrimSpace(r.FormValue("base_url")), strings.TrimSpace(r.FormValue("key"))
		switch {
		case a.BaseURL == "":
			return &wrong{Words: "The address is missing.", Hint: "it is the base address of your account at the messaging service, and ends in /api/v1"}
		case a.Key == "":
			return &wrong{Words: "The key is missing.", Hint: "the dashboard of the messaging service shows it"}
		}
	}
	if w := g.faultIn("api"); w != nil {
		return w
	}
	if r.FormValue("untested") != "" {
		return nil
	}
	if trouble, hint := terminal.AskService(ctx, &config.API{BaseURL: a.BaseURL, Key: secret.New(a.Key)}, g.cli.Version); trouble != "" {
		return &wrong{Words: trouble, Hint: hint}
	}
	return nil
}

// faultIn is the first mistake of a section of the config.
func (g *guide) faultIn(section string) *wrong {
	_, problems := g.a.check()
	for _, p := range problems.Faults() {
		if p.Path == section || strings.HasPrefix(p.Path, section+".") {
			return &wrong{Words: p.Msg, Hint: p.Hint}
		}
	}
	return nil
}

// answerSender takes who sends webhooks, and where the contacts are.
func (g *guide) answerSender(r *http.Request) *wrong {
	a := &g.a
	a.Country, a.Zone, a.Language = strings.ToUpper(strings.TrimSpace(r.FormValue("country"))), strings.TrimSpace(r.FormValue("zone")), strings.TrimSpace(r.FormValue("language"))
	if w := g.faultIn("defaults"); w != nil {
		return w
	}
	name := r.FormValue("sender")
	if _, ok := connectors.PresetInfo(name); !ok {
		return &wrong{Words: "Choose who sends the webhooks.", Hint: `what is not in the list can post JSON as "generic"`}
	}
	if name != a.Sender {
		a.Sender, a.Values, a.Rules = name, map[string]string{}, ""
	}
	return nil
}

// answerConnector takes what the sender needs.
func (g *guide) answerConnector(r *http.Request) *wrong {
	a := &g.a
	info, _ := a.info()
	all := questionsOf(&info)
	for _, q := range all {
		if given := strings.TrimSpace(r.FormValue("value_" + q.Variable)); given != "" { // a page never shows a secret, so that what is there stays
			a.Values[q.Variable] = given
		}
	}
	a.Public = strings.TrimRight(strings.TrimSpace(r.FormValue("public")), "/")
	a.Hooks, a.Console = strings.TrimSpace(r.FormValue("hooks")), strings.TrimSpace(r.FormValue("console"))
	a.fillOwn(all)
	for _, q := range all {
		if a.Values[q.Variable] == "" && !q.Optional {
			return &wrong{Words: "This is missing: " + q.Is + ".", Hint: "how to get it stands below"}
		}
	}
	if w := g.faultIn("connectors"); w != nil {
		return w
	}
	if w := g.faultIn("server"); w != nil {
		return w
	}
	return g.faultIn("console")
}

// answerRule takes the rules, and one's own number.
func (g *guide) answerRule(r *http.Request) *wrong {
	a := &g.a
	a.Rules = strings.ReplaceAll(r.FormValue("rules"), "\r\n", "\n")
	a.Mine = strings.TrimSpace(r.FormValue("mine"))
	if strings.TrimSpace(a.Rules) == "" {
		return &wrong{Words: "There is no rule.", Hint: "choose one to begin with"}
	}
	cfg, problems := a.check()
	if w := g.faultIn("test_numbers"); w != nil {
		return w
	}
	if lines := a.shown(problems.Faults()); len(lines) > 0 {
		return &wrong{Words: "The rules cannot be used yet.", Lines: lines}
	}
	if len(cfg.Triggers.Names()) == 0 {
		return &wrong{Words: "There is no rule.", Hint: "choose one to begin with"}
	}
	return nil
}

// shown are problems at the lines of the rules on the page.
func (a *answers) shown(all yamlpos.Problems) (out []problem) {
	text := a.text(keep)
	before := strings.Count(text[:max(0, strings.Index(text, strings.TrimRight(a.Rules, "\n")))], "\n")
	for _, p := range all {
		line := p.Line - before
		if line < 0 || line > strings.Count(a.Rules, "\n")+1 {
			line = 0
		}
		out = append(out, problem{Line: line, Msg: strings.TrimSpace(p.Path + " " + p.Msg), Hint: p.Hint})
	}
	return out
}

// write writes the files and starts the daemon.
func (g *guide) write(ctx context.Context) *wrong {
	cfg, problems := g.a.check()
	if faults := problems.Faults(); len(faults) > 0 {
		return &wrong{Words: "The config cannot be used yet.", Lines: g.a.shown(faults)}
	}
	if g.written == nil {
		files := g.a.files(g.path)
		if err := terminal.WriteNew(files, false); err != nil {
			return &wrong{Words: "Nothing was written: " + err.Error() + ".", Hint: "setup writes over nothing: move what is there away, or start setup with another file"}
		}
		for _, f := range files {
			g.written = append(g.written, f.Path)
		}
	}
	if g.daemon != nil {
		return nil
	}
	d, err := startDaemon(ctx, g.cli, g.path)
	if err != nil {
		return &wrong{Words: fmt.Sprintf("The files are written, and the daemon did not start: %v.", err), Hint: `"nudgewire check" says whether the config is right; then press the button again`}
	}
	d.connector = slices.Collect(maps.Keys(cfg.Receivers))[0]
	d.trigger = cfg.Triggers.Names()[0]
	g.daemon = d
	return nil
}

// base is where the sender reaches the daemon, as far as is known.
func (a *answers) base() string { return cmp.Or(a.Public, "https://YOUR_HOST") }
