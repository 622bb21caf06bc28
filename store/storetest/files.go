package storetest

import (
	"testing"
	"time"

	"github.com/nudgewire/nudgewire"
)

// ended is a run of a job whose n parts ended in state, at a time.
func (l *ledger) ended(slot, folder string, at time.Time, states ...nudgewire.PartState) nudgewire.Run {
	l.t.Helper()
	r := l.uploading(slot, len(states))
	r.Folder = folder
	if err := l.SetRun(l.ctx, "", r, nudgewire.RunUploading); err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.ClaimRuns(l.ctx, owner, noon, noon.Add(time.Minute), nil); err != nil {
		l.t.Fatal(err)
	}
	for i, state := range states {
		p, err := l.ClaimPart(l.ctx, r.ID, i+1, owner, noon)
		if err != nil {
			l.t.Fatal(err)
		}
		if p.State, p.Reason = state, "as the test says"; state == nudgewire.PartUploading {
			continue
		}
		if err := l.FinishPart(l.ctx, p); err != nil {
			l.t.Fatal(err)
		}
	}
	r.State, r.Reason, r.EndedAt = nudgewire.RunPartial, "as the test says", at
	if err := l.SetRun(l.ctx, "", r, nudgewire.RunUploading); err != nil {
		l.t.Fatal(err)
	}
	return r
}

func (s suite) files(t *testing.T) {
	l := s.open(t)
	old, late := noon, noon.Add(48*time.Hour)
	ok, no := nudgewire.PartAccepted, nudgewire.PartRejected
	sent := l.ended("1", "runs/1", old, ok, no)
	l.ended("2", "runs/2", old, ok, nudgewire.PartInDoubt)
	l.ended("3", "runs/3", old, nudgewire.PartUploading)
	l.ended("4", "runs/4", late, ok)
	l.ended("5", "runs/5", old, no)
	retry := l.ended("retry of 5", "runs/5", late, ok)
	l.ended("6", "runs/6", old, no)
	open := l.uploading("retry of 6", 1)
	open.Folder = "runs/6"
	if err := l.SetRun(l.ctx, "", open, nudgewire.RunUploading); err != nil {
		t.Fatal(err)
	}
	l.ended("7", "", old, ok)
	folders := func(before time.Time) []string {
		t.Helper()
		got, err := l.OldFolders(l.ctx, before)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	same(t, "old when nothing is", []string(nil), folders(old))
	same(t, "old folders", []string{"runs/1"}, folders(old.Add(time.Hour)))
	same(t, "old folders, later", []string{"runs/1", "runs/4", "runs/5"}, folders(late.Add(time.Hour)))

	removed := noon.Add(50 * time.Hour)
	for _, folder := range []string{"runs/1", "runs/5", "runs/6"} {
		if err := l.FolderRemoved(l.ctx, folder, removed); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "what is left", []string{"runs/4"}, folders(late.Add(time.Hour)))
	if got := l.run(sent.ID); !got.FilesRemovedAt.Equal(removed) || got.Folder != "runs/1" || got.Tally.Kept != sent.Tally.Kept {
		t.Errorf("the run is %+v", got)
	}
	if p := l.part(sent.ID, 1); p.SHA256 != "abc" || p.Rows != 10 {
		t.Errorf("its part is %+v", p)
	}
	if got := l.run(retry.ID); !got.FilesRemovedAt.Equal(removed) {
		t.Errorf("the retry says that its files were removed at %s", got.FilesRemovedAt)
	}
	if got := l.run(open.ID); !got.FilesRemovedAt.IsZero() {
		t.Errorf("an open run lost its files at %s", got.FilesRemovedAt)
	}
	if err := l.FolderRemoved(l.ctx, "runs/1", removed.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := l.run(sent.ID); !got.FilesRemovedAt.Equal(removed) {
		t.Errorf("a second note moved the first to %s", got.FilesRemovedAt)
	}
}
