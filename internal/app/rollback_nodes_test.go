//go:build unix

package app_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

// Two nodes read one file. A rollback on one of them is for that one; the other goes on with the config that it has, both are told, and a reload of
// the other takes up the same version.
func TestARollbackOnOneOfTwoNodesWithOneFile(t *testing.T) {
	t.Parallel()
	_, address := onPostgres(t)
	folders := []string{t.TempDir(), t.TempDir()}
	var all []*house
	for _, folder := range folders {
		all = append(all, open(t, options{storage: address, config: with("migrate"), folder: folder, env: func(name string) (string, bool) {
			if name == "NODE_FOLDER" {
				return folder, true
			}
			return testEnv(name)
		}}))
	}
	one, two := all[0], all[1]
	text, err := os.ReadFile(one.file())
	if err != nil {
		t.Fatal(err)
	}
	one.write(strings.Replace(string(text), folders[0], `"${NODE_FOLDER}"`, 1))
	if err := errors.Join(os.Remove(two.file()), os.Symlink(one.file(), two.file())); err != nil {
		t.Fatal(err)
	}
	versions := func() (all []string) { return []string{one.status().Daemon.Config, two.status().Daemon.Config} }
	differ := func(h *house) bool {
		return slices.ContainsFunc(h.status().Troubles, func(one messaging.Trouble) bool {
			return one.Code == messaging.TroubleNodes && one.Subject == "config"
		})
	}
	one.reload()
	two.reload()
	first := versions()[0]
	one.threeCarts()
	due := one.due()
	one.edit("wait: 1h", "wait: 2h")
	one.reload()
	two.reload()
	second := versions()[0]
	same(t, "the versions", versions(), second, second)

	one.rollBack(first)
	same(t, "the versions after the rollback", versions(), first, second)
	one.eventually("both are told", func() bool { return differ(one) && differ(two) })
	if now := one.due(); !slices.Equal(now, due) {
		t.Errorf("due at %v, were %v", now, due)
	}
	plan, err := server.PlanConfig.Call(t.Context(), two.ask, server.PlanRequest{})
	if err != nil || plan.Version != first || len(plan.Edits) != 1 {
		t.Errorf("the other node's plan: %+v, %v", plan, err)
	}
	two.reload()
	same(t, "the versions after its reload", versions(), first, first)
	one.eventually("nobody is told any more", func() bool { return !differ(one) && !differ(two) })
	if now := two.due(); !slices.Equal(now, due) {
		t.Errorf("due at %v, were %v", now, due)
	}
	// The other way round it is the same file, by its link.
	two.rollBack(second)
	if info, err := os.Lstat(two.file()); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	one.reload()
	same(t, "the versions at last", versions(), second, second)
}
