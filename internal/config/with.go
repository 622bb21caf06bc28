package config

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// EditedRules is the file that problems of With name.
const EditedRules = "edited rules"

// mostEdited is how many mistakes, and as many warnings, are told of edited rules: whoever may only look may ask for any number of tries.
const mostEdited = 50

// With is the config with the triggers of a text in place of those of the same name, to try them: YAML that begins with "triggers:". The
// problems are those of the text, as Load would report them. It is nil where one of them is more than a warning.
//
// Whoever writes the text need not be allowed to read this machine: it refers to no variable and no file but as the triggers in use do, and
// nothing is read of the disk for it.
func (c *Config) With(text string) (*Config, yamlpos.Problems) {
	o := yamlpos.Options{Unknown: unknownKey}
	known := c.doc.References("triggers")
	own := o
	own.Most = mostEdited
	own.Expand = func(text string) (string, error) {
		if value, is := known[text]; is {
			return value, nil
		}
		if strings.Contains(strings.ReplaceAll(text, "$$", ""), "${") {
			return "", errNotHere
		}
		return strings.ReplaceAll(text, "$$", "$"), nil
	}
	n := &Config{folder: c.folder, included: c.included, tried: c, doc: o.Again(c.doc, includable...)}
	if n.doc.Root() == nil {
		return nil, coded(n.doc.Problems()) // it cannot be: it was read before
	}
	n.doc.Replace(own.Parse(EditedRules, []byte(c.unstarred(text))), "triggers")
	sum := sha256.New()
	sum.Write([]byte(c.Version + "\x00" + text))
	n.understand(sum)
	said := slices.DeleteFunc(coded(n.doc.Problems()), func(p yamlpos.Problem) bool { return p.File != EditedRules })
	if said.Errors() > 0 {
		return nil, said
	}
	return n, said
}

var errNotHere = errors.New("a reference that the triggers in use do not have is not looked up for a try; write the value itself here")

// unstarred is a text with lines as Source shows them as they really are: addresses of pictures have their queries starred out.
func (c *Config) unstarred(text string) string {
	if !strings.Contains(text, "*") {
		return text
	}
	shown := map[string]string{}
	for i := range c.in.Triggers {
		c.doc.Starred(yamlpos.Join("triggers", c.in.Triggers[i].Key), shown)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		bare := strings.TrimSpace(line)
		if whole, is := shown[bare]; is {
			lines[i] = strings.Replace(line, bare, whole, 1)
		}
	}
	return strings.Join(lines, "\n")
}

// Sources are the files that the config was read from, whole, as they were then and as they may be shown.
func (c *Config) Sources() []yamlpos.Source {
	if c.doc == nil {
		return nil
	}
	return c.doc.Files()
}
