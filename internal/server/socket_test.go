//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

func TestARecordNamesTheUserOfTheSocket(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), strings.Repeat("long/", 30), "s")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	var l net.Listener
	if err := listeners.AtSocket(path, func(short string) (err error) { l, err = net.Listen("unix", short); return err }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- listeners.Serve(ctx, l, access.BySocket(Admin(AdminOptions{Log: zap.NewNop()})), nil, time.Second, zap.NewNop())
	}()
	ask := Dial(path)
	if _, err := ask.request(t.Context(), &WhoAmI.Route, texts{query: url.Values{"who": {"the CEO"}}}, reflect.ValueOf(None{})); err == nil {
		t.Error("a query names who asks")
	}
	got, err := WhoAmI.Call(t.Context(), ask, None{})
	if err != nil {
		t.Fatal(err)
	}
	if want := me.Username + " (" + me.Uid + ")"; got.Name != want || got.From != access.FromSocket || !slices.Equal(got.Scopes, access.Scopes) {
		t.Errorf("it is %+v that asks, want %q with every scope", got, want)
	}
	ask.Close()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// Another user who listens where the daemon should is asked nothing. It takes root to play another
// user.
func TestSomebodyElsesSocketIsAskedNothing(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	folder, err := os.MkdirTemp("", "sock")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "s")
	const other = 12345
	program := filepath.Join(folder, "listen")
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run", "ListensAsAnother")
	cmd.Env = append(os.Environ(), "NUDGEWIRE_TEST_LISTEN="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: other, Gid: other}}
	says, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if _, err := says.Read(make([]byte, 1)); err != nil { // the socket is there a moment before anybody listens at it
		t.Fatal(err)
	}
	ask := Dial(path)
	defer ask.Close()
	_, err = ShowStatus.Call(t.Context(), ask, None{})
	no, ok := errors.AsType[*refusal.Error](err)
	if !ok || no.Status != http.StatusForbidden || !strings.Contains(no.Words, "user 12345 listens at "+path) {
		t.Errorf("asking it: %v", err)
	}
}

// TestListensAsAnother is the other user's program.
func TestListensAsAnother(t *testing.T) {
	path := os.Getenv("NUDGEWIRE_TEST_LISTEN")
	if path == "" {
		return // it is no test of its own
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listening")
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() { time.Sleep(time.Minute); _ = c.Close() }()
	}
}
