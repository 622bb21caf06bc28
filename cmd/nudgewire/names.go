package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandNames lists the commands directly below cmd.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return names
}

// flagNames lists the flags that cmd takes, its own and the global ones.
func flagNames(cmd *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return names
}
