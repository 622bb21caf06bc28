package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whatever is told goes through Say, Warn, Table and Print: a command that writes by itself would
// write raw what strangers wrote.
func TestCommandsTellThroughOnePlace(t *testing.T) {
	direct := regexp.MustCompile(`(?:Fprint\w*\(|WriteString\(|NewEncoder\(|NewWriter\()(?:n\.)?c\.(?:Out|Err)\b`)
	err := filepath.WalkDir(".", func(name string, file fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || file.Name() == "print.go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		for _, at := range direct.FindAllIndex(text, -1) {
			t.Errorf("%s:%d writes by itself: %s", name, 1+bytes.Count(text[:at[0]], []byte("\n")), text[at[0]:at[1]])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
