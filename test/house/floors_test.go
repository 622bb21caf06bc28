// Package house_test holds the house to its plan: which folder may import which, and who opens files.
package house_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// floors is the house: a room may import rooms on lower floors only. docs/internals/architecture.md
// draws it. What it does not name and lies under internal/ stands on the ground floor, and knows nothing of messages.
var floors = map[string]int{
	"cmd/nudgewire":                 14,
	"cmd/nudgewire/internal/access": 13, "cmd/nudgewire/internal/connectors": 13, "cmd/nudgewire/internal/contacts": 13, "cmd/nudgewire/internal/data": 13, "cmd/nudgewire/internal/demo": 13,
	"cmd/nudgewire/internal/events": 13, "cmd/nudgewire/internal/jobs": 13, "cmd/nudgewire/internal/messages": 13, "cmd/nudgewire/internal/operate": 13, "cmd/nudgewire/internal/rules": 13, "cmd/nudgewire/internal/setup": 13,
	"cmd/nudgewire/internal/story":    12,
	"cmd/nudgewire/internal/terminal": 11, "test/torture": 11, "test/bench": 11, "test/check": 11, "test/browser": 11,
	"internal/app":                10,
	"cmd/nudgewire/internal/exit": 9,
	"internal/config":             9, "internal/metrics": 9, "internal/console": 9, "internal/ruletest": 9,
	"internal/server":   8,
	"internal/preview":  7,
	"internal/webhooks": 6, "internal/simulation": 6, "internal/signin": 6,
	"internal/delivery/sender": 5, "internal/delivery/tracker": 5, "internal/delivery/enricher": 5, "scheduler": 5, "internal/alerts": 5, "internal/outbox": 5, "internal/sandbox": 5, "internal/backup": 5, "internal/report": 5, "internal/audit": 5, "internal/history": 5, "internal/contacts": 5, "internal/drift": 5, "internal/auth": 5, "internal/privacy": 5, "internal/transfer": 5,
	"internal/triggers": 4, "internal/store": 4, "connectors": 4,
	"internal/store/labels": 3, "internal/store/outgoing": 3, "internal/store/peers": 3, "internal/store/place": 3, "internal/store/spent": 3,
	"internal/store/chain": 2, "internal/store/commit": 2, "internal/store/lowwater": 2, "internal/store/numbers": 2, "internal/store/reach": 2, "internal/store/readers": 2, "internal/store/schema": 2, "internal/store/stored": 2, "internal/store/tally": 2, "internal/store/waits": 2,
	"connectors/mapping": 1, "connectors/optout": 1, "connectors/problems": 0, "connectors/signatures": 0,
	"internal/expressions": 1, "internal/duerules": 1, "internal/store/engine": 1, "internal/store/calls": 1, "internal/store/erased": 1,
	"internal/messaging": 0, "apiclient": 0, "examples": 0, "test/testserver": 0,
}

const (
	module = "github.com/nudgewire/nudgewire"
	nouns  = module + "/internal/messaging"
)

func floorOf(t *testing.T, path string) int {
	t.Helper()
	room := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	floor, known := floors[room]
	if !known && !strings.HasPrefix(room, "internal/") {
		t.Fatalf("package %s has no floor: give it one here and in docs/internals/architecture.md", path)
	}
	return floor
}

type room struct{ path, imports string }

// crossings lists the imports that do not lead downwards.
func crossings(t *testing.T, packages map[string][]string) []room {
	t.Helper()
	var bad []room
	for path, imports := range packages {
		for _, imp := range imports {
			if imp != module && !strings.HasPrefix(imp, module+"/") {
				continue
			}
			from, to := floorOf(t, path), floorOf(t, imp)
			ground := from == 0 && to == 0 && strings.Contains(imp, "/internal/") && imp != nouns
			if to >= from && !ground {
				bad = append(bad, room{path, imp})
			}
		}
	}
	return bad
}

func inRoot(c *exec.Cmd) *exec.Cmd {
	c.Dir = "../.."
	return c
}

func TestImportsPointDown(t *testing.T) {
	out, err := inRoot(exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string][]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read go list: %v", err)
		}
		packages[p.ImportPath] = p.Imports
	}
	if len(packages) < 10 {
		t.Fatalf("go list named only %d packages", len(packages))
	}
	for _, bad := range crossings(t, packages) {
		t.Errorf("%s imports %s, which is not on a lower floor", bad.path, bad.imports)
	}
}

func TestTheFloorTestSeesACrossing(t *testing.T) {
	up := map[string][]string{module + "/internal/store": {module + "/internal/server"}}
	if len(crossings(t, up)) != 1 {
		t.Error("store importing server was not seen")
	}
	neighbour := map[string][]string{module + "/internal/store": {module + "/internal/triggers"}}
	if len(crossings(t, neighbour)) != 1 {
		t.Error("store importing triggers was not seen")
	}
	down := map[string][]string{module + "/internal/server": {module + "/internal/store", nouns, "net/http"}}
	if n := len(crossings(t, down)); n != 0 {
		t.Errorf("imports that point down were called %d crossings", n)
	}
}
