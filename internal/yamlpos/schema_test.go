package yamlpos

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSchemaFollowsTheTags(t *testing.T) {
	type small struct {
		Mode  string         `yaml:"mode" validate:"oneof=live off" doc:"How." default:"live"`
		List  []string       `yaml:"list" example:"[a]"`
		Rules Ordered[inner] `yaml:"rules" validate:"required"`
	}
	got, err := json.MarshalIndent(Schema(&small{}), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"$schema": "http://json-schema.org/draft-07/schema#"`,
		`"additionalProperties": false`,
		`"description": "How."`, `"default": "live"`, `"enum": [`,
		`"required": [`, `"rules"`, `"timeout": {`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestReferenceListsEveryKey(t *testing.T) {
	type small struct {
		Mode  string         `yaml:"mode" validate:"oneof=live off" doc:"How: a|b." default:"live"`
		Rules Ordered[inner] `yaml:"rules" doc:"Rules."`
	}
	want := "| Key | What it is | Default |\n| --- | --- | --- |\n" +
		"| `mode` | How: a\\|b. One of `live`, `off`. | `live` |\n" +
		"| `rules` | Rules. |  |\n" +
		"| `rules.<name>.url` |  Example: `https://example.com` | required |\n" +
		"| `rules.<name>.timeout` | ; it is between 100ms and 1h. | `10s` |\n" +
		"| `rules.<name>.retries` | ; it is between 0 and 10. | `3` |\n"
	if diff := cmp.Diff(want, Reference(small{})); diff != "" {
		t.Errorf("Reference (-want +got):\n%s", diff)
	}
}
