package console

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/simulation"
	"github.com/nudgewire/nudgewire/internal/units"
)

// What can be done about simulations. Nothing of them sends anything, so nothing asks first.
var simulationActions = map[string]action{
	"simulate":        {server.Simulate.Scope, nil, (*Console).simulate},
	"stop-simulation": {server.StopSimulation.Scope, nil, (*Console).stopSimulation},
}

const simulationPath = "/simulation"

type simulationPage struct {
	simulation.Status
	Totals []totalsTable
	May    bool        // begin one
	Ways   [][2]string // value and words of what may be compared
	Chosen string      // of them
	Days   []int
}

// A totalsTable is what differs by trigger, by job, or by day.
type totalsTable struct {
	What string
	Rows []simulation.Total
}

// simulatedDays are how far back a simulation of the console may go.
var simulatedDays = []int{1, 7, 30, 90}

// What the config in use may be compared with, beside an earlier version.
const (
	withFiles  = "files"
	withLedger = "sent"
)

func (c *Console) simulation(r *http.Request) (page, error) {
	newest, err := server.ShowSimulation.Call(r.Context(), c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	who, _ := access.WhoOf(r.Context())
	v := simulationPage{Status: newest, May: who.May(server.Simulate.Scope), Days: simulatedDays, Chosen: withLedger}
	for _, t := range []totalsTable{{"Trigger", newest.Triggers}, {"Job", newest.Jobs}, {"Day", newest.Days}} {
		if len(t.Rows) > 0 {
			v.Totals = append(v.Totals, t)
		}
	}
	v.Notes = nil
	for _, note := range newest.Notes {
		v.Notes = append(v.Notes, sentence(note))
	}
	if v.May {
		if err := c.compared(r.Context(), &v, who); err != nil {
			return page{}, err
		}
	}
	return page{Name: "simulation", Title: "Simulation", Here: "/config", Data: &v}, nil
}

// compared lists what the config in use may be compared with.
func (c *Console) compared(ctx context.Context, v *simulationPage, who access.Who) error {
	view, err := server.ShowConfig.Call(ctx, c.Ask, server.None{})
	if err != nil {
		return err
	}
	if d := view.Disk; d != nil && d.Usable {
		v.Ways, v.Chosen = append(v.Ways, [2]string{withFiles, "the files as they are now, config " + d.Version}), withFiles
	}
	v.Ways = append(v.Ways, [2]string{withLedger, "what was really sent"})
	if !who.May(server.ListVersions.Scope) {
		return nil
	}
	taken, err := server.ListVersions.Call(ctx, c.Ask, server.AuditQuery{Limit: perPage})
	if err != nil {
		return err
	}
	listed := map[string]bool{view.Version: true}
	for i := range taken {
		one := &taken[i]
		if listed[one.Version] {
			continue
		}
		listed[one.Version] = true
		v.Ways = append(v.Ways, [2]string{one.Version, fmt.Sprintf("config %s, taken up %s", one.Version, one.At.In(c.Zone()).Format("2 Jan 2006, 15:04"))})
	}
	return nil
}

// Otherwise says how many messages would be otherwise.
func (v *simulationPage) Otherwise() string {
	return units.Count(len(v.Changes)+v.More, "message")
}

func (c *Console) simulate(ctx context.Context, f form) (did, error) {
	days := f.number("days")
	if days < 1 || days > 366 {
		days = 7
	}
	o := simulation.Request{Since: c.Now().Add(-time.Duration(days) * 24 * time.Hour).UTC()}
	switch with := f.Get("with"); with {
	case withFiles, "":
	case withLedger:
		o.Ledger = true
	default:
		o.Version = with
	}
	_, err := server.Simulate.Call(ctx, c.Ask, o)
	return did{words: "The events and lists of the last days are played", place: simulationPath}, err
}

func (c *Console) stopSimulation(ctx context.Context, _ form) (did, error) {
	_, err := server.StopSimulation.Call(ctx, c.Ask, server.None{})
	return did{words: "The simulation was stopped"}, err
}
