package lists

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// expand lists what matches a pattern, in order. Unlike path/filepath.Glob, and that of SFTP, it does not pass over a
// folder that cannot be read: its files would be missing in the list without a word.
func expand(pattern string, stat func(string) (fs.FileInfo, error), list func(folder string) ([]string, error)) ([]string, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		if _, err := stat(pattern); pattern != "" && absent(err) {
			return nil, nil
		}
		return []string{pattern}, nil
	}
	folder, last := path.Split(pattern)
	if _, err := path.Match(last, ""); err != nil {
		return nil, fmt.Errorf("the pattern %q is wrong: %w", pattern, err)
	}
	if folder != "/" {
		folder = strings.TrimSuffix(folder, "/")
	}
	folders, err := expand(folder, stat, list)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, folder := range folders {
		names, err := list(cmp.Or(folder, "."))
		switch {
		case absent(err): // a file among the folders, or one that went meanwhile
			continue
		case err != nil:
			return nil, fmt.Errorf("look for %s: %w", pattern, err)
		}
		for _, name := range names {
			if ok, _ := path.Match(last, name); ok { // the pattern was tried above
				found = append(found, path.Join(folder, name))
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// namesOf are the names in a folder.
func namesOf[Entry interface{ Name() string }](entries []Entry, err error) ([]string, error) {
	names := make([]string, len(entries))
	for i, one := range entries {
		names[i] = one.Name()
	}
	return names, err
}
