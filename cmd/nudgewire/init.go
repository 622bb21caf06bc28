package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/config"
)

func (c *cli) initCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a small config to begin with, and the schema for your editor", Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := c.config
			if len(args) == 1 {
				path = args[0]
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return err
			}
			mode := os.O_CREATE | os.O_EXCL | os.O_WRONLY
			if force {
				mode = os.O_CREATE | os.O_TRUNC | os.O_WRONLY
			}
			f, err := os.OpenFile(path, mode, 0o600)
			if errors.Is(err, fs.ErrExist) {
				return fail(exitFailed, "use --force to write over it", "%s is there already", path)
			}
			if err != nil {
				return err
			}
			if _, err := f.WriteString(config.Starter()); err != nil {
				return errors.Join(err, f.Close())
			}
			if err := f.Close(); err != nil {
				return err
			}
			schema := filepath.Join(filepath.Dir(path), "config.schema.json")
			if err := os.WriteFile(schema, config.Schema(), 0o644); err != nil { //nolint:gosec // a schema is no secret
				return err
			}
			if c.json {
				return c.print(map[string]string{"config": path, "schema": schema})
			}
			c.say("wrote %s and %s\n", path, schema)
			with := ""
			if path != "config.yaml" {
				with = " --config " + path
			}
			c.note("next: set the secrets it names, then \"nudgewire check%s\" and \"nudgewire serve%s\"", with, with)
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that is there")
	return cmd
}
