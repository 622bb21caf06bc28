// Package examples holds recipes: whole configs for what shops and CRMs ask for most, each with the bodies of webhooks
// or lists to try it with. "nudgewire init --recipe" writes them out.
//
// A recipe is a folder: config.yaml, which begins with what it does and the commands that try it, payloads/, and tests/
// of its rules; a recipe that has lists alone has no rule to test.
// A comment "# trigger: outcome …" behind such a command says what comes of it, and a test holds it to that.
package examples

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed */config.yaml */payloads */tests
var files embed.FS

// A Recipe is one folder.
type Recipe struct {
	Name  string
	About string // one sentence
	Files fs.FS
}

// Recipes lists them by name.
func Recipes() ([]Recipe, error) {
	folders, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	var all []Recipe
	for _, f := range folders {
		one, err := open(f.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func open(name string) (Recipe, error) {
	sub, err := fs.Sub(files, name)
	if err != nil {
		return Recipe{}, err
	}
	text, err := fs.ReadFile(sub, "config.yaml")
	if err != nil {
		return Recipe{}, err
	}
	return Recipe{Name: name, About: about(string(text)), Files: sub}, nil
}

// about is the first sentence of the comment at the head, without the recipe's name in front of it.
func about(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "# yaml-") || line == "#" && len(words) == 0 {
			continue
		}
		if line == "#" || !strings.HasPrefix(line, "#") {
			break
		}
		words = append(words, strings.TrimSpace(line[1:]))
	}
	all := strings.Join(words, " ")
	if _, rest, ok := strings.Cut(all, ": "); ok {
		all = rest
	}
	first, _, _ := strings.Cut(all, ". ")
	return strings.TrimSuffix(first, ".")
}
