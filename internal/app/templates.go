package app

import (
	"slices"

	"github.com/nudgewire/nudgewire/internal/config"
)

// templatesOf are the names of all templates that triggers and jobs of a config send, sorted,
// each once. A job that uploads files names its template by number and has none here.
func templatesOf(cfg *config.Config) []string {
	names := cfg.Triggers.Templates()
	for _, j := range cfg.Jobs {
		if j.Send != nil && j.Send.Template != "" {
			names = append(names, j.Send.Template)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
