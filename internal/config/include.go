package config

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// What include may bring in, so that a pattern that means too much ends with a sentence.
const (
	maxIncluded      = 1000
	maxIncludedBytes = 16 << 20
)

// includable are the sections that an included file may have.
var includable = []string{"connectors", "triggers", "templates", "jobs"}

// Included are the files that the config was read from besides its own, as problems name them.
func (c *Config) Included() []string { return c.included }

// include reads the files that the config names and puts their sections into it; what was read goes into
// sum, too. They lie in the folder of the config or below it: os.Root follows no link that leads out.
func (c *Config) include(o yamlpos.Options, file string, sum hash.Hash) {
	list := c.doc.Root().Get("include")
	if list == nil || len(list.Items()) == 0 {
		return
	}
	root, err := os.OpenRoot(c.folder)
	if err != nil {
		list.Report(fmt.Sprintf("the folder of this file cannot be read: %v", err), "check its owner and mode")
		return
	}
	defer func() { _ = root.Close() }() // read only: nothing can be lost by a bad close
	own, _ := os.Stat(file)             // nil for standard input, which no pattern means
	i := &includer{root: root.FS(), folder: root, own: own, seen: map[string]bool{}}
	for _, item := range list.Items() {
		if item.Kind() != yamlpos.Scalar || !item.Usable() {
			continue // Decode reports it
		}
		for _, name := range i.matches(item) {
			src := i.read(item, name)
			if src != nil {
				c.addIncluded(o, file, name, src, sum)
			}
		}
	}
}

// addIncluded puts the sections of one file into the config at file. name is from its folder, with /.
func (c *Config) addIncluded(o yamlpos.Options, file, name string, src []byte, sum hash.Hash) {
	fmt.Fprintf(sum, "\x00%s\x00%d\x00", name, len(src))
	sum.Write(src)
	shown := filepath.Join(filepath.Dir(file), filepath.FromSlash(name))
	c.included = append(c.included, shown)
	c.doc.Include(o.Parse(shown, src), includable...)
}

// An includer finds and reads the files that a config includes.
type includer struct {
	root   fs.FS
	folder *os.Root        // what root is of
	own    os.FileInfo     // of the config itself
	seen   map[string]bool // files that were read
	bytes  int
}

// matches are the files that an item means and that no item before it meant, by name. Names that begin with a dot are meant
// only where the pattern says the dot: editors put such files beside the one that is open.
func (i *includer) matches(item *yamlpos.Node) (names []string) {
	pattern := path.Clean(item.Text())
	switch {
	case strings.Contains(item.Text(), `\`):
		item.Report("a backslash does not part folders here", "write /")
		return nil
	case path.IsAbs(pattern) || filepath.IsAbs(item.Text()) || pattern == ".." || strings.HasPrefix(pattern, "../"):
		item.Report("leads out of the folder of this file", "move the files there, or below it, and name them from there: triggers/*.yaml")
		return nil
	case strings.Contains(pattern, "**"):
		item.Report("** is not known here", "name each folder: triggers/*.yaml, triggers/*/*.yaml")
		return nil
	}
	all, err := fs.Glob(i.root, pattern)
	if err != nil {
		item.Report("is no pattern: a [ is not closed", "write * for any part of a name and ? for one character")
		return nil
	}
	literal := !strings.ContainsAny(pattern, "*?[")
	if literal {
		all = []string{pattern} // what keeps it from being read has its own words
	}
	found, itself := false, false
	for _, name := range all {
		info, err := fs.Stat(i.root, name)
		if err == nil && i.own != nil && os.SameFile(info, i.own) {
			itself = true
			continue
		}
		if !literal && (hidden(pattern, name) || err == nil && info.IsDir()) {
			continue
		}
		if found = true; !i.seen[name] {
			i.seen[name] = true
			names = append(names, name)
		}
	}
	switch {
	case !found && itself:
		item.Report("means this file alone, and a file cannot include itself", "write the name of another file, or remove the line")
	case !found:
		item.Report("matches no file", "write the name of a file in the folder of this one, or a pattern such as triggers/*.yaml; or remove the line")
	}
	return names
}

// hidden reports whether a part of name begins with a dot where the pattern does not say one.
func hidden(pattern, name string) bool {
	said := strings.Split(pattern, "/") // as many parts as name has
	for i, part := range strings.Split(name, "/") {
		if strings.HasPrefix(part, ".") && !strings.HasPrefix(said[i], ".") {
			return true
		}
	}
	return false
}

// read is the file's bytes, one more than are allowed at the most: Parse refuses those. It is nil
// after a report.
func (i *includer) read(item *yamlpos.Node, name string) []byte {
	if len(i.seen) > maxIncluded || i.bytes > maxIncludedBytes {
		if i.bytes <= maxIncludedBytes*2 {
			item.Report(fmt.Sprintf("means too much: at most %d files and %d MB are included", maxIncluded, maxIncludedBytes>>20), "write a pattern that means fewer files")
		}
		i.bytes = 3 * maxIncludedBytes // said once
		return nil
	}
	src, err := wholeFile(func(ctx context.Context) ([]byte, error) {
		return regular.ReadIn(ctx, i.folder, name, yamlpos.MaxBytes)
	})
	switch {
	case err == nil:
		i.bytes += len(src)
		return src
	case errors.Is(err, fs.ErrNotExist):
		item.Report(fmt.Sprintf("there is no file %s", name), "write the name of one, or remove the line")
	case errors.Is(err, fs.ErrPermission):
		item.Report(fmt.Sprintf("%s may not be read by this user", name), "check the file's owner and mode")
	case errors.Is(err, regular.ErrFolder):
		item.Report(fmt.Sprintf("%s is a folder", name), fmt.Sprintf("write %s for the files in it", path.Join(name, "*.yaml")))
	case errors.Is(err, regular.ErrLeadsOut):
		item.Report(fmt.Sprintf("%s is a link that leads out of the folder of this file", name), "move what it leads to into the folder of this file, or below it")
	default:
		item.Report(fmt.Sprintf("%s cannot be read: %v", name, err), "it has to be a file in the folder of this one or below; a link may not lead out of it")
	}
	return nil
}
