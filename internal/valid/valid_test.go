package valid

import "testing"

type inner struct {
	Address string `json:"address" validate:"required,http_url"`
}

type outer struct {
	Kind  string `json:"kind" validate:"omitempty,oneof=a b"`
	Inner *inner `json:"inner,omitempty"`
}

// An error names the field by its path on the wire, and never its value.
func TestFieldsAreNamedAsOnTheWire(t *testing.T) {
	for want, v := range map[string]*outer{
		`field "kind" must be one of a, b`:                       {Kind: "secret"},
		`field "inner.address" is missing`:                       {Inner: &inner{}},
		`field "inner.address" must be an http or https address`: {Inner: &inner{"ftp://me:secret@example.com"}},
		"": {Kind: "a", Inner: &inner{"https://example.com"}},
	} {
		got := ""
		if err := Struct(v); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("Struct(%+v) = %q, want %q", v, got, want)
		}
	}
}

// A tag that the library cannot read is no pass.
func TestATagThatCannotBeReadIsNoPass(t *testing.T) {
	if err := Struct(3); err == nil {
		t.Error("a number passed as a struct")
	}
}
