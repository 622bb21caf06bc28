package nudgewire_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// floors is the house: a room may import rooms on lower floors only. docs/architecture.md
// draws it. Whatever is under internal/ stands on the ground floor.
var floors = map[string]int{
	"cmd/nudgewire": 7, "test/torture": 7, "test/bench": 7, "test/check": 7, "test/browser": 7,
	"app":    6,
	"config": 5, "metrics": 5, "console": 5,
	"server": 4,
	"sender": 3, "tracker": 3, "enricher": 3, "scheduler": 3, "alerts": 3, "outbox": 3, "sandbox": 3, "backup": 3,
	"triggers": 2, "store": 2, "connectors": 2,
	"expressions": 1, "duerules": 1, "store/keyindex": 1,
	"": 0, "apiclient": 0, "examples": 0, "test/testserver": 0,
}

const module = "github.com/nudgewire/nudgewire"

func floorOf(t *testing.T, path string) int {
	t.Helper()
	room := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	if strings.HasPrefix(room, "internal/") {
		return 0
	}
	floor, known := floors[room]
	if !known {
		t.Fatalf("package %s has no floor: give it one here and in docs/architecture.md", path)
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
			ground := from == 0 && to == 0 && strings.Contains(imp, "/internal/")
			if to >= from && !ground {
				bad = append(bad, room{path, imp})
			}
		}
	}
	return bad
}

func TestImportsPointDown(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...").Output()
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
	up := map[string][]string{module + "/store": {module + "/server"}}
	if len(crossings(t, up)) != 1 {
		t.Error("store importing server was not seen")
	}
	neighbour := map[string][]string{module + "/store": {module + "/triggers"}}
	if len(crossings(t, neighbour)) != 1 {
		t.Error("store importing triggers was not seen")
	}
	down := map[string][]string{module + "/server": {module + "/store", module, "net/http"}}
	if n := len(crossings(t, down)); n != 0 {
		t.Errorf("imports that point down were called %d crossings", n)
	}
}
