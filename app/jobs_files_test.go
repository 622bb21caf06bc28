package app_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/sandbox"
	"github.com/nudgewire/nudgewire/server"
)

// The files of a run go a while after its end, what is known of it stays, and a part of which it
// is not known what became of it keeps its files.
func TestTheFilesOfARunGoAndItsCountsStay(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list(t, filepath.Join(folder, "list.csv"), 1000)
	config := jobConfig(folder, byCSV+"    guard: {repeat: send}\n") + "retention: {lists: 7d}\n"
	h := open(t, options{folder: folder, config: config})
	sent := h.fire("winback")
	if sent.State != nudgewire.RunDone {
		t.Fatalf("the run is %s: %s", sent.State, sent.Reason)
	}
	f := h.service.Faults()
	f.CutAfter = 1
	h.service.SetFaults(f)
	h.pass()
	doubtful := h.fire("winback")
	if doubtful.Parts[0].State != nudgewire.PartInDoubt {
		t.Fatalf("the second run's part is %s", doubtful.Parts[0].State)
	}
	h.stop()

	there := func(r server.RunView) bool {
		_, err := os.Stat(filepath.Join(r.Folder, "part-0001.csv"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err == nil
	}
	later := func(after time.Duration) *house {
		return open(t, options{folder: folder, config: config, sandbox: sandbox.Options{}, now: func() time.Time { return time.Now().Add(after) }})
	}
	h = later(6 * 24 * time.Hour)
	if _, err := h.ask.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := h.fire("winback"); r.State != nudgewire.RunDone || !there(sent) || !there(doubtful) {
		t.Errorf("after six days the files are there: %v and %v; the run is %s", there(sent), there(doubtful), r.State)
	}
	h.stop()
	h = later(8 * 24 * time.Hour)
	var got server.RunView
	h.eventually("the run says that its files are gone", func() bool {
		var err error
		if got, err = h.ask.Run(t.Context(), sent.ID); err != nil {
			t.Fatal(err)
		}
		return got.FilesRemovedAt != nil
	})
	if there(sent) || !there(doubtful) {
		t.Errorf("after eight days the files are there: %v and %v", there(sent), there(doubtful))
	}
	if got.Tally.Kept != sent.Tally.Kept || got.Parts[0].SHA256 != sent.Parts[0].SHA256 || got.Parts[0].Bytes != sent.Parts[0].Bytes {
		t.Errorf("the run is %+v", got)
	}
	if _, err := h.ask.OrderRun(t.Context(), sent.ID, "retry", server.RunOrder{}); err == nil ||
		err.Error() != "the files of run 1 were removed on "+got.FilesRemovedAt.Format(time.DateOnly)+" (retention.lists)" {
		t.Errorf("a retry: %v", err)
	}
}
