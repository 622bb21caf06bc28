package yamlpos

import (
	"fmt"
	"strings"
	"testing"
)

func TestOffsetFindsTheByteInTheFile(t *testing.T) {
	// In every source the value's text contains one X; Offset of it must be where X stands.
	tests := map[string]string{
		"plain":                         "a: foo X bar\n",
		"plain behind wide letters":     "ü: é日 X bar\n",
		"plain over lines":              "a: foo\n  bar\n\n  baz X\n",
		"plain behind anchor and tag":   "a: &n !!str foo X\n",
		"single quoted":                 "a: 'it''s an X'\n",
		"double quoted":                 `a: "q \" \u00e9 \x41 \n\tX"` + "\n",
		"double quoted over lines":      "a: \"foo\n  bar \\\n  baz X\"\n",
		"single quoted over blank line": "a: 'foo\n\n  bar X'\n",
		"literal block":                 "a: |\n   first\n\n     second X\n   third\n",
		"literal block with strip":      "a: |-\n  X\n",
		"folded block":                  "a: >-\n  one\n  two X\n",
		"in a list":                     "a:\n  - 'b'\n  - \"c 'X'\"\n",
		"in a flow mapping":             "a: {b: 'c', d: \"e X\"}\n",
	}
	for name, src := range tests {
		t.Run(name, func(t *testing.T) {
			doc := Options{}.Parse("f.yaml", []byte(src))
			if doc.Root() == nil {
				t.Fatal(doc.Problems())
			}
			want := ""
			for i, line := range strings.Split(src, "\n") {
				if at := strings.IndexByte(line, 'X'); at >= 0 {
					want = fmt.Sprintf("%d:%d", i+1, len([]rune(line[:at]))+1)
				}
			}
			found := false
			every(doc.Root(), func(n *Node) {
				at := strings.IndexByte(n.Text(), 'X')
				if at < 0 {
					return
				}
				found = true
				line, col := n.Offset(at)
				if got := fmt.Sprintf("%d:%d", line, col); got != want {
					t.Errorf("Offset(%d) of %q is %s, want %s", at, n.Text(), got, want)
				}
			})
			if !found {
				t.Error("no value holds an X")
			}
		})
	}
}

func TestOffsetOutsideTheTextIsWhereTheValueBegins(t *testing.T) {
	doc := Options{}.Parse("f.yaml", []byte("a: foo\nb: [x]\nc: ''\n"))
	for path, want := range map[string]string{"a": "1:4", "b": "2:4", "c": "3:4"} {
		line, col := doc.Node(path).Offset(-1)
		if got := fmt.Sprintf("%d:%d", line, col); got != want {
			t.Errorf("%s: Offset(-1) is %s, want %s", path, got, want)
		}
	}
	if line, col := doc.Node("a").Offset(99); line != 1 || col != 7 {
		t.Errorf("Offset(99) is %d:%d, want the end, 1:7", line, col)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a: 'it''s X'\nb: &x [1, *x]\n")
	f.Add("a: |2-\n   x\n\n  y\n<<: {z: >\n  f\n}\n")
	f.Add("\"a\\u00e9b\": \"c\\\n  d\\x41\"\n")
	f.Add("a: ${X}\r\n- \t&a !b c\n...\n---\n")
	f.Fuzz(func(t *testing.T, src string) {
		var v outer
		doc, ps := Decode("f.yaml", []byte(src), &v)
		var b strings.Builder
		if err := ps.Render(&b, true); err != nil {
			t.Fatal(err)
		}
		if doc.Root() == nil && len(ps) == 0 {
			t.Error("no tree and no problem")
		}
		if doc.Root() == nil {
			return
		}
		visited := 0
		every(doc.Root(), func(n *Node) {
			if visited++; visited > 500 {
				return // aliases may make many of few
			}
			for i := range min(len(n.Text()), 50) + 2 {
				if line, col := n.Offset(i - 1); line < 1 || line > len(doc.lines) || col < 1 {
					t.Errorf("Offset(%d) of %q is %d:%d", i-1, n.Text(), line, col)
				}
			}
		})
	})
}
