// Command nudgewire turns what happens in a shop or CRM into messages on a phone.
// Run it without arguments for its commands, or "nudgewire demo" to see it work.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"

	_ "time/tzdata"
)

// contacts' zones must be known on machines without zone files

func main() {
	os.Exit(run())
}

// run is main with an exit status, so that tests can be the program.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second Ctrl-C ends the program at once: the first asked nicely.
	context.AfterFunc(ctx, stop)
	streams := terminal.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	return execute(ctx, streams, os.Args[1:])
}
