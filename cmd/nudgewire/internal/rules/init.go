package rules

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/examples"
	"github.com/nudgewire/nudgewire/internal/config"
	"github.com/nudgewire/nudgewire/internal/nearest"
	"github.com/nudgewire/nudgewire/internal/ruletest"
)

func (c commands) initCommand() *cobra.Command {
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
			path := c.Config
			if path == terminal.InstalledConfig { // which is there already, and was not named
				path = terminal.OwnConfig
			}
			if len(args) == 1 {
				path = args[0]
			}
			files, err := toBegin(recipe, path)
			if err != nil {
				return err
			}
			if err := terminal.WriteNew(files, force); err != nil {
				return err
			}
			return c.began(path, recipe, files)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "write over files that are there")
	cmd.Flags().StringVar(&recipe, "recipe", "", "write this recipe instead of the small config")
	cmd.Flags().BoolVar(&recipes, "recipes", false, "list the recipes")
	return cmd
}

// toBegin lists the files of a recipe, or of the small config where recipe is "".
func toBegin(recipe, path string) ([]terminal.NewFile, error) {
	schema := terminal.NewFile{Path: filepath.Join(filepath.Dir(path), "config.schema.json"), Text: config.Schema(), Mode: 0o644, Ours: true}
	if recipe == "" {
		tests := filepath.Join(filepath.Dir(path), ruletest.Folder, "cart.yaml")
		return []terminal.NewFile{{Path: path, Text: []byte(config.Starter()), Mode: 0o600}, {Path: tests, Text: []byte(config.StarterTests()), Mode: 0o600}, schema}, nil
	}
	found, err := recipeOf(recipe)
	if err != nil {
		return nil, err
	}
	var files []terminal.NewFile
	err = fs.WalkDir(found.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(found.Files, name)
		to := path
		if name != "config.yaml" {
			to = filepath.Join(filepath.Dir(path), filepath.FromSlash(name))
		}
		files = append(files, terminal.NewFile{Path: to, Text: text, Mode: 0o600})
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
	return examples.Recipe{}, exit.Fail(exit.Nothing, hint, "no recipe %q", name)
}

func (c commands) listRecipes() error {
	all, err := examples.Recipes()
	if err != nil {
		return err
	}
	for _, r := range all {
		if c.JSON {
			if err := c.Print(map[string]string{"recipe": r.Name, "about": r.About}); err != nil {
				return err
			}
			continue
		}
		c.Say("%-22s %s\n", r.Name, r.About)
	}
	c.Note(`write one with "nudgewire init --recipe NAME"`)
	return nil
}

// A begun is what init wrote.
type begun struct {
	Config string   `json:"config"`
	Schema string   `json:"schema"`
	Others []string `json:"others,omitempty"` // tests, and what a recipe has to try it on
}

// began says what was written and what comes next.
func (c commands) began(path, recipe string, files []terminal.NewFile) error {
	if c.JSON {
		var others []string
		for _, f := range files[1 : len(files)-1] {
			others = append(others, f.Path)
		}
		return c.Print(begun{path, files[len(files)-1].Path, others})
	}
	if recipe == "" {
		c.Say("wrote %s, %s and %s\n", path, files[1].Path, files[len(files)-1].Path)
	} else {
		for _, f := range files {
			c.Say("wrote %s\n", f.Path)
		}
		c.Note("the head of %s says what it does and how to try it", path)
	}
	with := ""
	if path != "config.yaml" {
		with = " --config " + path
	}
	c.Note("next: set the secrets it names, then \"nudgewire check%s\", \"nudgewire test%s\" and \"nudgewire serve%s\"", with, with, with)
	return nil
}
