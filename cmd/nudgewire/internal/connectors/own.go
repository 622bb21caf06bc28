package connectors

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/connectors/mapping"
)

//go:embed own.md
var ownPage string

// docsOwn is the page about connectors that are no preset: the text as it is written, with the
// names and kinds that the program knows.
func docsOwn() string {
	var targets, kinds strings.Builder
	for _, t := range mapping.MapTargets() {
		fmt.Fprintf(&targets, "| `%s` | %s | %s |\n", t.Name, quoted(t.Short), t.Is)
	}
	for _, k := range connectors.CanonicalKinds() {
		fmt.Fprintf(&kinds, "| `%s` | %s |\n", k.Kind, k.Says)
	}
	return strings.NewReplacer("TARGETS\n", targets.String(), "KINDS\n", kinds.String()).Replace(ownPage)
}
