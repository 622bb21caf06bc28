// Command check runs one part of "make check" and says how it goes: a line for each package whose tests ended, with its
// time; what still runs, where nothing else was said for a while; and at the end what failed, what was skipped, and how
// long the part took.
//
//	go run ./test/check [-noskip] [-memory] [-log FILE] NAME COMMAND [ARG …]
//
// What "go test -json" writes is read; every other line of COMMAND is passed on.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	good, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

// run runs the command that args name and tells out how it goes; good is whether all of it held.
func run(ctx context.Context, args []string, out io.Writer) (good bool, err error) {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	noSkip := flags.Bool("noskip", false, "a test that is skipped fails the part")
	memory := flags.Bool("memory", false, "the command's temporary files are kept in memory, where the machine has room")
	logFile := flags.String("log", "", "write all that tests say into this `file`")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	if flags.NArg() < 2 {
		return false, errors.New("want a name and a command")
	}
	p := newPart(flags.Arg(0), out, time.Now)
	p.noSkip = *noSkip
	if *logFile != "" {
		file, openErr := os.Create(*logFile)
		if openErr != nil {
			return false, openErr
		}
		w := bufio.NewWriter(file)
		defer func() { err = errors.Join(err, w.Flush(), file.Close()) }()
		p.log = w
	}
	p.begin()
	cmd := exec.CommandContext(ctx, flags.Arg(1), flags.Args()[2:]...) //nolint:gosec // what the Makefile names
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	if *memory {
		folder, remove := inMemory()
		defer func() { err = errors.Join(err, remove()) }()
		if folder != "" { // what the compiler writes stays where it was
			cmd.Env = append(cmd.Environ(), "GOTMPDIR="+os.TempDir(), "TMPDIR="+folder)
		}
	}
	lines, failed := p.start(cmd)
	beat := time.NewTicker(time.Second)
	defer beat.Stop()
	for {
		select {
		case line, more := <-lines:
			if !more {
				return p.end(<-failed), nil
			}
			p.line(line)
		case <-beat.C:
			p.beat()
		}
	}
}

// start starts the command. lines are what it writes, closed at its end; then failed has what became of it.
func (p *part) start(cmd *exec.Cmd) (lines <-chan []byte, failed <-chan error) {
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	all, end := make(chan []byte, 1000), make(chan error, 1)
	go func() {
		err := cmd.Run()
		if cmd.ProcessState != nil {
			p.busy = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		}
		end <- err
		_ = write.Close() // never fails
	}()
	go func() {
		defer close(all)
		for from := bufio.NewReader(read); ; {
			line, err := from.ReadBytes('\n')
			if len(line) > 0 {
				all <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return all, end
}
