package connectors

import (
	"slices"

	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// over is what a user's entry makes of the preset it starts from: what it sets takes the
// preset's place, field by field; maps are joined key by key.
func (c Config) over(base Config) Config {
	out := base
	out.Preset = c.Preset
	text(&out.Title, c.Title)
	text(&out.Docs, c.Docs)
	text(&out.Setup, c.Setup)
	text(&out.Verified, c.Verified)
	text(&out.Duties, c.Duties)
	text(&out.OptOut, c.OptOut)
	out.Secret, out.Secrets, out.VerifyToken = c.Secret, c.Secrets, c.VerifyToken
	text(&out.Defaults.Country, c.Defaults.Country)
	text(&out.Defaults.Language, c.Defaults.Language)
	text(&out.Defaults.Timezone, c.Defaults.Timezone)
	text(&out.Address, c.Address)
	list(&out.Methods, c.Methods)
	out.Verify = c.Verify.over(base.Verify)
	list(&out.Handshake, c.Handshake)
	text(&out.Body.Content, c.Body.Content)
	if c.Body.Accept != nil { // [] takes anything
		out.Body.Accept = c.Body.Accept
	}
	text(&out.Body.Empty, c.Body.Empty)
	text(&out.Body.FormNesting, c.Body.FormNesting)
	text(&out.Body.Repeated, c.Body.Repeated)
	list(&out.Body.JSONIn, c.Body.JSONIn)
	if c.Body.MaxBytes != 0 {
		out.Body.MaxBytes = c.Body.MaxBytes
	}
	list(&out.Items, c.Items)
	list(&out.Event.Type, c.Event.Type)
	text(&out.Event.Kind, c.Event.Kind)
	// The user's rules are asked first, the preset's afterwards.
	out.Event.Kinds = append(slices.Clone(c.Event.Kinds), base.Event.Kinds...)
	out.Event.Aliases = joined(c.Event.Aliases, base.Event.Aliases)
	list(&out.Event.ID, c.Event.ID)
	list(&out.Event.Time, c.Event.Time)
	text(&out.Event.TimeUnit, c.Event.TimeUnit)
	text(&out.Event.TimeZone, c.Event.TimeZone)
	list(&out.Dedupe.Key, c.Dedupe.Key)
	if c.Dedupe.Window != 0 {
		out.Dedupe.Window = c.Dedupe.Window
	}
	out.before = append(base.layers(), base.before...)
	out.Map, out.MapFor = c.Map, c.MapFor
	if c.RefuseIf != nil { // [] lifts those of the preset
		out.RefuseIf = c.RefuseIf
	}
	list(&out.SkipIf, c.SkipIf)
	if c.SilentAfter != 0 {
		out.SilentAfter = c.SilentAfter
	}
	if c.Rate != (units.Rate{}) {
		out.Rate = c.Rate
	}
	if c.Reply != nil {
		out.Reply = c.Reply
	}
	out.Kinds = append(slices.Clone(c.Kinds), base.Kinds...)
	out.Open = c.Open || base.Open
	list(&out.Samples, c.Samples)
	list(&out.Enrich, c.Enrich)
	out.Token, out.OAuth, out.AllowPrivate = c.Token, c.OAuth.over(base.OAuth), c.AllowPrivate
	text(&out.APIURL, c.APIURL)
	return out
}

// over changes single settings of the preset's proof; an entry that names a kind of its own
// replaces the proof as a whole, because half of another scheme would be no scheme.
func (v *Verify) over(base *Verify) *Verify {
	if v == nil {
		return base
	}
	if base == nil || v.Kind != "" || len(v.AnyOf) > 0 || len(v.AllOf) > 0 {
		return v
	}
	out := *base
	list(&out.Prefer, v.Prefer)
	list(&out.AllowIPs, v.AllowIPs)
	text(&out.Mode, v.Mode)
	text(&out.From, v.From)
	text(&out.Field, v.Field)
	text(&out.Prefix, v.Prefix)
	text(&out.User, v.User)
	text(&out.Headers, v.Headers)
	text(&out.Algorithm, v.Algorithm)
	text(&out.ID, v.ID)
	text(&out.BodyHash, v.BodyHash)
	list(&out.Parts, v.Parts)
	list(&out.Claims, v.Claims)
	if !v.Password.IsZero() {
		out.Password = v.Password
	}
	if !v.Secret.IsZero() || len(v.Secrets) > 0 {
		out.Secret, out.Secrets = v.Secret, v.Secrets
	}
	if v.Signature != nil {
		out.Signature = v.Signature
	}
	if v.Timestamp != nil {
		out.Timestamp = v.Timestamp.over(base.Timestamp)
	}
	if v.Freshness != nil {
		out.Freshness = v.Freshness.over(base.Freshness)
	}
	if v.Key != nil {
		out.Key = v.Key.over(base.Key)
	}
	if v.URL != nil {
		out.URL = v.URL
	}
	if v.BodyRequired != nil {
		out.BodyRequired = v.BodyRequired
	}
	return &out
}

func (t *Timestamp) over(base *Timestamp) *Timestamp {
	if base == nil || t.Header != "" || t.List != "" || t.Body != "" {
		return t
	}
	out := *base
	text(&out.Unit, t.Unit)
	if t.Tolerance != 0 {
		out.Tolerance = t.Tolerance
	}
	if t.Skew != nil {
		out.Skew = t.Skew
	}
	return &out
}

func (k *Key) over(base *Key) *Key {
	if base == nil {
		return k
	}
	out := *base
	text(&out.Encoding, k.Encoding)
	list(&out.Secrets, k.Secrets)
	list(&out.PublicKeys, k.PublicKeys)
	if !k.PrivateKey.IsZero() {
		out.PrivateKey = k.PrivateKey
	}
	return &out
}

func text(out *string, set string) {
	if set != "" {
		*out = set
	}
}

func list[L ~[]E, E any](out *L, set L) {
	if len(set) > 0 {
		*out = set
	}
}

// joined is base with the entries of set in place of those with the same key.
func joined[T any](set, base yamlpos.Ordered[T]) yamlpos.Ordered[T] {
	out := slices.Clone(base)
next:
	for _, e := range set {
		for i := range out {
			if out[i].Key == e.Key {
				out[i] = e
				continue next
			}
		}
		out = append(out, e)
	}
	return out
}

// A layer is one map: or one entry of map_for: in the order in which they override each
// other: a user's map wins over all that a preset says, also over its map_for.
type layer struct {
	path    string // of the mapping within the entry, for problems
	pattern string // of kinds or topics; "" for all
	mapping Mapping
}

// layers are the entry's own ones, without those of its preset.
func (c *Config) layers() []layer {
	var out []layer
	if len(c.Map) > 0 {
		out = append(out, layer{path: "map", mapping: c.Map})
	}
	for _, e := range c.MapFor {
		out = append(out, layer{path: "map_for." + e.Key, pattern: e.Key, mapping: e.Value})
	}
	return out
}
