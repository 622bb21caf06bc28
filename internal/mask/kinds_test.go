package mask

import (
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"
)

type state string

type tags []string

func (tags) Kind() Kind { return OfText }

type inner struct {
	Note string `kind:"text"`
}

type person struct {
	inner
	ID      int64
	At      time.Time
	State   state
	Version string `kind:"ours"`
	Phone   string `kind:"phone"`
	Email   string `json:"email" kind:"email"`
	Carried string `kind:"carried"`
	Tags    tags
	Notes   []string          `kind:"text"`
	ByName  map[string]string `kind:"text"`
	Next    *person           `json:",omitempty"`
	Pair    [2]inner
	Any     any    `kind:"text"`
	Gone    string `json:"-"`
}

func TestEachFieldIsMaskedByItsKind(t *testing.T) {
	const note, digits = "ring 07700,900,123", "2026112715300012"
	at := time.Date(2026, 11, 27, 15, 30, 0, 123456789, time.UTC)
	made := func() person {
		return person{
			inner: inner{note}, ID: 447700900123, At: at, State: digits, Version: digits, Phone: "447700900123", Email: "ada@example.com", Carried: "{}", Tags: tags{note}, Notes: []string{note},
			ByName: map[string]string{"447700900123": note}, Next: &person{Phone: "447700900123"}, Pair: [2]inner{{note}, {}}, Any: map[string]any{"a": note}, Gone: note,
		}
	}
	v := made()
	got := Masked(v).(person)
	if !reflect.DeepEqual(v, made()) {
		t.Errorf("what was masked changed: %+v", v)
	}
	const hidden = "ring 0770*,***,*23"
	want := person{
		inner: inner{hidden}, ID: 447700900123, At: at, State: digits, Version: digits, Phone: "4477******23", Email: "a***@example.com", Carried: withheld, Tags: tags{hidden}, Notes: []string{hidden},
		ByName: map[string]string{"447700900123": hidden}, Next: &person{Phone: "4477******23"}, Pair: [2]inner{{hidden}, {}}, Any: map[string]any{"a": hidden}, Gone: note,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	if Masked(nil) != nil || Masked("447700900123") != "4477******23" || Masked(7) != 7 {
		t.Error("what is no struct")
	}
}

func TestFieldsWithoutAKindAreNamed(t *testing.T) {
	type odd struct {
		Name  string
		Typo  string `kind:"our"`
		Any   any
		Keys  map[string]int
		Raw   json.RawMessage
		Fine  []string `kind:"text"`
		Inner *inner
	}
	want := []string{
		"mask.odd.Name has no kind", "mask.odd.Typo is of the kind our, which there is not", "mask.odd.Any has no kind", "mask.odd.Keys has no kind", "mask.odd.Raw is bytes, which have no kind",
	}
	if got := Kindless(reflect.TypeFor[[]odd]()); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Kindless(reflect.TypeFor[person]()); got != nil {
		t.Errorf("%q", got)
	}
}

// Many ask for a type that nobody asked for before.
func TestPlansAreMadeForMany(t *testing.T) {
	type fresh struct{ Of *person }
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got := Masked(fresh{&person{Phone: "447700900123"}}).(fresh); got.Of.Phone != "4477******23" {
				t.Errorf("%+v", got.Of)
			}
		})
	}
	all.Wait()
}

func TestSentencesMaskWhatTheyInsert(t *testing.T) {
	got := Sprintf("run %d (%s): %q is no phone, write +447700900123", 12345678, Own("7700900123"), "07700,900,123")
	if want := `run 12345678 (7700900123): "0770*,***,*23" is no phone, write +447700900123`; got != want {
		t.Errorf("%s", got)
	}
}
