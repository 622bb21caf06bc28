package mask

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// What is done to a copy is not done to what was copied, and a copy has nothing that JSON does not have.
func TestACopySharesNothing(t *testing.T) {
	type deep struct {
		inner
		At     *time.Time
		Notes  []string
		ByName map[string][]string
		Next   *deep
		Rows   []deep
		Pair   [1][]int
		Any    any
		Raw    json.RawMessage
		Gone   []string `json:"-"`
	}
	made := func() deep {
		at := time.Date(2026, 11, 27, 15, 30, 0, 0, time.UTC)
		return deep{
			inner: inner{"a"}, At: &at, Notes: []string{"a"}, ByName: map[string][]string{"a": {"b"}}, Next: &deep{Notes: []string{"c"}}, Rows: []deep{{Notes: []string{"d"}}},
			Pair: [1][]int{{1}}, Any: map[string]any{"a": []string{"e"}}, Raw: json.RawMessage(`{}`),
		}
	}
	v := made()
	got := Copy(v)
	if !reflect.DeepEqual(got, made()) {
		t.Errorf("%+v", got)
	}
	*got.At = time.Time{}
	got.Note, got.Notes[0], got.ByName["a"][0], got.Next.Notes[0], got.Rows[0].Notes[0], got.Pair[0][0], got.Raw[0] = "x", "x", "x", "x", "x", 2, '['
	got.Any.(map[string]any)["a"].([]string)[0] = "x"
	if !reflect.DeepEqual(v, made()) {
		t.Errorf("it changed what it is a copy of: %+v", v)
	}
	v.Gone = []string{"a"}
	if got := Copy(&v); got.Gone != nil || v.Gone == nil {
		t.Errorf("a copy has what JSON leaves out, or the other lost it: %v, %v", got.Gone, v.Gone)
	}
	if Copy[any](nil) != nil || Copy("a") != "a" || Copy([]int(nil)) != nil {
		t.Error("what is no struct")
	}
}
