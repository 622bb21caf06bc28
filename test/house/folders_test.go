package house_test

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// mostFiles is how many Go files a folder has at most, tests apart: a longer list is read by nobody.
const mostFiles = 40

// largerFolders are those that are still to be parted, each with what it has at most until then.
var largerFolders = map[string]int{"internal/store": 65}

func TestFoldersAreShort(t *testing.T) {
	const root = "../.."
	files := map[string]int{}
	err := filepath.WalkDir(root, func(path string, one fs.DirEntry, err error) error {
		if err != nil || one.IsDir() && (one.Name() == "testdata" || strings.HasPrefix(one.Name(), ".") && path != root) {
			return skip(err)
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files[strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), root+"/")]++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("only %d folders were seen", len(files))
	}
	for folder, n := range files {
		if n > max(mostFiles, largerFolders[folder]) {
			t.Errorf("%s has %d Go files, and may have %d: what belongs together makes a folder of its own", folder, n, max(mostFiles, largerFolders[folder]))
		}
	}
	for folder := range largerFolders {
		if files[folder] <= mostFiles {
			t.Errorf("%s has %d Go files: take it off the list of larger folders", folder, files[folder])
		}
	}
}
