package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/nudgewire/nudgewire/internal/units"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2) // the flag package has said what is wrong
	default:
		fmt.Fprintln(os.Stderr, "torture:", err)
		os.Exit(1)
	}
}

// errUsage is that of arguments that mean nothing.
var errUsage = errors.New("usage")

// run plays the round that args describe. It says on log what happens, and writes the report to out.
func run(ctx context.Context, args []string, out, log io.Writer) (err error) {
	o := Options{}
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.DurationVar(&o.For, "for", time.Minute, "how long things break")
	flags.Uint64Var(&o.Seed, "seed", 1, "decides the customers, the faults and their order")
	flags.Float64Var(&o.Rate, "rate", DefaultRate, "customers a second")
	flags.StringVar(&o.Storage, "storage", "", "a PostgreSQL `database` that several daemons share (postgres://…); a file of its own when empty")
	flags.IntVar(&o.Nodes, "nodes", 1, "daemons over that database")
	flags.DurationVar(&o.KillEvery, "kill-every", 0, "have nothing else break, and kill one of the daemons that often, ready or not")
	flags.StringVar(&o.Program, "binary", "", "the nudgewire `program` to torture; built from this source when empty")
	keep := flags.Bool("keep", false, "keep the folder with the config, the database and the log")
	asJSON := flags.Bool("json", false, "write the report as JSON")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(log, "torture takes flags alone, and not %q\n", flags.Arg(0))
		flags.Usage()
		return errUsage
	}
	if o.Folder, err = os.MkdirTemp("", "nudgewire-torture-"); err != nil {
		return err
	}
	began := time.Now()
	o.Say = func(format string, args ...any) {
		fmt.Fprintf(log, "%7.1fs  "+format+"\n", append([]any{time.Since(began).Seconds()}, args...)...)
	}
	report, err := o.play(ctx)
	if err != nil || *keep || len(report.Violations) > 0 {
		fmt.Fprintln(log, "kept:", o.Folder)
	} else {
		err = os.RemoveAll(o.Folder)
	}
	if err != nil {
		return err
	}
	return report.write(out, *asJSON)
}

// play builds the program where none was named, and plays the round.
func (o Options) play(ctx context.Context) (_ *Report, err error) {
	if o.Program == "" {
		if o.Program, err = buildProgram(ctx, o.Folder, hasRaceDetector()); err != nil {
			return nil, err
		}
	}
	return Run(ctx, o)
}

// hasRaceDetector reports whether torture itself has the race detector.
func hasRaceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// buildProgram builds nudgewire in a folder, with or without the race detector.
func buildProgram(ctx context.Context, folder string, race bool) (path string, err error) {
	path = filepath.Join(folder, "nudgewire")
	args := []string{"build", fmt.Sprintf("-race=%t", race), "-o", path}
	build := exec.CommandContext(ctx, "go", append(args, "github.com/nudgewire/nudgewire/cmd/nudgewire")...) //nolint:gosec // a path of its own
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build nudgewire: %w\n%s", err, said)
	}
	return path, nil
}

// write writes the report, and is an error where something that must hold did not.
func (r *Report) write(out io.Writer, asJSON bool) error {
	if asJSON {
		if err := json.NewEncoder(out).Encode(r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(out, "seed %d, %s: %s, %d webhooks, %s, %d uploads of %s by hand and %d by the clock\n", r.Seed, r.Took,
			units.Count(r.Customers, "customer"), r.Webhooks, units.Count(r.Messages, "message"), r.Uploads, units.Count(r.Runs, "run"), r.Slots)
		fmt.Fprintf(out, "%s, %s and %s; kills put %d in doubt, %d at most at once; in doubt at the end: %d\n",
			units.Count(r.Kills, "kill"), units.Count(r.Stops, "stop"), units.Count(r.Reloads, "reload"), r.Doubts, r.MaxDoubts, r.InDoubt)
		for _, v := range r.Violations {
			fmt.Fprintf(out, "VIOLATION %s\n", v)
		}
	}
	if n := len(r.Violations); n > 0 {
		return errors.New(units.Count(n, "violation"))
	}
	if !asJSON {
		fmt.Fprintln(out, "0 violations")
	}
	return nil
}
