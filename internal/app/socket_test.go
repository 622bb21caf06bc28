package app_test

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/nudgewire/nudgewire/internal/app"
	"github.com/nudgewire/nudgewire/internal/server"
)

func TestTheSocketLivesBesideTheDataHoweverLongItsPath(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 12))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zap.WarnLevel)
	h := open(t, options{folder: folder, log: zap.New(core)})
	path := app.SocketPath("sqlite:" + filepath.Join(folder, "nudgewire.db"))
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSocket == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v %v", path, info.Mode(), err)
	}
	if _, err := server.ShowStatus.Call(t.Context(), h.ask, server.None{}); err != nil {
		t.Error(err)
	}
	if n := logs.FilterMessage("the folder of the data is open to other users").Len(); n != 1 {
		t.Errorf("an open folder is warned of %d times", n)
	}
	h.stop()
	left, err := filepath.Glob(filepath.Join(folder, "*sock*"))
	hidden, err2 := filepath.Glob(filepath.Join(folder, ".sock*"))
	if err != nil || err2 != nil || len(left)+len(hidden) != 0 {
		t.Errorf("left behind: %v %v", left, hidden)
	}
}

// me is how a record names who runs the tests.
func me() string {
	u, err := user.Current()
	if err != nil || runtime.GOOS != "linux" {
		return "somebody"
	}
	return u.Username + " (" + u.Uid + ")"
}
