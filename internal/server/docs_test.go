package server_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/server"
)

// docs/api.md has the table of routes, as it is.
func TestTheDocumentHasEveryRoute(t *testing.T) {
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, rt := range server.Routes() {
		fmt.Fprintf(&want, "| `%s %s` | %s | %s |\n", rt.Method, rt.Path, cmp.Or(string(rt.Scope), "any"), rt.Words)
	}
	if !strings.Contains(string(page), "|---|---|---|\n"+want.String()+"\n") {
		t.Errorf("docs/api.md does not have this table of routes:\n%s", want.String())
	}
}
