package console

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/plain"
	"github.com/nudgewire/nudgewire/internal/report"
	"github.com/nudgewire/nudgewire/internal/units"
)

//go:embed templates static
var files embed.FS

// pages are the templates, with functions that show times in one zone.
type pages struct {
	zone   *time.Location
	byName map[string]*template.Template
}

func newPages(zone *time.Location, now func() time.Time) *pages {
	p := &pages{zone: zone, byName: map[string]*template.Template{}}
	base := template.New("").Funcs(template.FuncMap{
		"spoken": func(t time.Time) string { return spoken(t, now().In(zone)) },
		"exact":  func(t time.Time) string { return exact(t, zone) },
		"number": units.Number,
		"points": report.PointsWords,
		"count":  units.Count[int64],
		"words":  spaced,
		"megabytes": func(n int64) string {
			if n < 1e6 {
				return units.Number((n+999)/1000) + " kB"
			}
			return fmt.Sprintf("%.1f MB", float64(n)/1e6)
		},
		"dict": dict,
		"tone": tone,
		"add":  func(a, b int) int { return a + b },
		"label": func(of []string, i int) string { // "" for a column that has no name
			if i < len(of) {
				return of[i]
			}
			return ""
		},
		"pretty": pretty,
		"whole":  whole,

		"moments": moments,
		"said":    said,
		"minutes": func(slot string) string { return seconds.ReplaceAllString(slot, "$1") },
		"dated":   func(t time.Time) string { return t.In(zone).Format("2 Jan 2006, 15:04") },
	})
	shared := template.Must(base.ParseFS(files, "templates/layout.html", "templates/shared.html", "templates/plots.html"))
	names, err := fs.Glob(files, "templates/*.html")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for _, name := range names {
		short := strings.TrimSuffix(strings.TrimPrefix(name, "templates/"), ".html")
		if slices.Contains([]string{"layout", "head", "shared", "plots"}, short) { // parts of pages
			continue
		}
		p.byName[short] = template.Must(template.Must(shared.Clone()).ParseFS(files, name))
	}
	return p
}

func (p *pages) render(w io.Writer, v shown) error {
	t := p.byName[v.Name]
	if t == nil {
		return fmt.Errorf("there is no page %q", v.Name)
	}
	if err := t.ExecuteTemplate(w, "layout", v); err != nil {
		return fmt.Errorf("make the page %s: %w", v.Name, err)
	}
	return nil
}

// spaced is a state, an outcome or another word of ours for people: "in doubt".
func spaced(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") }

// dict hands several values to a template.
func dict(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return out
}

// tones are how states and outcomes are coloured; the word itself always stands beside the colour.
var tones = map[string][]string{
	"good": {"accepted", "delivered", "read", "planned", "restarted", "confirmed", "allowed", "done", "live", "sent", "sends", "good"},
	"bad":  {"rejected", "failed", "in_doubt", "blocked", "stops", "halted", "disabled"},
	"warn": {"waiting", "sending", "expired", "dropped", "paused", "partial", "awaiting_approval", "shadow", "off", "untracked", "bad", "released", "shadowed", "invited"},
}

func tone(v any) string {
	word := fmt.Sprint(v)
	for name, words := range tones {
		if slices.Contains(words, word) {
			return name
		}
	}
	return "calm"
}

// pretty is a payload for people: JSON with indents, anything else as it came.
func pretty(payload string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(payload), "", "  ") == nil {
		return string(plain.JSON(out.Bytes()))
	}
	return payload
}

// whole reports whether a phone leads to its person. One that is masked leads nowhere.
func whole(p messaging.Phone) bool { return p != "" && strings.Trim(string(p), "0123456789") == "" }

// A moment is a piece of a text: words, or a time that stands in them.
type moment struct {
	Text string
	At   time.Time
}

// momentMark is around a time in words that moments takes apart. Words of strangers that have it are shown as they are, without it.
const momentMark = "\x1f"

func markTime(t time.Time) string { return momentMark + t.UTC().Format(time.RFC3339) + momentMark }

// moments are the pieces of a text with marked times.
func moments(words string) (out []moment) {
	for _, piece := range strings.Split(words, momentMark) {
		at, err := time.Parse(time.RFC3339, piece)
		if err != nil {
			out = append(out, moment{Text: piece})
			continue
		}
		out = append(out, moment{At: at})
	}
	return out
}

// written is a time as our sentences have it: those of the log and of the terminal, too.
var written = regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC\b`)

// seconds are those of what a run stands for, which no list has.
var seconds = regexp.MustCompile(`(\b\d{4}-\d\d-\d\d \d\d:\d\d):\d\d\b`)

// said are the pieces of one of our sentences: a time in it is shown as pages show times.
func said(words string) (out []moment) {
	for {
		at := written.FindStringIndex(words)
		if at == nil {
			return append(out, moment{Text: words})
		}
		text := words[at[0]:at[1]]
		t, err := time.Parse("2006-01-02 15:04:05 MST", text)
		if err != nil {
			t, err = time.Parse("2006-01-02 15:04 MST", text)
		}
		if out = append(out, moment{Text: words[:at[0]]}, moment{At: t}); err != nil { // no such day
			out[len(out)-1] = moment{Text: text}
		}
		words = words[at[1]:]
	}
}

// besides are the holds that do not stop each message. Those that do are on every page, and so in no list of a page.
func besides(holds []messaging.Hold) []messaging.Hold {
	return slices.DeleteFunc(holds, messaging.Hold.OfEverything)
}

// byCount sorts what was counted, the most first.
func byCount(counts map[string]int64) []counted {
	out := make([]counted, 0, len(counts))
	for word, n := range counts {
		out = append(out, counted{word, n})
	}
	slices.SortFunc(out, func(a, b counted) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Word, b.Word)) })
	return out
}

// counted is how often something is.
type counted struct {
	Word string
	N    int64
}
