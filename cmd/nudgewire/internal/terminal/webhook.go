package terminal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/config"
)

// HookURL is where the sender would post: the public address, else the listener's own.
func HookURL(cfg *config.Config, name string) string {
	base := strings.TrimSuffix(cfg.Server.PublicURL, "/")
	if base == "" {
		base = LocalURL(cfg)
	}
	return base + "/hooks/" + name
}

// PostWebhook sends the webhook to the daemon's own listener, whatever its public address is.
func PostWebhook(ctx context.Context, client *http.Client, base string, req connectors.Request) (status int, body []byte, err error) {
	target := strings.TrimSuffix(base, "/") + req.Path
	if _, query, ok := strings.Cut(req.URL, "?"); ok {
		target += "?" + query
	}
	r, err := http.NewRequestWithContext(ctx, req.Method, target, bytes.NewReader(req.Body))
	if err != nil {
		return 0, nil, fmt.Errorf("post the webhook: %w", err)
	}
	r.Header = req.Header
	res, err := client.Do(r)
	if err != nil {
		return 0, nil, exit.Fail(exit.NoDaemon, `start it with "nudgewire serve", or name it with --url`, "post the webhook: %w", err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return 0, nil, fmt.Errorf("read the answer: %w", err)
	}
	return res.StatusCode, body, nil
}
