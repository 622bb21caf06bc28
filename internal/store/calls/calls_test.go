package calls

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// What a file tells is known of its owner alone, and while the machine has not been started anew; where the system does not name its boots it never is.
func TestWhatAFileTellsIsOfOneBoot(t *testing.T) {
	boot := filepath.Join(t.TempDir(), "boot")
	was := bootFile
	bootFile = boot
	t.Cleanup(func() { bootFile = was })
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(boot, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("boot-1\n")
	f := File{Path: filepath.Join(t.TempDir(), "nudgewire.calls")}
	if err := f.Note(0, Call{7, 1}); err == nil {
		t.Error("a call was noted before there was an owner")
	}
	if err := f.Begin("host:1:dead"); err != nil {
		t.Fatal(err)
	}
	for slot, one := range []Call{{7, 1}, {8, 2}, Upload(3, 4, 5)} {
		if err := f.Note(slot, one); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Note(1, Call{9, 1}); err != nil { // the one before is settled
		t.Fatal(err)
	}
	want := map[Call]bool{{7, 1}: true, {9, 1}: true}
	left := func(owner string) map[Call]bool {
		all, known := f.Left(owner)
		if known != (all != nil) {
			t.Errorf("known is %t with %v", known, all)
		}
		return all
	}
	if got := left("host:1:dead"); !maps.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
	if got := left("host:2:other"); got != nil {
		t.Errorf("another owner had begun %v", got)
	}
	noted := Noted(f.Path)
	if len(noted) != 3 {
		t.Fatalf("noted are %v", noted)
	}
	if run, part, is := noted[2].Upload(); !is || run != 3 || part != 4 || noted[2].Attempt != 5 {
		t.Errorf("the upload is %d, %d, %t", run, part, is)
	}
	write("boot-2\n")
	if got := left("host:1:dead"); got != nil {
		t.Errorf("before another boot were begun %v", got)
	}
	if err := os.Remove(boot); err != nil {
		t.Fatal(err)
	}
	if got := left("host:1:dead"); got != nil {
		t.Errorf("of an unknown boot were begun %v", got)
	}
	next := File{Path: f.Path}
	if owner, err := next.Keep(); err != nil || owner != "host:1:dead" || next.Predecessor() != owner {
		t.Errorf("the one before was %q (%v), and is said to be %q", owner, err, next.Predecessor())
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
