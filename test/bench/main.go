package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
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
	if len(args) == 2 && args[0] == nodeArgument {
		return beNode(context.WithoutCancel(ctx), args[1], os.Stdin, os.Stdout)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var (
		rounds   = flags.Int("rounds", 3, "how often each figure is measured; rows show the median")
		duration = flags.Duration("for", 2*time.Second, "how long one measurement takes")
		only     = flags.String("only", "", "measure the figures whose name matches this `regexp`, and their bases")
		big      = flags.Bool("big", false, "also measure webhooks and claims beside 5,000,000 rows, start and memory with 1,000,000 messages, higher rates and more nodes")
		dir      = flags.String("dir", os.TempDir(), "`folder` on the disk to measure; a temporary folder is made in it")
		tables   = flags.Duration("tables", 0, "instead, show what becomes of PostgreSQL's tables under a load that lasts so `long`")
		costs    = flags.Bool("costs", false, "instead, show what an event and a message cost: processor, log and room")
		pages    = flags.Int("pages", 0, "instead, ask each page of the console and each list over so many events and messages, and fail where 95 of 100 take more than 300 ms")
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
	if *costs || *pages > 0 {
		chosen = contests(false)
	}
	if *tables > 0 || *costs || *pages > 0 {
		chosen = slices.DeleteFunc(chosen, func(c *contest) bool { return !needsServer(c) })
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-only %q matches no figure", *only)
	}
	l, err := openLab(*dir, *duration)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	without := ""
	if slices.ContainsFunc(chosen, needsServer) {
		if l.server, err = startServer(ctx, *dir); err != nil {
			return fmt.Errorf("PostgreSQL: %w", err)
		}
		if l.server == nil {
			chosen, without = slices.DeleteFunc(chosen, needsServer), noServer
		}
	}
	machine, err := describeMachine(l.dir)
	if err != nil {
		return err
	}
	if *pages > 0 {
		fmt.Println(machine)
		return l.writePages(ctx, os.Stdout, pattern, *pages, pageTimes)
	}
	if *tables > 0 || *costs {
		if l.server == nil {
			return errors.New(strings.TrimSpace(noServer))
		}
		fmt.Println(machine)
		if *costs {
			return l.writeCosts(ctx, os.Stdout, pattern)
		}
		return l.watchTables(ctx, os.Stdout, *tables, tablesOld)
	}
	readings, err := measure(ctx, l, chosen, *rounds, *profiles)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n%d rounds of %v each, medians; the range is that of the rounds\n%s\n", machine, *rounds, *duration, without)
	return writeTable(os.Stdout, judge(chosen, readings))
}
