package connectors

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/connectors/problems"
	"github.com/nudgewire/nudgewire/internal/units"
)

// defaultTolerance is how old a signed time may be: what Stripe's, HubSpot's and the Standard
// Webhooks libraries use.
const defaultTolerance = 5 * time.Minute

// A Timestamp says where the time of a request is and how old it may be. Exactly one of
// Header, List and Body is set.
type Timestamp struct {
	Header string `yaml:"header" doc:"The header that holds it."`
	List   string `yaml:"list" doc:"The entry of the signature's list that holds it." example:"t"`
	Body   string `yaml:"body" doc:"The path in the body that holds it; it is read after the signature was found right."`
	Unit   string `yaml:"unit" validate:"oneof=s ms rfc3339 http_date auto" doc:"How it is written; auto distinguishes seconds from milliseconds by size."`

	Optional  bool            `yaml:"optional" doc:"For freshness: a request without a time is taken."`
	Tolerance units.Duration  `yaml:"tolerance" doc:"How old it may be; 5m unless said otherwise." example:"5m"`
	Skew      *units.Duration `yaml:"skew" doc:"How far in the future it may be, as clocks differ; as much as tolerance unless said otherwise."`
}

// A stamp is a compiled Timestamp.
type stamp struct {
	header    string              // canonical; or
	list      string              // entry of the signature's list; or
	body      *mapping.Expr       // path in the body
	alone     *mapping.Standalone // reads it
	reader    *bodyReader
	unit      string
	tolerance time.Duration
	skew      time.Duration
	optional  bool
}

// stale is why a time is not acceptable now; "" when it is.
func (s *stamp) stale(text string, now time.Time) string {
	t, ok := mapping.ParseTime(text, s.unit, time.UTC)
	if !ok {
		if s.body != nil { // what a body holds is not repeated
			return fmt.Sprintf("the timestamp in the body, of %s, cannot be read as %s", problems.Count(len(text), "character"), unitWords(s.unit))
		}
		return fmt.Sprintf("the timestamp %q cannot be read as %s", problems.Short(text), unitWords(s.unit))
	}
	// Times are compared, not durations: one of those ends at 292 years, and its negative is then wrong.
	switch {
	case t.Before(now.Add(-s.tolerance)):
		return fmt.Sprintf("the timestamp is %s, more than %s", ago(now, t), s.tolerance)
	case t.After(now.Add(s.skew)):
		return fmt.Sprintf("the timestamp is %s, more than %s", ago(now, t), s.skew)
	}
	return ""
}

// fromBody is the time in the body, as mapping reads that.
func (s *stamp) fromBody(r *Request) (text, reason string) {
	v, err := s.reader.viewOf(r, s.alone)
	if err != nil {
		if s.optional {
			return "", "" // what is wrong with the body is said by whoever reads it next
		}
		return "", "the body that should hold the time cannot be read: " + err.Error()
	}
	if text = s.body.Text(&v); text == "" && !s.optional {
		return "", "the body has no " + s.body.Source + ", where the time should be"
	}
	return text, ""
}

// write is now in the stamp's unit.
func (s *stamp) write(now time.Time) string {
	switch s.unit {
	case mapping.UnitMillis:
		return strconv.FormatInt(now.UnixMilli(), 10)
	case mapping.UnitRFC3339:
		return now.UTC().Format(time.RFC3339)
	case mapping.UnitHTTP:
		return now.UTC().Format(http.TimeFormat)
	default:
		return strconv.FormatInt(now.Unix(), 10)
	}
}

func unitWords(unit string) string {
	switch unit {
	case mapping.UnitSeconds:
		return "seconds since 1970"
	case mapping.UnitMillis:
		return "milliseconds since 1970"
	case mapping.UnitRFC3339:
		return "2006-01-02T15:04:05Z"
	case mapping.UnitHTTP:
		return "an HTTP date"
	default:
		return "a time"
	}
}

func (k *compiler) stamp(path string, t *Timestamp, inList bool, body *bodyReader) *stamp {
	s := &stamp{reader: body, unit: t.Unit, tolerance: t.Tolerance.D(), optional: t.Optional}
	if s.unit == "" {
		s.unit = mapping.UnitAuto
	}
	if s.tolerance == 0 {
		s.tolerance = defaultTolerance
	}
	if window := cmp.Or(k.config.Dedupe.Window.D(), defaultDedupeWindow); s.tolerance > window {
		k.Warn(path+".tolerance", fmt.Sprintf("is longer than dedupe.window, %s: a copied request is a new event once the first is forgotten", units.Duration(window)), "5m is usual")
	}
	s.skew = s.tolerance
	if t.Skew != nil {
		s.skew = t.Skew.D()
	}
	sources := 0
	if t.Header != "" {
		sources++
		s.header = http.CanonicalHeaderKey(t.Header)
	}
	if t.List != "" {
		sources++
		s.list = t.List
		if !inList {
			k.Add(path+".list", "names an entry of a list, but the signature is none", "write signature.list, or header: for a header of its own")
			return nil
		}
	}
	if t.Body != "" {
		sources++
		e := k.Expr(path+".body", t.Body)
		if e == nil {
			return nil
		}
		s.body, s.alone = e, mapping.StandAlone(e)
	}
	if sources != 1 {
		k.Add(path, "wants exactly one of header, list and body", "write where the time is")
		return nil
	}
	return s
}
