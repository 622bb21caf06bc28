package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/config"
)

// unlisted are words of usages whose values are too many to list, new, or files, which the shell completes.
var unlisted = strings.Fields("FILE DIR FILE|FOLDER PHONE TEXT ID EVENT PART command")

// storedAlone are those that only data has; testdata/completion.txtar and package terminal have them.
var storedAlone = strings.Fields("RUN VERSION ID|NAME")

// free are flags whose values are numbers, times, words of one's own, or files.
var free = strings.Fields(`at before campaign column country deadline document due-before event expires filename from header image
	junit key known language last limit listen lost-at message min-wait number only output phone proof reason rules sample show since step text
	text-path to topic until url var video seed points price for against`)

// What has a name, and what has few values, is completed wherever a command takes it.
func TestNamesAreCompletedEverywhere(t *testing.T) {
	c := &terminal.CLI{}
	root := newRoot(c)
	c.Config = filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(c.Config, []byte(config.Starter()+`
alerts: [{name: night shift, when: all, webhook: "https://ops.example.com/hook", secret: "${NOT_SET_HERE}"}]
webhooks_out: [{name: crm, url: "https://crm.example.com/hook", secret: "${NOT_SET_HERE}", events: [message.delivered]}]
jobs: {winback: {cron: "0 10 * * MON", source: {csv: list.csv}, columns: {phone: phone}, campaign: {name: News, template_id: 1}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if !cmd.Runnable() || cmd.HasParent() && cmd.Parent().Name() == "completion" {
			return
		}
		for i, word := range strings.Fields(cmd.Use)[1:] {
			if strings.HasPrefix(word, "--") || strings.HasPrefix(word, "[all|") {
				break // flags, and what terminal.CompleteScope does
			}
			word = strings.Trim(word, "[].")
			known := slices.Contains(unlisted, word) || slices.Contains(storedAlone, word) || cmd.Parent().Name() == "user" || word == "NAME" && slices.Contains([]string{"add", "create"}, cmd.Name())
			if word == "" || known {
				continue
			}
			if names, _ := cmd.ValidArgsFunction(cmd, make([]string, i), ""); len(names) == 0 {
				t.Errorf("%s: nothing completes %s", cmd.CommandPath(), word)
			}
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if _, has := cmd.GetFlagCompletionFunc(f.Name); has || f.Value.Type() != "string" || slices.Contains(free, f.Name) {
				return
			}
			t.Errorf("%s: nothing completes --%s", cmd.CommandPath(), f.Name)
		})
	}
	walk(root)
}
