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
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
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
		asJSON   = flags.Bool("json", false, "print one JSON object instead of the table")
		dir      = flags.String("dir", os.TempDir(), "`folder` on the disk to measure; a temporary folder is made in it")
		profile  = flags.String("pprof", "", "write a CPU profile of each figure's last round into this `folder`")
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
	lab, err := openLab(ctx, *dir, *duration, *profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.close()) }()

	chosen := choose(contests(*big), pattern)
	if len(chosen) == 0 {
		return fmt.Errorf("-only %q matches no figure", *only)
	}
	m, err := look(lab.dir)
	if err != nil {
		return err
	}
	readings, err := measure(ctx, lab, chosen, *rounds)
	if err != nil {
		return err
	}
	report := Report{Machine: m, Rounds: *rounds, For: duration.String(), Rows: judge(chosen, readings)}
	if *asJSON {
		return report.writeJSON(os.Stdout)
	}
	return report.writeTable(os.Stdout)
}
