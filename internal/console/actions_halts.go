package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What stops things, lets them go on, and reads the config again.
var haltActions = map[string]action{
	"halt":     {server.Halt.Scope, (*Console).confirmHalt, (*Console).halt},
	"resume":   {server.Resume.Scope, (*Console).confirmResume, (*Console).resume},
	"reload":   {server.Reload.Scope, (*Console).confirmReload, (*Console).reload},
	"rollback": {server.RollBack.Scope, (*Console).confirmRollback, (*Console).rollBack},
}

func (f form) halted() server.HaltRequest {
	return server.HaltRequest{Scope: messaging.HoldScope(f.Get("scope")), Name: f.Get("name"), Reason: f.Get("reason")}
}

func haltOf(in server.HaltRequest) string {
	return messaging.Hold{Scope: in.Scope, Name: in.Name}.What()
}

func (c *Console) confirmHalt(_ context.Context, f form) (confirmPage, error) {
	what := haltOf(f.halted())
	return confirmPage{
		Title: "Halt " + what + "?", Words: []string{"Within a second nothing of it is sent any more, until somebody lets it go on. What arrives is stored, and what falls due waits."},
		Fields: []field{why("Why")}, Yes: "Halt " + what, Danger: true,
	}, nil
}

func (c *Console) halt(ctx context.Context, f form) (did, error) {
	_, err := server.Halt.Call(ctx, c.Ask, f.halted())
	return did{words: capital(haltOf(f.halted())) + " is halted"}, err
}

func (c *Console) confirmResume(_ context.Context, f form) (confirmPage, error) {
	what := haltOf(f.halted())
	return confirmPage{
		Title: "Let " + what + " go on?", Words: []string{"What waited and is past its time is sent at once, at the configured rate. What is too late by its own rule is dropped."},
		Yes: "Let it go on",
	}, nil
}

func (c *Console) resume(ctx context.Context, f form) (did, error) {
	_, err := server.Resume.Call(ctx, c.Ask, f.halted())
	return did{words: capital(haltOf(f.halted())) + " goes on"}, err
}

func (c *Console) confirmReload(ctx context.Context, f form) (confirmPage, error) {
	plan, err := server.PlanConfig.Call(ctx, c.Ask, server.PlanRequest{})
	f.Set("version", plan.Version) // nothing else is taken up than what is shown
	p := confirmPage{
		Title: "Take up config " + plan.Version + "?", Yes: "Take it up",
		Words: []string{"The files are read again. Where they are another config by then, nothing is changed."},
	}
	return planned(p, &plan), err
}

func (c *Console) confirmRollback(ctx context.Context, f form) (confirmPage, error) {
	version := f.Get("version")
	plan, err := server.PlanConfig.Call(ctx, c.Ask, server.PlanRequest{Version: version})
	p := confirmPage{
		Title: "Go back to config " + version + "?", Yes: "Go back to it", Danger: true,
		Words: []string{
			"Its files are written where the config is read from. Those of today are kept beside them, by names that begin with a dot.",
			"What has ended stays ended. What waits and is past its time is sent at once, or dropped where its rule says that it expires.",
		},
	}
	return planned(p, &plan), err
}

// planned is a page that asks, with what a config would change.
func planned(p confirmPage, plan *server.ConfigPlan) confirmPage {
	for _, e := range plan.Edits {
		p.Words = append(p.Words, sentence(e.Words()))
	}
	for _, one := range plan.Waiting {
		p.Words = append(p.Words, sentence(one.Words()))
	}
	if len(plan.Waiting) == 0 {
		p.Words = append(p.Words, "Nothing that waits is touched by what was changed.")
	}
	return p
}

func (c *Console) rollBack(ctx context.Context, f form) (did, error) {
	v, err := server.RollBack.Call(ctx, c.Ask, server.RollbackRequest{Version: f.Get("version")})
	return did{words: "Config " + v.Daemon.Config + " is in use again; what the files were before is in " + units.Enumerate(v.Kept)}, err
}

func (c *Console) reload(ctx context.Context, f form) (did, error) {
	v, err := server.Reload.Call(ctx, c.Ask, server.ReloadRequest{Version: f.Get("version")})
	words := fmt.Sprintf("The config was read: version %s, with %s", v.Config, units.Count(int64(len(v.Triggers)), "trigger"))
	return did{words: strings.Join(append([]string{words}, v.SameKeys...), ". ")}, err
}
