package main

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const (
	mostDecisions     = 25
	mostDecisionWords = 900
)

// A stranger reads the records in an evening, and each number that stands in code or on a page leads to one.
func TestDecisionsAreFewShortAndThere(t *testing.T) {
	files, err := filepath.Glob("../../docs/decisions/*.md")
	if err != nil || len(files) == 0 || len(files) > mostDecisions {
		t.Fatalf("%d records, %d at the most: write the choice into the record of its subject (%v)", len(files), mostDecisions, err)
	}
	known := map[int]bool{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		number, err := strconv.Atoi(filepath.Base(path)[:4])
		if err != nil || known[number] {
			t.Errorf("%s: needs a number of its own", path)
		}
		known[number] = true
		if n := len(strings.Fields(string(text))); n > mostDecisionWords {
			t.Errorf("%s: %d words, %d at the most", path, n, mostDecisionWords)
		}
	}
	named := 0
	reference := regexp.MustCompile(`\b[Dd]ecisions? (\d+)`)
	err = filepath.WalkDir("../..", func(path string, one fs.DirEntry, err error) error {
		if err != nil || one.IsDir() && path != "../.." && (strings.HasPrefix(one.Name(), ".") || one.Name() == "testdata" || one.Name() == "vendor") {
			return cmp.Or(err, fs.SkipDir)
		}
		if ext := filepath.Ext(path); one.IsDir() || ext != ".go" && ext != ".md" && ext != ".sql" || strings.HasPrefix(path, "../../docs/connectors/") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range reference.FindAllStringSubmatch(string(text), -1) {
			named++
			if number, _ := strconv.Atoi(m[1]); !known[number] {
				t.Errorf("%s: %s is no record in docs/decisions", path, m[0])
			}
		}
		return nil
	})
	if err != nil || named == 0 {
		t.Errorf("%d references, %v", named, err)
	}
}
