package app

import (
	"context"
	"errors"
	"net/http"
	"os"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// newSimulations is who plays stored events by another config beside the daemon. What a process that was killed has left behind goes.
func (a *App) newSimulations() (*simulation.Runner, error) {
	folder := engine.Path(a.began.Storage) + ".simulations"
	if err := os.RemoveAll(folder); err != nil {
		return nil, err
	}
	return &simulation.Runner{Store: a.store, Folder: folder, Now: a.store.Now, Zone: a.zone, Configs: a.simulated}, nil
}

// runSimulations waits for the end of the daemon, and ends the simulation that runs.
func (a *App) runSimulations(ctx context.Context) error {
	<-ctx.Done()
	a.simulations.Close()
	return os.RemoveAll(a.simulations.Folder)
}

// simulated are the configs that a request for a simulation names.
func (a *App) simulated(ctx context.Context, in simulation.Request) (both simulation.Configs, err error) {
	running := a.config()
	was := SimulationOf(running)
	if in.Ledger {
		return simulation.Configs{Is: &was, Name: running.Version}, nil
	}
	other, err := a.otherConfig(ctx, running, in)
	if err != nil {
		return both, err
	}
	is := SimulationOf(other)
	both = simulation.Configs{Was: &was, Is: &is, WasName: running.Version, Name: other.Version}
	if in.Edited != "" {
		both.Name = ""
	}
	return both, nil
}

// otherConfig is the one that is compared with the one in use.
func (a *App) otherConfig(ctx context.Context, running *config.Config, in simulation.Request) (*config.Config, error) {
	var other *config.Config
	var problems yamlpos.Problems
	switch {
	case in.Edited != "":
		other, problems = running.With(in.Edited)
	case in.Version != "":
		kept, err := history.Records{Store: a.store}.ConfigFiles(ctx, in.Version)
		if errors.Is(err, messaging.ErrNotFound) {
			return nil, refusal.Newf(http.StatusNotFound, `"nudgewire config history" lists those that are kept`, "the files of config %s are not kept", in.Version)
		} else if err != nil {
			return nil, err
		}
		other, problems = config.ParseFilesWithoutSecrets(a.opt.ConfigFile, kept, a.opt.Env)
	default:
		other, problems = config.LoadWithoutSecrets(a.opt.ConfigFile, a.opt.Env)
	}
	if problems.Errors() > 0 {
		first := problems.Faults()[0]
		return nil, refusal.Newf(http.StatusUnprocessableEntity, first.Hint, "that config cannot be used: %s", first.Error())
	}
	if other.Version == running.Version {
		return nil, refusal.Newf(http.StatusConflict, "edit the files, name a version that was used before, or compare with what was really sent", "the files are config %s, which is in use", running.Version)
	}
	return other, nil
}
