package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/examples"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/nearest"
)

func (c *cli) initCommand() *cobra.Command {
	var force, recipes bool
	var recipe string
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a config to begin with, and the schema for your editor", Args: cobra.MaximumNArgs(1),
		Long: `init writes a small config to begin with, and tests of its rule. --recipe writes one of the whole configs for what shops and CRMs
ask for most, with bodies of webhooks to try it with, and tests; --recipes lists them.`,
		Example: "  nudgewire init\n  nudgewire init --recipes\n  nudgewire init --recipe cart-in-three-steps",
		RunE: func(_ *cobra.Command, args []string) error {
			if recipes {
				return c.listRecipes()
			}
			path := c.config
			if path == installedConfig { // which is there already, and was not named
				path = ownConfig
			}
			if len(args) == 1 {
				path = args[0]
			}
			files, err := toBegin(recipe, path)
			if err != nil {
				return err
			}
			if !force {
				for _, f := range files {
					if _, err := os.Stat(f.path); !errors.Is(err, fs.ErrNotExist) && !f.ours {
						return fail(exitFailed, "use --force to write over it", "%s is there already", f.path)
					}
				}
			}
			for _, f := range files {
				if err := f.write(); err != nil {
					return err
				}
			}
			return c.began(path, recipe, files)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "write over files that are there")
	cmd.Flags().StringVar(&recipe, "recipe", "", "write this recipe instead of the small config")
	cmd.Flags().BoolVar(&recipes, "recipes", false, "list the recipes")
	return cmd
}

// A firstFile is one that init writes.
type firstFile struct {
	path string
	text []byte
	mode fs.FileMode
	ours bool // made by this program each time, so that writing over it loses nothing
}

func (f *firstFile) write() error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(f.path, f.text, f.mode)
}

// toBegin lists the files of a recipe, or of the small config where recipe is "".
func toBegin(recipe, path string) ([]firstFile, error) {
	schema := firstFile{filepath.Join(filepath.Dir(path), "config.schema.json"), config.Schema(), 0o644, true}
	if recipe == "" {
		tests := filepath.Join(filepath.Dir(path), testsFolder, "cart.yaml")
		return []firstFile{{path, []byte(config.Starter()), 0o600, false}, {tests, []byte(config.StarterTests()), 0o600, false}, schema}, nil
	}
	found, err := recipeOf(recipe)
	if err != nil {
		return nil, err
	}
	var files []firstFile
	err = fs.WalkDir(found.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(found.Files, name)
		to := path
		if name != "config.yaml" {
			to = filepath.Join(filepath.Dir(path), filepath.FromSlash(name))
		}
		files = append(files, firstFile{to, text, 0o600, false})
		return err
	})
	return append(files, schema), err
}

func recipeOf(name string) (examples.Recipe, error) {
	all, err := examples.Recipes()
	if err != nil {
		return examples.Recipe{}, err
	}
	names := make([]string, len(all))
	for i, r := range all {
		if names[i] = r.Name; r.Name == name {
			return r, nil
		}
	}
	hint := `"nudgewire init --recipes" lists them`
	if near := nearest.Of(name, names); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return examples.Recipe{}, fail(exitNothing, hint, "no recipe %q", name)
}

func (c *cli) listRecipes() error {
	all, err := examples.Recipes()
	if err != nil {
		return err
	}
	for _, r := range all {
		if c.json {
			if err := c.print(map[string]string{"recipe": r.Name, "about": r.About}); err != nil {
				return err
			}
			continue
		}
		c.say("%-22s %s\n", r.Name, r.About)
	}
	c.note(`write one with "nudgewire init --recipe NAME"`)
	return nil
}

// A begun is what init wrote.
type begun struct {
	Config string   `json:"config"`
	Schema string   `json:"schema"`
	Others []string `json:"others,omitempty"` // tests, and what a recipe has to try it on
}

// began says what was written and what comes next.
func (c *cli) began(path, recipe string, files []firstFile) error {
	if c.json {
		var others []string
		for _, f := range files[1 : len(files)-1] {
			others = append(others, f.path)
		}
		return c.print(begun{path, files[len(files)-1].path, others})
	}
	if recipe == "" {
		c.say("wrote %s, %s and %s\n", path, files[1].path, files[len(files)-1].path)
	} else {
		for _, f := range files {
			c.say("wrote %s\n", f.path)
		}
		c.note("the head of %s says what it does and how to try it", path)
	}
	with := ""
	if path != "config.yaml" {
		with = " --config " + path
	}
	c.note("next: set the secrets it names, then \"nudgewire check%s\", \"nudgewire test%s\" and \"nudgewire serve%s\"", with, with, with)
	return nil
}
