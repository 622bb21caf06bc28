//go:build unix

// Package testserver starts servers for tests and benchmarks from programs that the machine has, or that "make setup"
// unpacked: as somebody without rights, in a folder of their own, on a free port of this machine alone. Nothing is installed.
package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrMissing means that the machine has no such program.
var ErrMissing = errors.New("it is not here: make setup brings it")

// unpacked is where "make setup" puts what the machine lacks: in the folder of go.mod, at or above that of the test.
var unpacked = func() string {
	folder, _ := os.Getwd() // without one nothing is unpacked there
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil || folder == filepath.Dir(folder) {
			return filepath.Join(folder, ".check", "servers", "usr")
		}
		folder = filepath.Dir(folder)
	}
}()

// Program is where the first of the named programs lies. The error is ErrMissing where none does.
func Program(names ...string) (string, error) {
	for _, name := range names {
		folders := append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin", "/usr/bin", unpacked+"/bin", unpacked+"/sbin")
		// PostgreSQL has one folder for each version.
		for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", unpacked + "/lib/postgresql/*/bin"} {
			versions, err := filepath.Glob(pattern)
			if err != nil {
				return "", err
			}
			folders = append(folders, versions...)
		}
		for _, folder := range folders {
			path := filepath.Join(folder, name)
			if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 { //nolint:gosec // where the machine looks for programs
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("%s: %w", names[0], ErrMissing)
}

// Libraries is the environment of a server that may have been unpacked with libraries of its own.
func Libraries() []string {
	var folders []string
	// Some packages still put theirs outside usr, and PulseAudio, which a browser asks for, has a folder that only the installed one finds.
	for _, pattern := range []string{unpacked + "/lib/*-linux-*", filepath.Dir(unpacked) + "/lib/*-linux-*", unpacked + "/lib/*-linux-*/pulseaudio"} {
		found, _ := filepath.Glob(pattern) // the pattern is right
		folders = append(folders, found...)
	}
	return append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(append(folders, os.Getenv("LD_LIBRARY_PATH")), ":"))
}

// Library is where a shared library lies. The error is ErrMissing where it is not here.
func Library(name string) (string, error) {
	for _, pattern := range []string{"/usr/lib/*-linux-*/", unpacked + "/lib/*-linux-*/"} {
		if found, err := filepath.Glob(pattern + name); err == nil && len(found) > 0 {
			return found[0], nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, ErrMissing)
}

// Nobody makes a program run as somebody without rights, and a folder theirs: a server that is started by root refuses,
// or would have rights that a test should not give away. It is nil for whoever has none to give.
func Nobody(folder, name string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	who, err := user.Lookup(name)
	if err != nil {
		who, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, os.Chown(folder, int(uid), int(gid))
}

// A Postgres is a PostgreSQL server. Its data is gone when it is closed.
type Postgres struct {
	Port int

	folder string
	bin    string
	cmd    *exec.Cmd
	who    *syscall.SysProcAttr
	made   atomic.Int64
	flags  []string
}

// StartPostgres makes a server and starts it. flags are settings such as "fsync=off". The error is ErrMissing where the machine has
// no PostgreSQL, or none is to be used: NUDGEWIRE_POSTGRES=off.
func StartPostgres(ctx context.Context, flags ...string) (*Postgres, error) {
	return StartPostgresIn(ctx, "", flags...)
}

// StartPostgresIn is StartPostgres with the data in a new folder of dir, which everybody may enter; "" is that of temporary files.
func StartPostgresIn(ctx context.Context, dir string, flags ...string) (_ *Postgres, err error) {
	if os.Getenv("NUDGEWIRE_POSTGRES") == "off" {
		return nil, fmt.Errorf("NUDGEWIRE_POSTGRES is off: %w", ErrMissing)
	}
	initdb, err := Program("initdb")
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp(dir, "nudgewire-postgres")
	if err != nil {
		return nil, err
	}
	p := &Postgres{folder: folder, bin: filepath.Dir(initdb), flags: flags}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.who, err = Nobody(folder, "postgres"); err != nil {
		return nil, err
	}
	create := exec.CommandContext( //nolint:gosec // the server's own program
		ctx, initdb, "--pgdata="+p.data(), "--username=nudgewire", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--auth=trust")
	create.SysProcAttr, create.Dir, create.Env = p.who, folder, Libraries()
	if out, err := create.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make the data: %w\n%s", err, out)
	}
	if p.Port, err = FreePort(); err != nil {
		return nil, err
	}
	return p, p.Start(ctx)
}

// PID is the number of the server's first process, whose children the others are; 0 while it does not run.
func (p *Postgres) PID() int {
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Run runs a program of PostgreSQL to its end, such as pg_dump. It finds the server by its environment.
func (p *Postgres) Run(ctx context.Context, program string, args ...string) error {
	server, err := filepath.EvalSymlinks(filepath.Join(p.bin, "initdb")) // beside it lie those of its version
	if err != nil {
		return err
	}
	run := exec.CommandContext(ctx, filepath.Join(filepath.Dir(server), program), args...) //nolint:gosec // a program of the server
	run.SysProcAttr, run.Dir = p.who, p.folder
	run.Env = append(Libraries(), "PGHOST=127.0.0.1", "PGPORT="+strconv.Itoa(p.Port), "PGUSER=nudgewire")
	if out, err := run.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	return nil
}

// Folder is the server's own, which its programs may write to.
func (p *Postgres) Folder() string { return p.folder }

// Copy starts another server with the same files. The first one has to be stopped.
func (p *Postgres) Copy(ctx context.Context) (*Postgres, error) {
	return p.another(ctx, func(o *Postgres) error {
		copying := exec.CommandContext(ctx, "cp", "-a", p.data(), o.data()) //nolint:gosec // folders of a test
		out, err := copying.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("copy the data: %w\n%s", err, out)
		}
		return err
	})
}

// Standby starts a server that follows the first one.
func (p *Postgres) Standby(ctx context.Context) (*Postgres, error) {
	return p.another(ctx, func(o *Postgres) error {
		return p.Run(ctx, "pg_basebackup", "--pgdata="+o.data(), "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync")
	})
}

// another starts a server of its own whose data is made from that of the first one.
func (p *Postgres) another(ctx context.Context, from func(*Postgres) error) (_ *Postgres, err error) {
	folder, err := os.MkdirTemp("", "nudgewire-postgres")
	if err != nil {
		return nil, err
	}
	o := &Postgres{folder: folder, bin: p.bin, who: p.who, flags: p.flags}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	if _, err := Nobody(folder, "postgres"); err != nil {
		return nil, err
	}
	if err := from(o); err != nil {
		return nil, err
	}
	if o.Port, err = FreePort(); err != nil {
		return nil, err
	}
	return o, o.Start(ctx)
}

func (p *Postgres) data() string { return filepath.Join(p.folder, "data") }

// Start starts a server that was stopped or killed, and waits until it answers.
func (p *Postgres) Start(ctx context.Context) error {
	args := []string{"-D", p.data(), "-k", p.folder, "-h", "127.0.0.1", "-p", strconv.Itoa(p.Port)}
	for _, flag := range p.flags {
		args = append(args, "-c", flag)
	}
	log, err := os.OpenFile(filepath.Join(p.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()                              // the server has its own
	p.cmd = exec.Command(filepath.Join(p.bin, "postgres"), args...) //nolint:gosec,noctx // the server's own program, which outlives this call
	p.cmd.SysProcAttr, p.cmd.Dir, p.cmd.Env = p.who, p.folder, Libraries()
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) { // another process tells nobody when it listens
		conn, err := pgx.Connect(ctx, p.DSN("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		if ctx.Err() != nil || time.Now().After(end) {
			said, _ := os.ReadFile(filepath.Join(p.folder, "log")) // it is only for the error
			return fmt.Errorf("the server does not answer: %w\n%s", err, said)
		}
	}
}

// DSN is a database of the server.
func (p *Postgres) DSN(database string) string {
	return fmt.Sprintf("postgres://nudgewire@127.0.0.1:%d/%s?sslmode=disable", p.Port, database)
}

// NewDatabase makes an empty database.
func (p *Postgres) NewDatabase(ctx context.Context) (dsn string, err error) {
	conn, err := pgx.Connect(ctx, p.DSN("postgres"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	name := fmt.Sprintf("nudgewire_%d", p.made.Add(1))
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name)
	return p.DSN(name), err
}

// Stop ends the server as a restart does: it throws out whoever is connected. Start starts it again.
func (p *Postgres) Stop() error { return p.end(syscall.SIGINT) }

// Kill ends the server as a crash does.
func (p *Postgres) Kill() error { return p.end(syscall.SIGQUIT) }

func (p *Postgres) end(by os.Signal) error {
	if p.cmd == nil {
		return nil
	}
	cmd := p.cmd
	p.cmd = nil
	err := cmd.Process.Signal(by)
	_ = cmd.Wait() // it ends with a signal, or not: both are well
	return err
}

// Close stops the server and removes its data.
func (p *Postgres) Close() error { return errors.Join(p.Stop(), os.RemoveAll(p.folder)) }
