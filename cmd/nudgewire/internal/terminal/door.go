package terminal

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/webhooks"
)

// doorPatience bounds a question to the door.
const doorPatience = 5 * time.Second

// Readiness is what the door at base says of itself; status is 0 where nobody answers.
func Readiness(ctx context.Context, cfg *config.Config, base string) (v webhooks.Readiness, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", http.NoBody)
	if err != nil {
		return v, 0, err
	}
	client := &http.Client{Timeout: doorPatience}
	if base == LocalURL(cfg) {
		client = LocalClient(cfg, doorPatience)
	}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return v, 0, err
	}
	defer res.Body.Close()
	// What is no JSON comes from another server.
	return v, res.StatusCode, json.NewDecoder(io.LimitReader(res.Body, 4<<10)).Decode(&v)
}

// DaemonAnswers reports whether a daemon answers at the door that the config names.
func DaemonAnswers(ctx context.Context, cfg *config.Config) bool {
	if cfg.Server.Listen == "" {
		return false
	}
	v, status, err := Readiness(ctx, cfg, LocalURL(cfg))
	return err == nil && v.Starting == "" && (v.Ready || status == http.StatusServiceUnavailable)
}

// DaemonStarts is what the daemon at the door waits for before it can open its data; "" for none.
func DaemonStarts(ctx context.Context, cfg *config.Config) string {
	if cfg.Server.Listen == "" {
		return ""
	}
	v, _, _ := Readiness(ctx, cfg, LocalURL(cfg))
	return v.Starting
}

// DaemonElsewhere is a daemon at the door whose socket is not beside the data.
func DaemonElsewhere(cfg *config.Config) string {
	return fmt.Sprintf("a daemon answers on %s whose data is elsewhere", cfg.Server.Listen)
}

const ElsewhereHint = "was it started with another config or by another user, or was storage: changed since? name that config with --config, put storage: back, or ask as that user"
