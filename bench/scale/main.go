// Command scale works out how many databases and nodes a load needs when contacts are spread over several PostgreSQL databases, from what
// an event and a message were measured to cost on one machine. docs/scale.md explains it. It is arithmetic and a small simulation of how
// evenly hashes spread; with the same flags it always prints the same.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	load, site := usualLoad, usualSite
	flags.Float64Var(&load.Events, "events", load.Events, "events a `second`")
	flags.Float64Var(&load.Messages, "messages", load.Messages, "messages for each event")
	flags.Float64Var(&load.Polls, "polls", load.Polls, "questions about each message's status")
	flags.Float64Var(&load.Elsewhere, "elsewhere", load.Elsewhere, "part of the events that belong to another database than the one where they are known again, from 0 to 1")
	flags.Float64Var(&load.Burst, "burst", load.Burst, "the fullest second holds so many times the `mean`")
	flags.Float64Var(&site.Cores, "cores", site.Cores, "processors of a database server, and of a node")
	flags.Float64Var(&site.Use, "use", site.Use, "part of them that may be busy, from 0 to 1")
	flags.Float64Var(&site.Log, "log", site.Log, "million bytes a second that the disk of a server's log takes")
	as := flags.String("as", "1 node", "costs as they were measured with: "+strings.Join(slices.Sorted(maps.Keys(measured)), "; "))
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || load.Events <= 0 || load.Burst < 1 || load.Elsewhere < 0 || load.Elsewhere > 1 || load.Messages < 0 || load.Polls < 0 ||
		site.Cores <= 0 || site.Use <= 0 || site.Use > 1 || site.Log <= 0 {
		return errors.New("want rates and sizes above zero, a burst of 1 or more, parts between 0 and 1, and no arguments")
	}
	costs, known := measured[*as]
	if !known {
		return fmt.Errorf("-as %q was not measured", *as)
	}
	p, err := work(costs, load, site)
	if err != nil {
		return err
	}
	return p.write(out)
}
