package alerts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func when(t testing.TB, texts ...string) (out []Condition) {
	t.Helper()
	for _, text := range texts {
		c, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func planOf(t testing.TB, texts ...string) *Plan {
	p := &Plan{Receivers: []Receiver{{ID: "r", Name: "ops"}}}
	for _, c := range when(t, texts...) {
		p.Watches = append(p.Watches, Watch{"r", c})
	}
	return p
}

func trouble(code messaging.TroubleCode, changes ...func(*messaging.Trouble)) messaging.Trouble {
	t := messaging.Trouble{Code: code, Severity: messaging.Stops, Words: "it is " + string(code)}
	for _, change := range changes {
		change(&t)
	}
	return t
}

// A moment is what there is at a time, from noon on, and what is told then.
type moment struct {
	at   time.Duration
	is   []messaging.Trouble
	want string // "+code" begins, "-code 5m0s" is over after so long
}

func tell(notices []messaging.AlertNotice) string {
	var out []string
	for _, n := range notices {
		text := "+" + string(n.Trouble.Code)
		if !n.EndedAt.IsZero() {
			text = fmt.Sprintf("-%s %v", n.Trouble.Code, n.EndedAt.Sub(n.Began))
		}
		if n.Condition != All {
			text += " (" + n.Condition + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func TestWhatIsToldAndWhen(t *testing.T) {
	type all = []messaging.Trouble
	since := func(d time.Duration) func(*messaging.Trouble) {
		return func(t *messaging.Trouble) { t.Since = noon.Add(d) }
	}
	amount := func(n float64) func(*messaging.Trouble) { return func(t *messaging.Trouble) { t.Amount = n } }
	key, outage := trouble(messaging.TroubleKey), trouble(messaging.TroubleOutage)
	const s, m, h = time.Second, time.Minute, time.Hour
	for name, tt := range map[string]struct {
		when    []string
		moments []moment
	}{
		"once, and its end": {[]string{All}, []moment{
			{0, all{key}, "+key"},
			{10 * s, all{key}, ""},
			{h, all{key}, ""},
			{h + 10*s, nil, ""},
			{h + 60*s, nil, ""},
			{h + 70*s, nil, "-key 1h0m10s"},
			{2 * h, nil, ""},
		}},
		"a moment without it is no end": {[]string{All}, []moment{
			{0, all{key}, "+key"},
			{m, nil, ""},
			{m + 30*s, all{key}, ""},
			{2 * m, nil, ""},
			{2*m + 50*s, nil, ""},
			{3 * m, nil, "-key 2m0s"},
		}},
		"what comes again soon is told later, if it lasts": {[]string{All}, []moment{
			{0, all{key}, "+key"},
			{m, nil, ""},
			{2 * m, nil, "-key 1m0s"},
			{5 * m, all{key}, ""},
			{14 * m, all{key}, ""},
			{15 * m, all{key}, "+key"},
			{16 * m, nil, ""},
			{17 * m, nil, "-key 11m0s"},
		}},
		"what comes and goes is told four times an hour at the most": {[]string{All}, func() (out []moment) {
			for i := range 40 {
				is := all{key}
				if i%4 == 1 || i%4 == 2 {
					is = nil
				}
				out = append(out, moment{time.Duration(i) * 90 * s, is, "?"})
			}
			return out
		}()},
		"an outage waits a while": {[]string{All}, []moment{
			{0, all{outage}, ""},
			{20 * s, all{outage}, ""},
			{25 * s, nil, ""},
			{30 * s, all{outage}, ""},
			{60 * s, all{outage}, "+outage"},
		}},
		"the facts say since when": {[]string{"halt for 4h"}, []moment{
			{0, all{trouble(messaging.TroubleHalt, since(-3*h))}, ""},
			{h, all{trouble(messaging.TroubleHalt, since(-3*h))}, "+halt (halt for 4h)"},
		}},
		"two conditions are two alerts": {[]string{"halt", "halt for 1h", "key"}, []moment{
			{0, all{trouble(messaging.TroubleHalt, since(0))}, "+halt (halt)"},
			{h, all{trouble(messaging.TroubleHalt, since(0))}, "+halt (halt for 1h)"},
			{h + m, nil, ""},
			{h + 2*m, nil, "-halt 1h1m0s (halt), -halt 1h1m0s (halt for 1h)"},
		}},
		"a number": {[]string{"in_doubt > 10"}, []moment{
			{0, all{trouble(messaging.TroubleInDoubt, amount(10))}, ""},
			{m, all{trouble(messaging.TroubleInDoubt, amount(11))}, "+in_doubt (in_doubt > 10)"},
			{2 * m, all{trouble(messaging.TroubleInDoubt, amount(9))}, ""},
			{3 * m, all{trouble(messaging.TroubleInDoubt, amount(9))}, "-in_doubt 1m0s (in_doubt > 10)"},
		}},
		"notes are told to who names them": {[]string{All, "rejected"}, []moment{
			{0, all{trouble(messaging.TroubleRejected, func(t *messaging.Trouble) { t.Severity = messaging.Note })}, "+rejected (rejected)"},
		}},
		"requests without an event are a note": {[]string{All, "no_event"}, []moment{
			{0, all{trouble(messaging.TroubleNoEvent, func(t *messaging.Trouble) { t.Severity = messaging.Note })}, "+no_event (no_event)"},
		}},
		"a redaction is told to all from the first, and once": {[]string{All}, []moment{
			{0, all{trouble(messaging.TroubleRedaction, func(t *messaging.Trouble) { t.Severity = messaging.Note })}, "+redaction"},
			{48 * h, all{trouble(messaging.TroubleRedaction)}, ""},
			{48*h + m, nil, ""},
			{48*h + 2*m, nil, "-redaction 48h1m0s"},
		}},
		"what is only worth a note by now is over": {[]string{"turned_away"}, []moment{
			{0, all{trouble(messaging.TroubleTurnedAway)}, "+turned_away (turned_away)"},
			{h, all{trouble(messaging.TroubleTurnedAway, func(t *messaging.Trouble) { t.Severity = messaging.Note })}, ""},
			{h + m, all{trouble(messaging.TroubleTurnedAway, func(t *messaging.Trouble) { t.Severity = messaging.Note })}, "-turned_away 1h0m0s (turned_away)"},
		}},
		"a share of its own": {[]string{"failed_rate > 5% over 1h"}, []moment{
			{0, all{trouble(messaging.TroubleFailedRate)}, ""},
			{m, all{trouble(messaging.TroubleFailedRate, func(t *messaging.Trouble) { t.Subject = "> 5% over 1h" })}, "+failed_rate (failed_rate > 5% over 1h)"},
		}},
		"each subject by itself": {[]string{All}, []moment{
			{0, all{trouble(messaging.TroubleSilent, func(t *messaging.Trouble) { t.Subject = "a" }), trouble(messaging.TroubleSilent, func(t *messaging.Trouble) { t.Subject = "b" })}, "+silent, +silent"},
			{m, all{trouble(messaging.TroubleSilent, func(t *messaging.Trouble) { t.Subject = "b" })}, ""},
			{2 * m, all{trouble(messaging.TroubleSilent, func(t *messaging.Trouble) { t.Subject = "b" })}, "-silent 1m0s"},
		}},
		"nobody is told that he cannot be told": {[]string{All}, []moment{
			{0, all{trouble(messaging.TroubleReceiver, func(t *messaging.Trouble) { t.Subject = "ops" })}, ""},
			{m, all{trouble(messaging.TroubleReceiver, func(t *messaging.Trouble) { t.Subject = "another" })}, "+receiver"},
		}},
		"a clock that is set forward": {[]string{All, "key for 4h"}, []moment{
			{0, all{key}, "+key"},
			{240 * h, all{key}, "+key (key for 4h)"},
			{240*h + 10*s, all{key}, ""},
			{240*h + m, nil, ""},
			{240*h + 2*m, nil, "-key 240h1m0s, -key 240h1m0s (key for 4h)"},
		}},
		"a clock that is set back": {[]string{All}, []moment{
			{0, all{key}, "+key"},
			{-240 * h, all{key}, ""},
			{-240*h + m, nil, ""},
			{-240*h + 2*m, nil, "-key 0s"},
			{-240*h + 3*m, all{key}, "+key"},
		}},
		"a clock that is set back while it is away": {[]string{All}, []moment{
			{0, all{key}, "+key"},
			{m, nil, ""},
			{-h, nil, ""},
			{-h + m, nil, "-key 0s"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge(Pace{}, nil)
			j.plan = planOf(t, tt.when...)
			begun := 0
			for _, one := range tt.moments {
				notices, _ := j.step(Look{At: noon.Add(one.at), Troubles: one.is})
				if one.want == "?" {
					begun += strings.Count(tell(notices), "+")
					continue
				}
				if diff := cmp.Diff(one.want, tell(notices)); diff != "" {
					t.Errorf("at %v (-want +got):\n%s", one.at, diff)
				}
			}
			if begun > 4 {
				t.Errorf("told %d times in an hour", begun)
			}
		})
	}
}

// A restart neither tells again nor forgets the end; what the process knew of the service is not gone because it was forgotten.
func TestARestartGoesOn(t *testing.T) {
	j := newJudge(Pace{}, nil)
	j.plan = planOf(t, All)
	key := trouble(messaging.TroubleKey)
	j.step(Look{At: noon, Troubles: []messaging.Trouble{key}})
	j = newJudge(Pace{}, j.alerts())
	j.plan = planOf(t, All)
	if got, _ := j.step(Look{At: noon.Add(time.Hour), Troubles: []messaging.Trouble{key}}); len(got) > 0 {
		t.Errorf("told again: %s", tell(got))
	}
	j = newJudge(Pace{}, j.alerts())
	j.plan = planOf(t, All)
	proven := time.Time{}
	gone := func(_ *messaging.Trouble, seen time.Time) bool { return proven.After(seen) }
	for _, at := range []time.Duration{2 * time.Hour, 3 * time.Hour, 4 * time.Hour} {
		if got, _ := j.step(Look{At: noon.Add(at), Gone: gone}); len(got) > 0 {
			t.Errorf("at %v nobody knows that it is over, and told %s", at, tell(got))
		}
	}
	proven = noon.Add(4*time.Hour + time.Minute)
	j.step(Look{At: noon.Add(5 * time.Hour), Gone: gone})
	if got, _ := j.step(Look{At: noon.Add(5*time.Hour + time.Minute), Gone: gone}); tell(got) != "-key 5h0m0s" {
		t.Errorf("told %s", tell(got))
	}
}

// In a copy that was put back nobody knows what was told since: what is there is told again, at once and once, and what is away is over.
func TestARestorationTellsAnew(t *testing.T) {
	halt, review, ended := trouble(messaging.TroubleHalt), trouble(messaging.TroubleReview), trouble(messaging.TroubleDisk)
	j := newJudge(Pace{}, nil)
	j.plan = planOf(t, All)
	j.step(Look{At: noon, Troubles: []messaging.Trouble{halt, review, ended}})
	j.step(Look{At: noon.Add(time.Minute), Troubles: []messaging.Trouble{halt, ended}})
	j.step(Look{At: noon.Add(2 * time.Minute), Troubles: []messaging.Trouble{halt, ended}}) // the review before is over
	j = newJudge(Pace{}, j.alerts())
	j.plan, j.restored = planOf(t, All), noon.Add(3*time.Minute)
	if got, _ := j.step(Look{At: noon.Add(3 * time.Minute), Troubles: []messaging.Trouble{halt, review}}); tell(got) != "+halt, +review" {
		t.Errorf("told %q", tell(got))
	}
	if got, _ := j.step(Look{At: noon.Add(4 * time.Minute), Troubles: []messaging.Trouble{halt, review}}); tell(got) != "-disk 3m0s" {
		t.Errorf("told %q", tell(got))
	}
	j = newJudge(Pace{}, j.alerts())
	j.plan, j.restored = planOf(t, All), noon.Add(3*time.Minute)
	if got, _ := j.step(Look{At: noon.Add(5 * time.Minute), Troubles: []messaging.Trouble{halt, review}}); len(got) > 0 {
		t.Errorf("a further start told %q", tell(got))
	}
}

// A condition that was taken out ends without a word, and tells anew when it is put back.
func TestAConditionThatIsTakenOutEndsInSilence(t *testing.T) {
	j := newJudge(Pace{}, nil)
	j.plan = planOf(t, All)
	key := []messaging.Trouble{trouble(messaging.TroubleKey)}
	j.step(Look{At: noon, Troubles: key})
	j.plan = planOf(t, "points")
	got, changed := j.step(Look{At: noon.Add(time.Minute), Troubles: key})
	if len(got) > 0 || !changed || len(j.alerts()) > 0 {
		t.Errorf("told %s, changed %t, kept %v", tell(got), changed, j.alerts())
	}
	j.plan = planOf(t, All)
	if got, _ := j.step(Look{At: noon.Add(2 * time.Minute), Troubles: key}); tell(got) != "+key" {
		t.Errorf("put back, and told %s", tell(got))
	}
}

// Whatever comes and goes, beginnings and ends take turns, and no alert begins twice within Again.
func TestBeginningsAndEndsTakeTurns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		j := newJudge(Pace{}, nil)
		j.plan = planOf(t, All, "key for 5m")
		now, open, last := noon, map[string]bool{}, map[string]time.Time{}
		for range rapid.IntRange(1, 200).Draw(rt, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(1, 300).Draw(rt, "seconds")) * time.Second)
			var is []messaging.Trouble
			if rapid.Bool().Draw(rt, "there") {
				is = append(is, trouble(messaging.TroubleKey))
			}
			if rapid.IntRange(0, 9).Draw(rt, "restart") == 0 {
				plan := j.plan
				j = newJudge(Pace{}, j.alerts())
				j.plan = plan
			}
			notices, _ := j.step(Look{At: now, Troubles: is})
			for _, n := range notices {
				over := !n.EndedAt.IsZero()
				if over != open[n.Condition] {
					rt.Fatalf("%s: over %t, and open %t", n.Condition, over, open[n.Condition])
				}
				if open[n.Condition] = !over; over {
					continue
				}
				if was, ok := last[n.Condition]; ok && now.Sub(was) < 15*time.Minute {
					rt.Fatalf("told again after %v", now.Sub(was))
				}
				last[n.Condition] = now
			}
		}
	})
}
