package app

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/units"
)

// A stop waits for a call as long as a call may take.
func TestAStopWaitsForACallAsLongAsItMayTake(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		time.Second:      15 * time.Second,
		10 * time.Second: 15 * time.Second,
		15 * time.Second: 16 * time.Second,
		time.Minute:      16 * time.Second, // a stop ends within thirty
	} {
		cfg := &config.Config{}
		cfg.API.Timeout = units.Duration(timeout)
		if got := graceOf(cfg.API); got != want {
			t.Errorf("timeout %v: grace %v, want %v", timeout, got, want)
		}
	}
}
