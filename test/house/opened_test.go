package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// opens are the calls that open a file, or have a library open one, without asking what it is.
var opens = []string{
	"os.Open", "os.OpenFile", "os.ReadFile", "ioutil.ReadFile", "os.DirFS", "tls.LoadX509KeyPair", "pgx.ParseConfig", "pgconn.ParseConfig", "pgxpool.ParseConfig",
}

// opensItself is who may, and why. What a config names is opened by internal/regular alone.
var opensItself = map[string]string{
	"internal/regular":                                    "the one that asks",
	"internal/pgaddress":                                  "looks at the files of an address first",
	"internal/disk/sync_unix.go":                          "a folder, to make its names durable",
	"test/testserver":                                     "tests",
	"test/bench":                                          "a measurement",
	"test/torture":                                        "a test",
	"internal/store":                                      "the data and what lies beside it, which this program made",
	"internal/store/sqlite":                               "the data and what lies beside it",
	"internal/store/engine":                               "the data",
	"internal/store/calls":                                "a note beside the data",
	"internal/store/erased":                               "a key beside the data",
	"internal/store/place":                                "what lies beside the data, which this program made",
	"internal/delivery/enricher/refreshed.go":             "a note beside the data",
	"internal/transfer/transfer.go":                       "the data and what lies beside it",
	"internal/backup/last.go":                             "a note beside the data",
	"internal/backup/make.go":                             "the data, and the archive that is written",
	"internal/backup/check.go":                            "what is unpacked",
	"internal/certificates/acme.go":                       "certificates that this program keeps beside the data",
	"internal/listeners/socket.go":                        "the folder of its own socket",
	"cmd/nudgewire/internal/connectors/try.go":            "what a person names in a command, who may mean a pipe and can end it",
	"cmd/nudgewire/internal/contacts/contacts.go":         "the same",
	"cmd/nudgewire/internal/connectors/sample.go":         "the same",
	"cmd/nudgewire/internal/messages/errors.go":           "the same",
	"cmd/nudgewire/internal/contacts/consent.go":          "the same",
	"cmd/nudgewire/internal/terminal/socket_discovery.go": "a note beside the data",
	"cmd/nudgewire/internal/demo/jobs.go":                 "a file that is made",
	"cmd/nudgewire/internal/terminal/new_file.go":         "the same",
}

// A path that a config names may be a pipe or a device, or lie on a share that hangs: only internal/regular opens it, so that nobody waits.
func TestFilesOfAConfigAreOpenedInOnePlace(t *testing.T) {
	const root = "../.."
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata" || d.Name() == "tools"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			in, ok := call.X.(*ast.Ident)
			if !ok || !slices.Contains(opens, in.Name+"."+call.Sel.Name) {
				return true
			}
			slashed := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
			for _, one := range []string{slashed, slashed[:max(0, strings.LastIndex(slashed, "/"))]} {
				if opensItself[one] != "" {
					used[one] = true
					return true
				}
			}
			t.Errorf("%s: %s.%s opens whatever is there: use internal/regular", fset.Position(n.Pos()), in.Name, call.Sel.Name)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for one := range opensItself {
		if !used[one] {
			t.Errorf("%s opens nothing itself any more: take it off the list", one)
		}
	}
}
