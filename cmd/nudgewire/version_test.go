package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionAndCommit(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "047f8c0c8912c4b3a805de6960b8056a3b6d305e"}}
	for want, tt := range map[string]struct {
		release string
		info    debug.BuildInfo
	}{
		"development":                        {"", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}},
		"development, commit 047f8c0c8912":   {"", debug.BuildInfo{Settings: commit}},
		"v1.2.3":                             {"", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}},
		"v1.2.3, commit 047f8c0c8912":        {"v1.2.3", debug.BuildInfo{Settings: commit}},
		"v0.0.0-20261122063433-047f8c0c8912": {"", debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261122063433-047f8c0c8912"}, Settings: commit}},
	} {
		if got := versionOf(tt.release, &tt.info); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
