package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/nudgewire/nudgewire/internal/app"
)

// A node is a daemon in a process of its own: this program, started anew with nodeArgument and the path of a config. It writes the
// address of its hooks as a line and waits for a line; then it works, and writes a letter for each outcome, until nothing can be
// read any more. So it ends with whoever started it.
type node struct {
	addr string
	cmd  *exec.Cmd
	in   io.WriteCloser
	read chan error // gets the end of reading
	said *bytes.Buffer
}

const nodeArgument = "node"

// tellEvery is how often a node tells what it did.
const tellEvery = 5 * time.Millisecond

func startNode(ctx context.Context, config string, w watch) (_ *node, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	n := &node{cmd: exec.CommandContext(context.WithoutCancel(ctx), program, nodeArgument, config), read: make(chan error, 1), said: new(bytes.Buffer)} //nolint:gosec // this program
	n.cmd.Stderr = n.said
	out, err := n.cmd.StdoutPipe()
	if err == nil {
		n.in, err = n.cmd.StdinPipe()
	}
	if err == nil {
		err = n.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a node: %w", err)
	}
	lines := bufio.NewReader(out)
	addr, err := lines.ReadString('\n')
	n.addr = strings.TrimSuffix(addr, "\n")
	go func() { n.read <- readOutcomes(lines, w) }()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a node: %w", err), n.stop())
	}
	return n, nil
}

func readOutcomes(r io.ByteReader, w watch) error {
	for {
		b, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if w != nil {
			w(outcome(b))
		}
	}
}

// begin has it work.
func (n *node) begin() { _, _ = io.WriteString(n.in, "\n") } // one that is gone is noticed when it is stopped

// stop ends it, after every outcome was told.
func (n *node) stop() error {
	err := n.in.Close()
	defer time.AfterFunc(2*patience, func() { _ = n.cmd.Process.Kill() }).Stop()
	err = errors.Join(err, <-n.read)
	if e := n.cmd.Wait(); e != nil {
		err = errors.Join(err, fmt.Errorf("a node: %w\n%s", e, n.said))
	}
	return err
}

// beNode is the process of a node.
func beNode(ctx context.Context, config string, in io.Reader, out io.Writer) error {
	var mu sync.Mutex
	var done []byte
	a, err := newApp(ctx, config, func(what outcome) {
		mu.Lock()
		defer mu.Unlock()
		done = append(done, byte(what))
	})
	if err != nil {
		return err
	}
	defer app.SpareProcessor()()
	lines := bufio.NewReader(in)
	_, err = fmt.Fprintln(out, a.Addr())
	if err == nil {
		_, err = lines.ReadString('\n')
	}
	running, cancel := context.WithCancel(ctx)
	if err != nil {
		cancel()
	}
	go func() {
		_, _ = io.Copy(io.Discard, lines) // its end is what counts
		cancel()
	}()
	ended := make(chan error, 1)
	go func() { ended <- a.Run(running) }()
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	for {
		var over error
		last := false
		select {
		case <-tick.C:
		case over = <-ended:
			last = true
		}
		mu.Lock()
		told := done
		done = nil
		mu.Unlock()
		_, err := out.Write(told)
		if last || err != nil {
			cancel()
			if !last {
				over = <-ended
			}
			return errors.Join(over, err)
		}
	}
}
