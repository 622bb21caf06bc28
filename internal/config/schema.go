package config

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// Schema is the JSON Schema of config.yaml (draft-07), for editors that complete keys and
// mark mistakes while typing. "check" knows more than a schema can say.
func Schema() []byte {
	return schemaOf(file{}, "config.schema.json", "nudgewire config.yaml")
}

// IncludedSchema is the JSON Schema of the files that a config includes.
func IncludedSchema() []byte {
	return schemaOf(part{}, "included.schema.json", "a file that nudgewire's config.yaml includes")
}

func schemaOf(v any, id, title string) []byte {
	s := yamlpos.Schema(v)
	s["$id"] = "https://github.com/nudgewire/nudgewire/" + id
	s["title"] = title
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic(err) // made of maps, lists and texts only
	}
	return append(out, '\n')
}

// RuleWords are the keys of triggers as a tree, for an editor of rules in a page: of each what it means (d), what it may be (v) and the keys
// below it (k), where * is any name. They are made once.
var RuleWords = sync.OnceValue(func() []byte {
	type section struct {
		Triggers map[string]any `json:"triggers"`
	}
	var s struct {
		Properties section `json:"properties"`
	}
	err := json.Unmarshal(Schema(), &s)
	out, bad := json.Marshal(map[string]any{"k": map[string]any{"triggers": wordsOf(s.Properties.Triggers)}})
	if err != nil || bad != nil {
		panic("the schema is made here, and is JSON")
	}
	return out
})

// wordsOf is what an editor needs of a schema. Lists and choices between forms have the words of each.
func wordsOf(schema map[string]any) map[string]any {
	keys, out := map[string]any{}, map[string]any{}
	var values []any
	var take func(map[string]any)
	take = func(one map[string]any) {
		some, _ := one["enum"].([]any)
		for _, v := range some {
			if text, is := v.(string); is && !slices.Contains(values, v) {
				values = append(values, text)
			}
		}
		below, _ := one["properties"].(map[string]any)
		for name, v := range below {
			if _, known := keys[name]; !known {
				keys[name] = wordsOf(v.(map[string]any))
			}
		}
		if each, is := one["additionalProperties"].(map[string]any); is {
			keys["*"] = wordsOf(each)
		}
		if items, is := one["items"].(map[string]any); is {
			take(items)
		}
		forms, _ := one["anyOf"].([]any)
		for _, form := range forms {
			take(form.(map[string]any))
		}
	}
	take(schema)
	if words, _ := schema["description"].(string); words != "" {
		out["d"], _, _ = strings.Cut(words, ". ")
	}
	if len(values) > 0 {
		out["v"] = values
	}
	if len(keys) > 0 {
		out["k"] = keys
	}
	return out
}

// Reference is docs/config.md: an index, the friendly types, and every key with its meaning and default, a table a section.
func Reference() []byte {
	rows := strings.SplitAfter(aPage.ReplaceAllString(yamlpos.Reference(file{}), "[$0]($1)"), "\n")
	head := strings.Join(rows[:2], "")
	var index []string
	var tables strings.Builder
	for _, row := range rows[2:] {
		if m := aSection.FindStringSubmatch(row); m != nil {
			index = append(index, "["+m[1]+"](#"+m[1]+")")
			tables.WriteString("\n## " + m[1] + "\n\n" + head)
		}
		tables.WriteString(row)
	}
	return []byte(fmt.Sprintf(referenceHead, strings.Join(index, ", ")) + tables.String())
}

// aSection is the row of a key at the top of the file.
var aSection = regexp.MustCompile("^\\| `([a-z_]+)` ")

// aPage is a page of docs/ that is named; the reference stands beside it.
var aPage = regexp.MustCompile(`docs/([\w-]+\.md)`)

const referenceHead = `# config.yaml: every key

Made by ` + "`nudgewire schema --docs`" + ` from the program itself; do not edit. The annotated
[config.yaml](../config.yaml) shows the keys in use, ` + "`nudgewire check`" + ` says what is wrong with yours.

[How values are written](#how-values-are-written), and the sections: %s.

## How values are written

| Kind | Written as | Notes |
| --- | --- | --- |
| duration | ` + "`90s` `45m` `2h` `3d` `1w` `1h30m`" + ` | a day is 24 hours |
| size | ` + "`500kB` `10MB` `1MiB`" + ` | 10MB is 10,000,000 bytes |
| rate | ` + "`20/s` `600/min` `1000/h`" + ` | |
| limit | ` + "`2 per day` `6 per week` `10 per month` `2 per 24h` `6 per 7d`" + ` | by the calendar, or in any such time |
| hours | ` + "`21:00-09:00` `mon-fri 21:00-09:00` `sun 00:00-24:00`" + ` | over midnight, too; ` + "`off`" + ` for none |
| yes or no | ` + "`true` `false` `yes` `no` `on` `off`" + ` | in any case |
| list | ` + "`[a, b]`" + ` or lines with ` + "`- `" + ` | a single value is a list of one |
| secret | ` + "`${NAME}` `${NAME:-otherwise}` `${file:/path}` `${credential:NAME}` `${command:NAME}`" + ` | replaced inside any value, after the file was parsed: by a variable, a file, a credential that systemd gives the service, or what the command prints that the variable ` + "`NUDGEWIRE_SECRET_COMMAND`" + ` names; ` + "`$$`" + ` is one ` + "`$`" + ` |

Text is kept as it is written: ` + "`0123`, `+4479` and `1.10`" + ` need no quotes. Anchors, aliases and ` + "`<<`" + ` work.
A file is one document of at most 1 MB.
`
