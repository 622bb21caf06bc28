package connectors

import (
	"reflect"
	"slices"
	"strings"
)

// usedKeys are the keys of verify that each kind looks at, beside kind and name. Any other one is an error: who wrote
// signature under kind token believes that signatures are checked.
var usedKeys = map[string][]string{
	"signed":            {"algorithm", "signature", "parts", "timestamp", "freshness", "id", "key", "url", "body_required", "secret", "secrets"},
	"standard_webhooks": {"headers", "timestamp", "key", "body_required", "secret", "secrets"},
	"token":             {"from", "field", "prefix", "secret", "secrets"},
	"basic":             {"user", "password", "secret", "secrets"},
	"jwt":               {"algorithm", "key", "claims", "body_hash", "from", "field", "prefix", "secret", "secrets"},
	"none":              {},
	"any_of":            {"any_of", "prefer", "secret", "secrets"},
	"all_of":            {"all_of", "secret", "secrets"},
}

// Keys that count beside those of a kind: of the whole connector, and of a member of any_of.
var (
	outerKeys  = []string{"allow_ips", "mode"}
	memberKeys = []string{"when"}
)

// usedOnlyWith are keys that a kind looks at in some of its forms alone.
var usedOnlyWith = []struct {
	kind, key string
	used      func(*Verify) bool
	hint      string
}{
	{"token", "field", func(v *Verify) bool { return v.From != fromBearerPlace && v.From != fromPathPlace }, "from: header, query and body have a field"},
	{"token", "prefix", func(v *Verify) bool { return v.From == fromHeaderPlace }, "from: header has a prefix"},
	{"jwt", "field", func(v *Verify) bool { return v.From != "" && v.From != fromBearerPlace }, "from: header, query and body have a field"},
	{"jwt", "prefix", func(v *Verify) bool { return v.From == fromHeaderPlace }, "from: header has a prefix"},
	{"jwt", "body_hash", func(v *Verify) bool { return v.From != fromBodyPlace }, "from: bearer, header and query can have one: a JWT in the body cannot hold its hash"},
	{"signed", "id", func(v *Verify) bool { return slices.Contains(v.Parts, "id") }, "write id among the parts, where the sender signs it"},
	{"signed", "url", func(v *Verify) bool { return slices.Contains(v.Parts, "url") }, "write url among the parts, where the sender signs it"},
}

// unused reports each key of v that is set and that its kind does not look at.
func (k *compiler) unused(path, kind string, v *Verify) {
	used := slices.Concat(usedKeys[kind], []string{"kind", "name"}, memberKeys)
	if path == "verify" {
		used = slices.Concat(usedKeys[kind], []string{"kind", "name"}, outerKeys)
	}
	for _, key := range setKeys(reflect.ValueOf(*v)) {
		if !slices.Contains(used, key) {
			k.Add(path+"."+key, "is not looked at: this verifier is of the kind "+kind, whoUses(key))
			continue
		}
		for _, rule := range usedOnlyWith {
			if rule.kind == kind && rule.key == key && !rule.used(v) {
				k.Add(path+"."+key, "is not looked at here", rule.hint+", or take it out")
			}
		}
	}
}

// whoUses says which kinds look at a key.
func whoUses(key string) string {
	var kinds []string
	for _, kind := range verifierKinds() {
		if slices.Contains(usedKeys[kind.name], key) {
			kinds = append(kinds, kind.name)
		}
	}
	switch {
	case slices.Contains(outerKeys, key):
		return "write it under the connector's verify itself: it is about the whole connector"
	case slices.Contains(memberKeys, key):
		return "only a member of any_of has one"
	}
	return "take it out, or write kind: " + strings.Join(kinds, " or ")
}

// setKeys are the keys in YAML of the fields of a struct that are set, those of its inline parts among them.
func setKeys(v reflect.Value) (out []string) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, option, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch set := v.Field(i); {
		case option == "inline":
			out = append(out, setKeys(set)...)
		case name != "" && !set.IsZero() && (set.Kind() != reflect.Slice || set.Len() > 0):
			out = append(out, name)
		}
	}
	return out
}
