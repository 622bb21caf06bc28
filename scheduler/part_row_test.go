package scheduler

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire"
)

func TestEveryCellOfARowIsWritten(t *testing.T) {
	for name, tt := range map[string]struct {
		header []string
		rows   [][]string
		want   string
	}{
		"phones alone":     {[]string{"phone"}, [][]string{{"447700900123"}, {"447700900124"}}, "phone\n447700900123\n447700900124\n"},
		"an empty one":     {[]string{"phone", "var_1", "var_2"}, [][]string{{"447700900123", "", "x"}, {"447700900124", "y", ""}}, "phone,var_1,var_2\n447700900123,,x\n447700900124,y,\n"},
		"signs of the CSV": {[]string{"phone", "var_1"}, [][]string{{"447700900123", "a, \"b\"\nc"}}, "phone,var_1\n447700900123,\"a, \"\"b\"\"\nc\"\n"},
		"JSON stays text":  {[]string{"phone", "var_1"}, [][]string{{"447700900123", `["a"]`}}, "phone,var_1\n447700900123,\"[\"\"a\"\"]\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			out, err := newPartWriter(makerIn(t.Context(), onDisk, dir), 1<<20, tt.header, nil, func(*nudgewire.Part, int) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			b := newBatch(len(tt.header) - 1)
			for _, row := range tt.rows {
				b.sent, b.vars = append(b.sent, row[0]), append(b.vars, row[1:]...)
			}
			if err := newEncoder(len(tt.header)-1, out).write(b); err != nil {
				t.Fatal(err)
			}
			if err := out.finish(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, partName(1)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
