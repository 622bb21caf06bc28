package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/store"
)

// onDisk reads and writes wherever a test says.
var onDisk = files.InFolder(string(filepath.Separator))

// ofDatabase keeps the files of all tests that work at a desk, where the environment says so; nil otherwise.
var ofDatabase *store.Store

const filesVariable = "NUDGEWIRE_TEST_FILES"

// A testMain opens the database for files, and closes it before anybody counts goroutines.
type testMain struct{ *testing.M }

func (m testMain) Run() int {
	if os.Getenv(filesVariable) != files.InDatabase(nil).Root() {
		return m.M.Run()
	}
	folder, err := os.MkdirTemp("", "nudgewire-files-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if ofDatabase, err = store.Open(context.Background(), store.Options{DSN: "sqlite:" + filepath.Join(folder, "n.db")}); err != nil {
		panic(err)
	}
	code := m.M.Run()
	if err := ofDatabase.Close(); err != nil {
		panic(err)
	}
	return code
}

// A below is a Store of which a test sees only its own part.
type below struct {
	files.Store
	root string
}

func (b below) Root() string { return b.root }

var desks atomic.Int64

// newFiles are for one desk.
func newFiles(dir string) files.Store {
	if ofDatabase == nil {
		return files.InFolder(filepath.Join(dir, "runs"))
	}
	db := files.InDatabase(ofDatabase)
	return below{db, files.Join(db.Root(), fmt.Sprintf("desk-%d", desks.Add(1)))}
}

// What holds of runs holds wherever their files lie: the tests that work at a desk once more, in a process of their own.
func TestWithFilesInTheDatabase(t *testing.T) {
	if ofDatabase != nil || testing.Short() {
		t.Skip("it is that process, or a short one")
	}
	const meets = "TestARunUploads|TestACrashAnywhere|TestHowAnUploadEnds|TestAFileThat|TestPauseAndResume|TestCancelKeeps|TestAStop|TestBadInput|TestPerMessage|" +
		"TestWhoIsBlocked|TestAPartMayLose|TestWhatIsTooLarge|TestARecheck|TestAPersonsWord|TestARunThatRepeats|TestAWordOnAPart|TestAResumedRun|TestTheFilesOfARun|TestTheCanaryOfAFile|TestAListLeaves|TestAnother"
	run := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^("+meets+")", "-test.v")
	run.Env = append(os.Environ(), filesVariable+"="+files.InDatabase(nil).Root())
	out, err := run.CombinedOutput()
	if n := strings.Count(string(out), "--- PASS: "); err != nil || n < 30 {
		t.Errorf("%v, %d passed\n%s", err, n, out)
	}
}

func textOf(t testing.TB, in files.Store, path string) string {
	t.Helper()
	f, err := in.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func putText(t testing.TB, in files.Store, path, text string) {
	t.Helper()
	f, err := in.Create(t.Context(), path)
	if err == nil {
		_, err = io.WriteString(f, text)
	}
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// namesIn are those of the files in a folder.
func namesIn(t testing.TB, in files.Store, folder string) (names []string) {
	t.Helper()
	paths, err := in.List(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		_, name := files.Split(path)
		names = append(names, name)
	}
	return names
}

// awayFiles are in a place that does not answer for some time.
type awayFiles struct {
	files.Store
	away *atomic.Bool
}

func (a awayFiles) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	if a.away.Load() {
		return nil, &files.AwayError{Place: "s3://files/runs", Err: errors.New("connection refused")}
	}
	return a.Store.Open(ctx, path)
}

// A place that cannot be reached is no reason to give a part up: it is tried until it can be read, and goes once.
func TestFilesThatAreAwayAreWaitedFor(t *testing.T) {
	for _, deliver := range []nudgewire.Deliver{nudgewire.DeliverCSV, nudgewire.DeliverPerMessage} {
		t.Run(string(deliver), func(t *testing.T) {
			job := Job{Cron: "0 10 * * *", Guard: Guard{ApproveOver: 1}, Deliver: deliver}
			if deliver == nudgewire.DeliverPerMessage {
				job.Send = &Message{Template: "winback"}
			}
			d := begin(t, jobOf(t, people(10), job))
			fireDue(t, d)
			var away atomic.Bool
			away.Store(true)
			d.Files = awayFiles{d.Files, &away}
			if err := d.Approve(t.Context(), 1, by("Ann")); err != nil {
				t.Fatal(err)
			}
			tries := 0
			d.Halted = func(*nudgewire.Run) bool { // asked once a second of what waits
				if tries++; tries > 5 {
					away.Store(false)
				}
				return false
			}
			for range 8 {
				d.settle(t)
			}
			if r := d.the(t); r.State != nudgewire.RunDone || deliver == nudgewire.DeliverCSV && len(d.service.uploads()) != 1 || away.Load() {
				t.Errorf("%s %q after %d uploads", r.State, r.Reason, len(d.service.uploads()))
			}
		})
	}
}

// Who was taken for dead while it wrote does not write where another process goes on, and removes nothing of it.
func TestAnotherProcessGoesOnWithTheFiles(t *testing.T) {
	d := begin(t, jobOf(t, people(10), Job{Cron: "0 10 * * *", Guard: Guard{ApproveOver: 1}}))
	fireDue(t, d)
	r := d.the(t)
	part := files.Join(r.Folder, "part-0001.csv")
	built := textOf(t, d.Files, part)
	before := &working{Scheduler: d.Scheduler, run: r, log: zap.NewNop()}
	w, err := before.files().Create(t.Context(), part)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Approve(t.Context(), r.ID, by("Ann")); err != nil {
		t.Fatal(err)
	}
	d.open("two")
	if mine, err := d.ClaimRuns(t.Context(), "two", d.now(), d.now().Add(time.Hour), d.may); err != nil || len(mine) != 1 {
		t.Fatal(mine, err)
	}
	_, _ = io.WriteString(w, "phone\n447911100001\n")
	if err := w.Commit(); !errors.Is(err, nudgewire.ErrMoved) {
		t.Errorf("committed: %v", err)
	}
	for what, err := range map[string]error{"removed": before.files().Remove(t.Context(), part), "emptied": before.files().RemoveFolder(t.Context(), r.Folder)} {
		if !errors.Is(err, nudgewire.ErrMoved) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := before.discard(t.Context()); err != nil {
		t.Error(err)
	}
	if textOf(t, d.Files, part) != built || len(namesIn(t, d.Files, r.Folder)) != 2 {
		t.Errorf("the files are others: %q", namesIn(t, d.Files, r.Folder))
	}
	d.settle(t)
	if r := d.the(t); r.State != nudgewire.RunDone || len(d.service.uploads()) != 1 {
		t.Errorf("%s %q after %d uploads", r.State, r.Reason, len(d.service.uploads()))
	}
}

// After a change of files: what was built goes on where it lies, and what is built from then on lies where the config says.
func TestARunMovesToThePlaceThatTheConfigNames(t *testing.T) {
	d := begin(t, jobOf(t, people(10), Job{Cron: "0 10 * * *", Guard: Guard{ApproveOver: 1}}))
	fireDue(t, d)
	first := d.the(t)
	st, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(t.TempDir(), "n.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	database := files.InDatabase(st)
	d.kept = &files.Places{Store: database, Folder: d.kept, Database: database}
	d.open("two")
	if err := d.Approve(t.Context(), first.ID, by("Ann")); err != nil {
		t.Fatal(err)
	}
	d.settle(t) // what was built is read where it lies
	d.advance(24 * time.Hour)
	fireDue(t, d)
	second := d.the(t)
	if first = d.runs[0]; first.State != nudgewire.RunDone || !files.OnDisk(first.Folder) || second.ID == first.ID || files.OnDisk(second.Folder) {
		t.Errorf("%s in %s, then %s in %s", first.State, first.Folder, second.State, second.Folder)
	}
	if got := namesIn(t, d.Files, second.Folder); len(got) != 2 {
		t.Errorf("the second run's files: %q", got)
	}
}
