package connectors_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/secret"
)

var mutationNow = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// ownConfig is a preset with secrets of the tests' own.
func ownConfig(t testing.TB, preset, word string) connectors.Config {
	t.Helper()
	base, ok := connectors.Preset(preset)
	if !ok {
		t.Fatalf("no preset %q", preset)
	}
	c := connectors.Config{Preset: preset, Secret: secret.New(word), VerifyToken: secret.New("verify-" + word)}
	switch {
	case base.Verify.Algorithm == "ed25519", base.Verify.Algorithm == "rsa-sha256":
		c.Verify = &connectors.Verify{SignedKeys: connectors.SignedKeys{Key: ownKeyFor(t, base.Verify.Algorithm)}}
	case base.Verify.Kind == "basic":
		c.Secret = secret.New("user:" + word)
	case base.Verify.Key != nil && base.Verify.Key.Encoding == "hex":
		c.Secret = secret.New(strings.Repeat("5c", 16) + hexOf(word))
	case base.Verify.Kind == "standard_webhooks" && (base.Verify.Key == nil || base.Verify.Key.Encoding != "raw"):
		c.Secret = secret.New("whsec_" + base64.StdEncoding.EncodeToString([]byte(word)))
	}
	return c
}

func hexOf(word string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(word) {
		b.WriteByte(digits[word[i]>>4])
		b.WriteByte(digits[word[i]&15])
	}
	return b.String()
}

// covers says which parts of a request a preset's verifier depends on.
type covers struct {
	body, method, url, time, list bool
	late                          time.Duration // how old the time may be
}

func coverage(v *connectors.Verify) covers {
	switch {
	case len(v.AnyOf) > 0:
		return coverage(v.AnyOf[0])
	case len(v.AllOf) > 0:
		var c covers
		for _, one := range v.AllOf {
			w := coverage(one)
			c.body, c.method, c.url, c.time, c.late = c.body || w.body, c.method || w.method, c.url || w.url, c.time || w.time, max(c.late, w.late)
		}
		return c
	case v.Kind == "standard_webhooks":
		return covers{body: true, time: true, late: tolerance(v)}
	case v.Kind == "signed":
		return covers{
			body: slices.ContainsFunc(v.Parts, func(p string) bool {
				return strings.HasPrefix(p, "body") && !strings.HasPrefix(p, "body:") || p == "first_item"
			}),
			method: slices.Contains(v.Parts, "method"), url: slices.Contains(v.Parts, "url"),
			time: slices.Contains(v.Parts, "timestamp"), list: v.Signature.List != nil, late: tolerance(v),
		}
	default:
		return covers{}
	}
}

func tolerance(v *connectors.Verify) time.Duration {
	if v.Timestamp == nil {
		return 5 * time.Minute
	}
	return cmp.Or(v.Timestamp.Tolerance.D(), 5*time.Minute)
}

func TestWhateverIsSignedCannotBeChanged(t *testing.T) {
	const word = "the-right-secret-0123456789abcdef"
	for _, info := range connectors.Presets() {
		t.Run(info.Name, func(t *testing.T) {
			c := ownConfig(t, info.Name, word)
			con := mustCompile(t, info.Name, c, connectors.Options{})
			base, _ := connectors.Preset(info.Name)
			covered := coverage(base.Verify)
			samples := con.SamplesAt(mutationNow, 1001)
			if len(samples) == 0 {
				t.Fatal("the preset has no sample")
			}
			for _, s := range samples {
				right := signSample(t, con, s, mutationNow)
				got, err := con.Receive(right)
				if err != nil {
					t.Fatalf("sample %q: Receive: %v", s.Name, err)
				}
				if len(got.Events) == 0 || got.Events[0].Kind != s.Kind || (s.Topic != "" && got.Events[0].Topic != s.Topic) {
					t.Errorf("sample %q became %+v, want the kind %s of topic %q", s.Name, got.Events, s.Kind, s.Topic)
				}
				for name, wrong := range mutations(t, con, s, right, covered) {
					if got, err := con.Receive(wrong); err == nil {
						t.Errorf("sample %q with %s was taken: %d events", s.Name, name, len(got.Events))
					} else if rejected := rejectedBy(t, err); rejected.Stage != connectors.StageVerify || rejected.Status != http.StatusUnauthorized {
						t.Errorf("sample %q with %s: %d at %s: %s", s.Name, name, rejected.Status, rejected.Stage, rejected.Reason)
					} else if strings.Contains(rejected.Reason, word) || rejected.Public != "rejected" {
						t.Errorf("sample %q with %s tells too much: %s", s.Name, name, rejected.Reason)
					}
				}
				other := mustCompile(t, info.Name, ownConfig(t, info.Name, "another-secret-0123456789abcdef"), connectors.Options{})
				if bytes.Contains(s.Body, []byte(word)) {
					continue // a token in the body: the sample holds the first connector's
				}
				if _, err := other.Receive(right); err == nil {
					t.Errorf("sample %q was taken with another key", s.Name)
				}
			}
		})
	}
}

// mutations are the signed request with one thing changed each.
func mutations(t testing.TB, con *connectors.Connector, s connectors.Sample, right connectors.Request, covered covers) map[string]connectors.Request {
	t.Helper()
	out := map[string]connectors.Request{}
	change := func(name string, do func(*connectors.Request)) {
		r := right
		r.Header = right.Header.Clone()
		r.Body = bytes.Clone(right.Body)
		do(&r)
		out[name] = r
	}
	if covered.body {
		for _, at := range []int{0, len(right.Body) / 3, len(right.Body) - 1} {
			change("another byte "+string(rune('a'+at%26)), func(r *connectors.Request) { r.Body[at] ^= 1 })
		}
		change("a byte less", func(r *connectors.Request) { r.Body = r.Body[:len(r.Body)-1] })
		change("a byte more", func(r *connectors.Request) { r.Body = append(r.Body, ' ') })
	}
	if covered.method {
		change("another method", func(r *connectors.Request) { r.Method = http.MethodGet })
	}
	if covered.url {
		change("another URL", func(r *connectors.Request) { r.URL += "x" })
		change("another query", func(r *connectors.Request) { r.URL += "?a=1" })
	}
	if covered.time {
		change("a clock that is late", func(r *connectors.Request) { r.Now = r.Now.Add(covered.late + time.Second) })
		change("a clock that is early", func(r *connectors.Request) { r.Now = r.Now.Add(-5*time.Minute - 2*time.Second) })
	}
	// What Sign added, beyond the sample's own headers, is the signature.
	for _, name := range slices.Sorted(maps.Keys(right.Header)) {
		if _, own := s.Header[name]; own {
			continue
		}
		change("without "+name, func(r *connectors.Request) { r.Header.Del(name) })
		change("two different "+name, func(r *connectors.Request) { r.Header[name] = append(r.Header[name], r.Header[name][0]+"0") })
		value := right.Header.Get(name)
		for label, changed := range map[string]string{
			"an empty ":    "",
			"a spoilt ":    spoil(value),
			"a cut ":       value[:len(value)/2],
			"a doubled ":   value + value,
			"nonsense in ": "Hash with characters outside hex",
			"a very long ": strings.Repeat("a", 5000),
		} {
			// A list that is written twice still holds its good entry: nothing is forged by it.
			if changed == value || (label == "a doubled " && covered.list) || (name == "X-Hubspot-Signature-Version" && changed == "") {
				continue
			}
			change(label+name, func(r *connectors.Request) { r.Header.Set(name, changed) })
		}
	}
	if right.URL != "https://hooks.example.com/hooks/"+con.Name() { // the token is in the URL
		change("the URL alone", func(r *connectors.Request) {
			*r = moved(*r, r.Header, "https://hooks.example.com/hooks/"+con.Name())
		})
	}
	return out
}

// spoil changes the last character that is not padding.
func spoil(value string) string {
	b := []byte(value)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == '=' {
			continue
		}
		// The first characters of a base64 group always carry bits, so change one of those too.
		for _, at := range []int{i, max(0, i-3)} {
			if b[at] == 'b' {
				b[at] = 'c'
			} else {
				b[at] = 'b'
			}
		}
		return string(b)
	}
	return "x"
}
