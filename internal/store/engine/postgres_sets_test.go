package engine

import (
	"slices"
	"testing"
)

func TestWhatHasNoSetGoesByItself(t *testing.T) {
	two := []any{"", int64(0)}
	for name, one := range map[string]string{
		"an argument that changes the row which is there": `INSERT INTO c (a, b) VALUES ($1, 1) ON CONFLICT (a) DO UPDATE SET b = $2`,
		"a constraint by its name":                        `INSERT INTO c (a, b) VALUES ($1, $2) ON CONFLICT ON CONSTRAINT k DO UPDATE SET b = excluded.b`,
		"a key that no argument fills":                    `INSERT INTO c (a, b, d) VALUES ('x', $1, $2) ON CONFLICT (a) DO UPDATE SET b = excluded.b`,
		"a key that is worked out of an argument":         `INSERT INTO c (a, b) VALUES (lower($1), $2) ON CONFLICT (a) DO UPDATE SET b = excluded.b`,
		"a value with a comma":                            `INSERT INTO c (a, b) VALUES ($1, greatest($2, 0)) ON CONFLICT (a) DO UPDATE SET b = excluded.b`,
		"rows that are asked for":                         `INSERT INTO c (a, b) VALUES ($1, $2) RETURNING b`,
		"rows from elsewhere":                             `INSERT INTO c (a, b) SELECT a, $2 FROM d WHERE e = $1`,
		"two rows":                                        `INSERT INTO c (a, b) VALUES ($1, $2), ($1, 0)`,
	} {
		if form := setOf(one, two); form.sql != "" {
			t.Errorf("%s: %s", name, form.sql)
		}
	}
}

func TestARowThatIsMeantTwice(t *testing.T) {
	form := setOf(`INSERT INTO c (a, b, d) VALUES ($1, 0, $2) ON CONFLICT (d, a, b) DO UPDATE SET d = excluded.d`, []any{"", int64(0)})
	if form.sql == "" || !slices.Equal(form.key, []int{1, 0}) {
		t.Fatalf("%+v", form)
	}
	row := func(a string, d int64) []any { return []any{a, d} }
	// The texts and numbers of the first two read alike one behind the other.
	once := [][]any{row("1", 11), row("11", 1), row("x", 1), row("x", 2), row("y", 1)}
	if _, ok := form.arrays(once); !ok {
		t.Error("each is meant once, and they do not go as one")
	}
	if out, ok := form.arrays(append(once, row("x", 1))); ok {
		t.Errorf("one is meant twice: %v", out)
	}
}

// A value that is not of its column's type is never written as zero: such a row goes alone.
func TestASetTakesNoValueOfAnotherType(t *testing.T) {
	f := setOf("SELECT $1, $2, $3", []any{int64(0), "", []byte{}})
	whole := []any{int64(1), "a", []byte("b")}
	if out, ok := f.arrays([][]any{whole, whole}); !ok || len(out) != 3 {
		t.Errorf("arrays %v, %v", out, ok)
	}
	for _, odd := range [][]any{{1, "a", []byte("b")}, {int64(1), []byte("a"), []byte("b")}, {int64(1), "a", "b"}, {int64(1), nil, []byte("b")}} {
		if out, ok := f.arrays([][]any{whole, odd}); ok {
			t.Errorf("%v makes %v", odd, out)
		}
	}
}
