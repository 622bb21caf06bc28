package yamlpos

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/secret"
)

func TestEffectiveShowsDefaultsAndHidesSecrets(t *testing.T) {
	look := func(name string) (string, bool) { return "expanded-" + name, true }
	src := `
name: ${NAME}
key: ${KEY}
inner: &i {url: 'http://${HOST}/', retries: 0}
maybe: {<<: *i, timeout: 1m}
rules:
  zeta: {url: "0123"}
labels: {b: no, a: '1.10'}
any: {list: [1, yes, "x: y"], t: "007"}
on: shopify.cart.updated
`
	var v outer
	doc, ps := Options{Expand: func(s string) (string, error) { return secret.Expand(s, look, "") }}.Decode("f.yaml", []byte(src), &v)
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	got, err := doc.Effective(&v, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `name: ${NAME}
mode: live
on: [shopify.cart.updated]
inner:
  url: http://${HOST}/
  timeout: 10s
  retries: 0
maybe:
  url: http://${HOST}/
  timeout: 1m
  retries: 0
labels:
  b: no
  a: '1.10'
rules:
  zeta:
    url: '0123'
    timeout: 10s
    retries: 3
waits: [5s, 1m]
rate: 20/s
key: '[secret]'
any:
  list:
  - 1
  - yes
  - 'x: y'
  t: '007'
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("Effective (-want +got):\n%s", diff)
	}
	var again outer
	if _, ps := Decode("again.yaml", got, &again); ps.Errors() > 0 {
		t.Errorf("Decode of the output: %v", ps)
	}
}
