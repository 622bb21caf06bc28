package drift

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// fields are those of words such as "customer.phone:text".
func fields(words string) (all []Field) {
	for word := range strings.FieldsSeq(words) {
		at := strings.LastIndexByte(word, ':')
		all = append(all, Field{word[:at], Type(word[at+1:])})
	}
	return all
}

// counted counts events: "30 a:text b:number" is thirty of them.
func counted(c *Counts, lines ...string) {
	for _, line := range lines {
		var n int
		number, words, _ := strings.Cut(line, " ")
		if _, err := fmt.Sscan(number, &n); err != nil {
			panic(err)
		}
		for range n {
			c.Add(fields(words), noon.Add(time.Duration(c.Events)*time.Minute), nil)
		}
	}
}

// told are findings, a line each.
func told(all []Finding) string {
	var out []string
	for _, f := range all {
		line := fmt.Sprintf("%s %s %s>%s %d/%d %d", f.What, f.Path, f.Was, f.Is, f.With, f.Of, f.Without)
		if f.Below {
			line += " below"
		}
		if len(f.Near) > 0 {
			line += " near " + strings.Join(f.Near, ",")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

func TestWhatDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"nothing":                                {[]string{"40 a:text"}, ""},
		"gone":                                   {[]string{"30 a:text b:text", "10 b:text"}, "gone a text> 30/30 10"},
		"gone, and nine are too few":             {[]string{"30 a:text b:text", "9 b:text"}, ""},
		"nineteen are no ground":                 {[]string{"19 a:text b:text", "30 b:text"}, ""},
		"gone, and back":                         {[]string{"30 a:text b:text", "50 b:text", "1 a:text b:text"}, ""},
		"it was in nine of ten":                  {[]string{"2 b:text a:text", "3 b:text", "27 b:text a:text", "10 b:text"}, "gone a text> 29/32 10"},
		"it was in half":                         {[]string{"10 a:text", "10 b:text", "10 a:text", "10 b:text"}, ""},
		"it came in the week, and is gone":       {[]string{"100 b:text", "25 a:text b:text", "10 b:text"}, "gone a text> 25/25 10"},
		"null in its place":                      {[]string{"30 a:text", "10 a:null"}, "gone a text>null 30/30 10"},
		"empty in its place":                     {[]string{"30 a:text", "10 a:empty"}, "gone a text>empty 30/30 10"},
		"always null":                            {[]string{"60 a:null"}, ""},
		"null, then something":                   {[]string{"30 a:null", "30 a:text"}, ""},
		"new":                                    {[]string{"20 a:text", "10 a:text b:number"}, "new b >number 10/20 0"},
		"new in nine":                            {[]string{"20 a:text", "9 a:text b:number"}, ""},
		"new, without ground":                    {[]string{"19 a:text", "10 a:text b:number"}, ""},
		"another type":                           {[]string{"30 a:text", "10 a:object a.v:text"}, "changed a text>object 30/30 10 near a.v\nnew a.v >text 10/30 0 below"},
		"another type, and the old one at times": {[]string{"30 a:text", "10 a:number", "1 a:text"}, ""},
		"another type in nine":                   {[]string{"30 a:text", "9 a:number"}, ""},
		"both types always":                      {[]string{"30 a:text a:number", "30 a:number"}, ""},
		"mixed for a while":                      {[]string{"30 a:text", "3 a:number", "2 a:text", "12 a:number"}, "changed a text>number 30/30 15"},
		"renamed": {
			[]string{"30 c:object c.phone:text c.nick:text", "10 c:object c.mobile:text c.nick:text"},
			"gone c.phone text> 30/30 10 near c.mobile\nnew c.mobile >text 10/30 0",
		},
		"moved": {
			[]string{"30 phone:text id:text", "10 c:object c.phone:text id:text"},
			"gone phone text> 30/30 10 near c.phone\nnew c >object 10/30 0\nnew c.phone >text 10/30 0 below",
		},
		"the whole object": {
			[]string{"30 c:object c.phone:text id:text", "10 id:text"},
			"gone c object> 30/30 10\ngone c.phone text> 30/30 10 below",
		},
		"another of the name was always there": {
			[]string{"30 phone:text b:object b.phone:text", "10 b:object b.phone:text"}, "gone phone text> 30/30 10 near b.phone",
		},
		"entries of a list": {
			[]string{"30 l:list l[]:object l[].title:text", "10 l:list l[]:object l[].name:text"},
			"gone l[].title text> 30/30 10 near l[].name\nnew l[].name >text 10/30 0",
		},
	} {
		var all Counts
		counted(&all, c.events...)
		got := told(Judge(all))
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// When it began: the last event that had what is gone, the first that has what is new.
func TestSinceWhen(t *testing.T) {
	var all Counts
	counted(&all, "30 phone:text a:text", "12 a:text mobile:text")
	found := Judge(all)
	if len(found) != 2 || !found[0].Since.Equal(noon.Add(29*time.Minute)) || !found[1].Since.Equal(noon.Add(30*time.Minute)) {
		t.Errorf("%+v", found)
	}
}

// However events are divided into hours, and whether or not the counts were stored between, the same is found.
func TestHoursMakeNoDifference(t *testing.T) {
	shapes := []string{"a:text b:text c:object c.x:number", "a:text b:text", "a:number b:text d:text", "b:text", "a:null b:text c:object", "e:list e[]:text"}
	rapid.Check(t, func(rt *rapid.T) {
		var whole, hours, hour Counts
		for range rapid.IntRange(1, 6).Draw(rt, "stretches") {
			words := fields(rapid.SampledFrom(shapes).Draw(rt, "shape"))
			for range rapid.IntRange(1, 40).Draw(rt, "events") {
				at := noon.Add(time.Duration(whole.Events) * time.Minute)
				whole.Add(words, at, nil)
				hour.Add(words, at, nil)
				if rapid.IntRange(0, 9).Draw(rt, "the hour ends") == 0 {
					text, err := hour.encode()
					if err != nil {
						rt.Fatal(err)
					}
					stored, err := decodeCounts(hour.Events, text)
					if err != nil {
						rt.Fatal(err)
					}
					hours, hour = hours.Then(stored), Counts{}
				}
			}
		}
		if one, other := told(Judge(whole)), told(Judge(hours.Then(hour))); one != other {
			rt.Fatalf("in one\n%s\nin hours\n%s", one, other)
		}
	})
}

// A sender that makes names up fills nothing, and what was there before still counts.
func TestTheRoomForFields(t *testing.T) {
	var before, c Counts
	before.Add(fields("phone:text"), noon, nil)
	for i := range 3 * mostFields {
		c.Add([]Field{{fmt.Sprint("made-up-", i), Text}, {"phone", Text}}, noon, &before)
	}
	if len(c.Fields) > mostFields {
		t.Errorf("%d fields", len(c.Fields))
	}
	if got := c.Fields[Field{"phone", Text}].Events; got != 3*mostFields {
		t.Errorf("the phone was counted %d times", got)
	}
}

func TestDamagedCountsAreSaid(t *testing.T) {
	for _, text := range []string{"", "{", `{"nothing":[1,1,1,1,1]}`, `{"a text":["x"]}`} {
		if _, err := decodeCounts(3, text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestPaths(t *testing.T) {
	for path, want := range map[string][2]string{
		"a": {"", "a"}, "a.b": {"a", "b"}, "a[]": {"a", "a"}, "a[].b": {"a[]", "b"}, `a."b.c"`: {"a", "b.c"}, `"a.b"`: {"", "a.b"}, "[]": {"", ""}, "a[][].b": {"a[][]", "b"},
	} {
		if got := [2]string{parent(path), lastName(path)}; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for way, want := range map[string]string{
		".customer.phone": "customer.phone", ".items[0].title": "items[].title", `["a b"].c`: `"a b".c`, ".a[-1][2]": "a[][]", `.a["x"]`: "a.x", "..": "",
	} {
		if got := rawPath(way); got != want {
			t.Errorf("raw%s: %q, want %q", way, got, want)
		}
	}
	for name, want := range map[string]string{
		"firstName": "first name", "first_name": "first name", "ID": "id", "orderID": "order id", "utm-source.x": "utm source x", "": "", "été2": "été2",
	} {
		if got := strings.Join(wordsOf(name), " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// What people ask for by hand has no sender who could change it.
func TestOrdersByHandAreNotLookedAt(t *testing.T) {
	var w Watch
	at := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	of := func(connector, kind string) messaging.Event {
		return messaging.Event{Connector: connector, Kind: kind, ReceivedAt: at, Payload: []byte(`{"a":"b"}`)}
	}
	looks := w.looks([]messaging.Event{of(messaging.People, messaging.TestRequested), of(messaging.People, "message.requested"), of("shop", "order.created")})
	if len(looks) != 1 || looks[0].connector != "shop" {
		t.Errorf("looked at %+v", looks)
	}
}
