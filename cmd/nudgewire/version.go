package main

import (
	"cmp"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
)

// release is set by the linker for a release: -ldflags "-X main.release=v1.2.3".
var release = ""

// versionText is the release, else what the Go toolchain recorded about the build.
func versionText() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(release, info)
}

// versionOf names the version and, where it is known and the version does not hold it, the commit.
func versionOf(release string, info *debug.BuildInfo) string {
	version := cmp.Or(release, strings.TrimPrefix(info.Main.Version, "(devel)"), "development")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && !strings.Contains(version, s.Value[:12]) {
			version += ", commit " + s.Value[:12]
		}
	}
	return version
}

func version(c *terminal.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if c.JSON {
				return c.Print(map[string]string{"version": c.Version})
			}
			c.Say("nudgewire %s\n", c.Version)
			return nil
		},
	}
}
