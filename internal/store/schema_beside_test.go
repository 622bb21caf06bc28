package store

import (
	"regexp"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/internal/store/engine"
	"github.com/nudgewire/nudgewire/internal/store/schema"
)

// A node of the version before reads and writes by the names of columns, so new tables, columns with a default, indexes and settings of storage
// change nothing for it. What does is refused here: it takes two versions, one that does without and one that removes.
var notBeside = []struct {
	words *regexp.Regexp
	why   string
}{
	{regexp.MustCompile(`(?i)\bDROP\s+(TABLE|COLUMN|VIEW|SEQUENCE|FUNCTION|CONSTRAINT|DEFAULT)\b`), "the version before still uses it"},
	{regexp.MustCompile(`(?i)\bRENAME\b`), "the version before uses the old name"},
	{regexp.MustCompile(`(?i)\bALTER\s+COLUMN\b`), "the version before writes what it wrote"},
	{regexp.MustCompile(`(?i)\bADD\s+(CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b`), "the version before may write what it forbids"},
	{regexp.MustCompile(`(?i)\bTRUNCATE\b`), "the version before still reads it"},
}

var (
	addsColumn  = regexp.MustCompile(`(?i)\bADD\s+COLUMN\b`)
	makesTable  = regexp.MustCompile(`(?i)^CREATE\s+TABLE\s+(\w+)`)
	uniqueIndex = regexp.MustCompile(`(?i)^CREATE\s+UNIQUE\s+INDEX\s+\w+\s+ON\s+(\w+)`)
)

// besideFaults says what of a step a node of the version before would not bear.
func besideFaults(text string) (faults []string) {
	made := map[string]bool{}
	var plain []string
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "--")
		plain = append(plain, line)
	}
	for sql := range strings.SplitSeq(strings.Join(plain, "\n"), ";") {
		sql = strings.Join(strings.Fields(sql), " ")
		if m := makesTable.FindStringSubmatch(sql); m != nil {
			made[m[1]] = true
			continue
		}
		for _, f := range notBeside {
			if f.words.MatchString(sql) {
				faults = append(faults, sql+": "+f.why)
			}
		}
		upper := strings.ToUpper(sql)
		if addsColumn.MatchString(sql) && strings.Contains(upper, "NOT NULL") && !strings.Contains(upper, "DEFAULT") {
			faults = append(faults, sql+": the version before inserts rows without it")
		}
		if m := uniqueIndex.FindStringSubmatch(sql); m != nil && !made[m[1]] {
			faults = append(faults, sql+": the version before may write what it forbids")
		}
	}
	return faults
}

func TestNodesOfTheVersionBeforeBearEachStep(t *testing.T) {
	for _, one := range schema.Steps[1:] { // they run while a node of the next version changes the tables (docs/cluster.md)
		for _, fault := range besideFaults(engine.PostgresDialect.Schema(one.SQL)) {
			t.Errorf("version %d: %s", one.Version, fault)
		}
	}
	for text, faults := range map[string]int{
		"CREATE TABLE a (b BIGINT NOT NULL CHECK (b > 0)); CREATE UNIQUE INDEX c ON a (b);":                   0,
		"ALTER TABLE runs ADD COLUMN a TEXT NOT NULL DEFAULT ''; CREATE INDEX b ON runs (a);":                 0,
		"ALTER TABLE runs SET (fillfactor = 50); CREATE TRIGGER t AFTER INSERT ON runs EXECUTE FUNCTION f();": 0,
		"-- DROP TABLE runs\nCREATE INDEX b ON runs (a)":                                                      0,
		"ALTER TABLE runs ADD COLUMN a TEXT NOT NULL":                                                         1,
		"ALTER TABLE runs DROP COLUMN reason":                                                                 1,
		"ALTER TABLE runs RENAME COLUMN reason TO why":                                                        1,
		"ALTER TABLE runs ALTER COLUMN reason SET NOT NULL":                                                   1,
		"ALTER TABLE runs ADD CONSTRAINT c CHECK (id > 0)":                                                    1,
		"CREATE UNIQUE INDEX c ON runs (job)":                                                                 1,
		"DROP TABLE runs; DROP VIEW counters":                                                                 2,
	} {
		if got := besideFaults(text); len(got) != faults {
			t.Errorf("%s: %q, want %d faults", text, got, faults)
		}
	}
}
