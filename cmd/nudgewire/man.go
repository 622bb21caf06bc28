package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// man writes the manual pages that packages carry.
func man() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write a manual page for each command", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // pages are for everybody
				return fmt.Errorf("manual pages: %w", err)
			}
			day := time.Unix(0, 0).UTC() // not today's: two builds of one version are the same
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "nudgewire", Manual: "nudgewire", Date: &day}, args[0])
		},
	}
}
