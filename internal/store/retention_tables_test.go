package store

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"
)

// The page of tables says of every table of both engines when its rows leave, and of no other.
func TestThePageOfTablesKnowsEveryTable(t *testing.T) {
	tables := map[string]bool{goose.DefaultTablename: true}
	for _, one := range steps {
		for _, m := range regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`).FindAllStringSubmatch(postgresDialect.schema(one.sql), -1) {
			tables[m[1]] = true
		}
	}
	page, err := os.ReadFile("../../docs/tables.md")
	failIf(t, err)
	var told, there []string
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
			told = append(told, name[1])
		}
	}
	for name := range tables {
		there = append(there, name)
	}
	slices.Sort(told)
	slices.Sort(there)
	if diff := cmp.Diff(there, told); diff != "" {
		t.Errorf("tables (-there +told):\n%s", diff)
	}
	if len(there) < 50 {
		t.Errorf("only %d tables were found", len(there))
	}
}
