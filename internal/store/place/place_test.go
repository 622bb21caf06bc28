package place

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Of each thing that stands beside a file the start says why it may not be used, and how it may.
func TestWhatStandsBesideAFileKeepsAStartFromIt(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	must(os.WriteFile(path, []byte("data"), 0o600))
	for name, ask := range map[string]func() error{
		"cut off": func() error { return CutOff(path) }, "a copy": func() error { return CopyCutOff(path) },
		"moved": func() error { return MovedAway(path, "") }, "emptied": func() error { return Emptied(path) },
	} {
		if err := ask(); err != nil {
			t.Errorf("%s: there is nothing, and it says %v", name, err)
		}
	}
	must(MarkRestore("sqlite:"+path, "/backups/a.tar"))
	if cut, is := errors.AsType[*CutOffError](CutOff(path)); !is || cut.From != "/backups/a.tar" {
		t.Errorf("a restoration that was cut off: %v", cut)
	}
	must(UnmarkRestore("sqlite:" + path))
	must(CutOff(path))
	must(os.WriteFile(CopyingFile(path), nil, 0o600))
	if err := CopyCutOff(path); !errors.As(err, new(*UnfinishedError)) {
		t.Errorf("a copy that did not end: %v", err)
	}
	must(MarkMoved(path, "db.example/ledger"))
	moved, is := errors.AsType[*MovedError](MovedAway(path, "elsewhere"))
	if !is || moved.To != "db.example/ledger" || moved.Undo != "remove "+path+".moved" || moved.At.IsZero() {
		t.Errorf("moved: %+v", moved)
	}
	must(MovedAway(path, "db.example/ledger")) // to the same place once more
	must(WriteInstance(path, 7))
	must(os.Truncate(path, 0))
	if err := Emptied(path); !errors.Is(err, ErrEmptied) {
		t.Errorf("cut off to nothing: %v", err)
	}
}

// The file beside the data is read as it was written, and one that is damaged is the file of no data.
func TestAnInstanceFileIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nudgewire.db")
	if err := os.WriteFile(path, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, token := range []int64{0, 1, 1<<63 - 1} {
		if err := WriteInstance(path, token); err != nil {
			t.Fatal(err)
		}
		if got, _, err := ReadInstance(path); err != nil || got != token {
			t.Errorf("%d is read as %d (%v)", token, got, err)
		}
	}
	for _, text := range []string{"", "x", instanceMagic, instanceMagic + "\n", instanceMagic + "\nxyz\n", "another\n1\n"} {
		if err := os.WriteFile(InstanceFile(path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := ReadInstance(path); err != nil || got != NoInstance {
			t.Errorf("%q is read as %d (%v)", text, got, err)
		}
	}
}

func TestCountersOfOnePlaceDoNotMove(t *testing.T) {
	for name, want := range map[string]bool{
		"instance/token": true, "keyed/events": true, "moved/at": true, "expected/at": true, "numbers/0": true, RewriteDue: true,
		"events": false, "forgetting/other": false, "retention/dead_keys": false,
	} {
		if got := IsOfOnePlace(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
