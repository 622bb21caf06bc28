package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/phones"
)

// Files are the files that the config was read from, as they are kept: the config's own first, as they were written byte for byte, with a mark in
// place of each secret that stands in them. hash names a secret without telling it; whoever has the secret finds its mark by it.
func (c *Config) Files(hash func(secret string) string) (all []history.ConfigFile) {
	c.eachFile(func(secret string) string { return markOf(hash(secret)) }, func(f history.ConfigFile) { all = append(all, f) })
	return all
}

// Secrets are the secrets that stand in the files themselves, by the mark that Files has for them.
func (c *Config) Secrets(hash func(secret string) string) map[string]string {
	found := map[string]string{}
	c.eachFile(func(secret string) string {
		name := hash(secret)
		if name != "" { // else it could be any
			found[markOf(name)] = secret
		}
		return markOf(name)
	}, func(history.ConfigFile) {})
	return found
}

func (c *Config) eachFile(mark func(secret string) string, each func(history.ConfigFile)) {
	if c.doc == nil {
		return
	}
	c.doc.Kept("triggers", mark, func(file, text string) {
		name, err := filepath.Rel(c.folder, absolute(file))
		if err != nil { // another volume: only the config itself can lie there
			name = filepath.Base(file)
		}
		each(history.ConfigFile{Name: filepath.ToSlash(name), Text: text})
	})
}

func absolute(file string) string {
	if whole, err := filepath.Abs(file); err == nil {
		return whole
	}
	return file
}

func markOf(hash string) string { return "<secret-" + hash + ">" }

// secretMark is what Files writes in place of a secret.
var secretMark = regexp.MustCompile(`<secret-[0-9a-f]*>`)

// A MissingText is a line of a kept file of which a secret, or a phone, is not known any more.
type MissingText struct {
	File string
	Line int
	Text string // the line, with what stands in place of it
}

func (m *MissingText) String() string {
	return fmt.Sprintf("%s:%d: %s", m.File, m.Line, strings.TrimSpace(m.Text))
}

// WithSecrets are kept files with the secrets by their marks, and the lines of those that are not among them.
func WithSecrets(files []history.ConfigFile, known map[string]string) (whole []history.ConfigFile, missing []MissingText) {
	for _, f := range files {
		for i, line := range strings.Split(f.Text, "\n") {
			for _, mark := range secretMark.FindAllString(line, -1) {
				if _, is := known[mark]; !is {
					missing = append(missing, MissingText{f.Name, i + 1, line})
				}
			}
		}
		whole = append(whole, history.ConfigFile{Name: f.Name, Text: secretMark.ReplaceAllStringFunc(f.Text, func(mark string) string {
			if secret, is := known[mark]; is {
				return secret
			}
			return mark
		})})
	}
	return whole, missing
}

// Blotted are the lines of kept files in which a phone may have been blotted out, because its contact was forgotten (phones.Finder).
func Blotted(files []history.ConfigFile) (found []MissingText) {
	for _, f := range files {
		for i, line := range strings.Split(f.Text, "\n") {
			if phones.MayBeBlotted(line) {
				found = append(found, MissingText{f.Name, i + 1, line})
			}
		}
	}
	return found
}

// A markError is a value that is the mark of a secret and not the secret.
type markError struct{}

func (markError) Error() string {
	return "is what stands in place of a secret in a config that is kept"
}

func (markError) Hint() string {
	return "write the secret, or ${NAME} and set the variable NAME for the daemon"
}
