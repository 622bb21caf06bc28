package app

import (
	"fmt"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/config"
)

// newService is the messaging service as the config describes it.
func newService(cfg *config.Config, version string) (*apiclient.Client, error) {
	c, err := apiclient.New(apiclient.Options{
		BaseURL: cfg.API.BaseURL, Key: cfg.API.Key.Reveal(), TextPath: cfg.API.TextPath,
		Concurrency: cfg.API.Concurrency, Timeout: cfg.API.Timeout.D(), UserAgent: "nudgewire/" + version,
	})
	if err != nil {
		return nil, fmt.Errorf("messaging service: %w", err)
	}
	return c, nil
}
