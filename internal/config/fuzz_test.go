package config

import (
	"io"
	"os"
	"strings"
	"testing"
)

// FuzzParse holds that no text makes the loader fail otherwise than by problems, each at a
// place in the file, and that no secret gets out.
func FuzzParse(f *testing.F) {
	f.Add(base)
	f.Add(Starter())
	for _, name := range []string{"../../config.yaml", "testdata/fifteen.yaml"} {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(src))
	}
	f.Fuzz(func(t *testing.T, src string) {
		if strings.Contains(src, "file:") {
			return // would read what it names
		}
		c, ps := Parse("fuzz.yaml", []byte(src), environ)
		lines := strings.Count(src, "\n") + strings.Count(src, "\r") + 1
		for _, p := range ps {
			if p.Msg == "" || p.Line < 0 || p.Line > lines || (p.Line > 0 && p.Col < 1) {
				t.Errorf("problem %+v", p)
			}
			if strings.Contains(p.Error()+p.Source, "leaked-value") && !strings.Contains(src, "leaked-value") {
				t.Errorf("a secret in %q", p.Error())
			}
		}
		if ps.Errors() == 0 && (c.Triggers == nil || c.Storage == "" || c.API.Key.IsZero()) {
			t.Errorf("a good config is not ready: %+v", c)
		}
		if c.doc.Root() == nil {
			return
		}
		if err := c.Print(io.Discard); err != nil {
			t.Error(err)
		}
	})
}
