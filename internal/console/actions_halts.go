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
	"halt":   {server.Halt.Scope, (*Console).confirmHalt, (*Console).halt},
	"resume": {server.Resume.Scope, (*Console).confirmResume, (*Console).resume},
	"reload": {server.Reload.Scope, (*Console).confirmReload, (*Console).reload},
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

func (c *Console) confirmReload(ctx context.Context, _ form) (confirmPage, error) {
	changes, err := server.ReloadChanges.Call(ctx, c.Ask, server.ChangesRequest{Config: ""})
	p := confirmPage{Title: "Read the config again?", Words: []string{"The file as it is now is checked first. Where it has a mistake, the daemon goes on with the rules that it has."}, Yes: "Read the config"}
	for _, one := range changes {
		p.Words = append(p.Words, sentence(one.Words()))
	}
	if err == nil && len(changes) == 0 {
		p.Words = append(p.Words, "Nothing that waits is touched by what was changed.")
	}
	return p, err
}

func (c *Console) reload(ctx context.Context, _ form) (did, error) {
	v, err := server.Reload.Call(ctx, c.Ask, server.None{})
	words := fmt.Sprintf("The config was read: version %s, with %s", v.Config, units.Count(int64(len(v.Triggers)), "trigger"))
	return did{words: strings.Join(append([]string{words}, v.SameKeys...), ". ")}, err
}
