package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var (
		rounds   = flags.Int("rounds", 5, "how often each figure is measured; rows show the median")
		duration = flags.Duration("for", 2*time.Second, "how long one measurement takes")
		only     = flags.String("only", "", "measure the figures whose name matches this `regexp`, and their bases")
		big      = flags.Bool("big", false, "also measure claims over 5,000,000 rows, and start and memory with 1,000,000 messages")
		dir      = flags.String("dir", os.TempDir(), "`folder` on the disk to measure; a temporary folder is made in it")
		profiles = flags.String("pprof", "", "write a CPU profile of each measurement's last round into this `folder`, which must be there")
	)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 || *duration <= 0 || flags.NArg() > 0 {
		return errors.New("want at least one round, a duration above zero, and no arguments")
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	chosen := choose(contests(*big), pattern)
	if len(chosen) == 0 {
		return fmt.Errorf("-only %q matches no figure", *only)
	}
	l, err := openLab(*dir, *duration)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	machine, err := describeMachine(l.dir)
	if err != nil {
		return err
	}
	readings, err := measure(ctx, l, chosen, *rounds, *profiles)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n%d rounds of %v each, medians; the range is that of the rounds\n\n", machine, *rounds, *duration)
	return writeTable(os.Stdout, judge(chosen, readings))
}
