package main

import (
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set by the linker for a release: -ldflags "-X main.release=v1.2.3".
var release = ""

// versionText is the release, else what the Go toolchain recorded about the build.
func versionText() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	if ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return "development, commit " + s.Value[:12]
			}
		}
	}
	return "development"
}

func (c *cli) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if c.json {
				return c.print(map[string]string{"version": versionText()})
			}
			c.say("nudgewire %s\n", versionText())
			return nil
		},
	}
}
