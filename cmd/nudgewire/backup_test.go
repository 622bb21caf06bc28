package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/exit"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/store"
)

// On a disk that is full a backup and a restore say so, leave nothing behind, and harm nothing.
func TestBackupAndRestoreOnAFullDisk(t *testing.T) {
	small := t.TempDir()
	inside := func(script string) (out string, code int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=600k none "+small+" && "+script)
		program, err := exec.LookPath("nudgewire")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(os.Environ(), "NUDGEWIRE="+program)
		text, err := cmd.CombinedOutput()
		if ended, ok := errors.AsType[*exec.ExitError](err); ok {
			code = ended.ExitCode()
		} else if err != nil {
			t.Skip("no unshare here: ", err)
		}
		return string(text), code
	}
	if out, code := inside("true"); code != 0 {
		t.Skip("no file system can be made here: ", out)
	}
	folder := t.TempDir()
	config := func(name, data string) string {
		path := filepath.Join(folder, name)
		text := fmt.Sprintf("api: {base_url: \"http://127.0.0.1:1/api/v1\", key: \"${file:%s}\"}\nstorage: sqlite:%s\n", filepath.Join(folder, "key"), data)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.WriteFile(filepath.Join(folder, "key"), []byte("key"), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	here := config("here.yaml", filepath.Join(folder, "data", "nudgewire.db"))
	s, err := store.Open(t.Context(), store.Options{DSN: "sqlite:" + filepath.Join(folder, "data", "nudgewire.db")})
	for i := 0; err == nil && i < 40; i++ {
		noise := make([]byte, 20_000)
		for j := range noise {
			noise[j] = byte(i*31+j*j*7) ^ byte(j>>5)*byte(j)
		}
		_, err = s.Accept(t.Context(), []messaging.Plan{{Event: messaging.Event{Connector: "c", Kind: "k", DedupeKey: fmt.Sprint(i), ReceivedAt: time.Now(), Payload: noise}}})
	}
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ script, wordList string }{
		{fmt.Sprintf(`"$NUDGEWIRE" -c %s backup %s/b.tar.zst; code=$?; ls -A %s | sed "s/^/left: /"; exit $code`, here, small, small), "the disk is full"},
		{fmt.Sprintf(`"$NUDGEWIRE" -c %s backup %s/whole.tar.zst -q && "$NUDGEWIRE" -c %s restore %s/whole.tar.zst; code=$?; ls -A %s | sed "s/^/left: /"; exit $code`,
			here, folder, config("there.yaml", filepath.Join(small, "nudgewire.db")), folder, small), "the disk is full"},
	} {
		out, code := inside(c.script)
		out = strings.Replace(out, "left: nudgewire.db.lock\n", "", 1) // the lock of data is never removed
		if code != exit.TryLater || !strings.Contains(out, c.wordList) || strings.Contains(out, "left: ") {
			t.Errorf("%s\nended with %d:\n%s", c.script, code, out)
		}
	}
}
