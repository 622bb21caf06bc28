package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/nudgewire/nudgewire/internal/alerts"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

// Alerts is what the admin API asks of those who tell alerts.
type Alerts interface {
	View() alerts.View
	// Test sends a test to a receiver, or to all for "". The error is alerts.ErrNoReceiver.
	Test(ctx context.Context, name string) ([]alerts.Tested, error)
}

func (a admin) alerts(ctx context.Context, _ None) (alerts.View, error) {
	if a.Alerts != nil {
		return a.Alerts.View(), nil
	}
	state, err := alerts.Records{Store: a.Store}.Alerts(ctx)
	if err != nil {
		return alerts.View{}, err
	}
	return alerts.ViewOf(state), nil
}

// A TestRequest names the receiver of alerts to test.
type TestRequest struct {
	Name string `json:"receiver,omitempty"` // "" for all
}

func (a admin) testAlerts(ctx context.Context, in TestRequest) ([]alerts.Tested, error) {
	if a.Alerts == nil {
		return []alerts.Tested{}, nil
	}
	out, err := a.Alerts.Test(ctx, in.Name)
	if !errors.Is(err, alerts.ErrNoReceiver) {
		return out, err
	}
	var names []string
	for _, one := range a.Alerts.View().Receivers {
		names = append(names, one.Name)
	}
	return nil, noReceiver("of alerts", in.Name, names, "nudgewire alerts")
}

// noReceiver is the refusal of a name that no receiver of a section has; the command lists those that it has.
func noReceiver(of, name string, names []string, command string) error {
	hint := fmt.Sprintf("%q lists the receivers", command)
	if near := nearest.Of(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return refusal.Newf(http.StatusNotFound, hint, "no receiver %s is called %q", of, name)
}
