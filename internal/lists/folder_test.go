package lists

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A relative source starts at the folder that Env names, whatever signs its name holds.
func TestRelativeSourcesStartAtTheFolderOfTheConfig(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "[2026]* crm?")
	if err := os.MkdirAll(filepath.Join(folder, "lists"), 0o700); err != nil {
		t.Skip(err)
	}
	list := filepath.Join(folder, "lists", "a[1].csv")
	if err := os.WriteFile(list, []byte("phone\n+447700900101\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, pattern := range []string{"lists/*.csv", "./lists/a[1].csv", list} {
		s, err := newSource(Origin{CSV: pattern}, folder)
		if err != nil {
			t.Fatal(err)
		}
		if got := readSource(t, s); len(got.Rows) != 1 || got.End != "" {
			t.Errorf("%s: %+v", pattern, got)
		}
	}
	for _, o := range []Origin{{CSV: "none.csv"}, {XLSX: "none.xlsx"}, {SQLite: "none.db", Query: "select 1"}} {
		s, err := newSource(o, folder)
		if err != nil {
			t.Fatal(err)
		}
		if got := readSource(t, s); !strings.Contains(got.End, folder) {
			t.Errorf("%+v ended with %q, which does not say where it looked", o, got.End)
		}
	}
	o := Origin{SFTP: &SFTP{KnownHosts: "known"}}
	s, err := newSource(o, folder)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.(*fileSource).finder.(sftpFiles).KnownHosts; got != filepath.Join(folder, "known") || o.SFTP.KnownHosts != "known" {
		t.Errorf("known_hosts is at %q", got)
	}
}
