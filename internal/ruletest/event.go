package ruletest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// event is a webhook as its sender would post it.
func (r *reader) event(w *writtenEvent) (e Event, ok bool) {
	if w.At == nil || w.Connector == nil {
		return e, false
	}
	e.Line = line(w.At)
	if e.At, ok = r.when(w.At); !ok {
		return e, false
	}
	name := w.Connector.Text()
	if e.connector = r.env.Rules.Receivers[name]; e.connector == nil {
		var names []string
		for n := range r.env.Rules.Receivers {
			names = append(names, n)
		}
		w.Connector.Report(fmt.Sprintf("the config has no connector %q", name), nearMiss(name, names, "it has: "))
		return e, false
	}
	e.request = connectors.Request{Method: http.MethodPost, Path: "/hooks/" + name, Header: http.Header{}}
	switch {
	case w.File != nil:
		ok = r.fromFile(&e, w)
	case w.Kind != nil:
		ok = r.fromSample(&e, w)
	default:
		w.Connector.Report("says neither kind nor file", "add kind: to begin from a sample of the connector, or file: with the body of a webhook")
		return e, false
	}
	if !ok {
		return e, false
	}
	for name, value := range w.Headers {
		e.request.Header.Set(name, value)
	}
	if e.request.Header.Get("Content-Type") == "" {
		e.request.Header.Set("Content-Type", "application/json")
	}
	if w.Set != nil {
		for _, f := range w.Set.Fields() {
			if !e.set(f) {
				return e, false
			}
		}
	}
	return e, true
}

// fromFile takes a body, and the sender's word for what happened by the topic or the kind.
func (r *reader) fromFile(e *Event, w *writtenEvent) bool {
	body, ok := r.readFile(w.File)
	if !ok {
		return false
	}
	e.request.Body = connectors.FillSample(body, e.At, w.Number)
	header, topics := e.connector.TopicHeader(), e.connector.Topics()
	if header == "" || w.Headers[header] != "" {
		if w.Topic != "" {
			w.File.Report("the connector reads from the body what happened, so there is no topic", "remove topic:")
		}
		return w.Topic == ""
	}
	topic := w.Topic
	if topic == "" && w.Kind != nil {
		var kinds []string
		for t, k := range topics {
			if kinds = append(kinds, k); k == w.Kind.Text() && (topic == "" || t < topic) {
				topic = t
			}
		}
		if topic == "" {
			w.Kind.Report(fmt.Sprintf("no topic of the connector is %q", w.Kind.Text()), nearMiss(w.Kind.Text(), slices.Compact(slices.Sorted(slices.Values(kinds))), "it knows: "))
			return false
		}
	}
	if topic == "" {
		var words []string
		for t := range topics {
			words = append(words, t)
		}
		w.File.Report("its sender says in the header "+header+" what happened, and the test does not say it", nearMiss("", words, "add topic: with one of "))
		return false
	}
	e.request.Header.Set(header, topic)
	return true
}

// fromSample begins from a sample of the connector. The number is in its ids; headers have another one for each event, or the second
// would be taken for a repetition of the first.
func (r *reader) fromSample(e *Event, w *writtenEvent) bool {
	if w.Topic != "" {
		w.Kind.Report("a sample says itself what happened, so there is no topic", "remove topic:")
		return false
	}
	kind := strings.TrimPrefix(w.Kind.Text(), e.connector.Name()+".")
	samples := e.connector.SamplesAt(e.At, w.Number)
	i := slices.IndexFunc(samples, func(s connectors.Sample) bool { return s.Kind == kind })
	if i < 0 {
		var kinds []string
		for _, s := range samples {
			kinds = append(kinds, s.Kind)
		}
		hint := "the connector has no samples: name a file: with the body of a webhook"
		if len(kinds) > 0 {
			hint = nearMiss(kind, slices.Compact(slices.Sorted(slices.Values(kinds))), "name a file: with the body of a webhook, or begin from one of ")
		}
		w.Kind.Report(fmt.Sprintf("no sample of %s is of the kind %q", e.connector.Name(), kind), hint)
		return false
	}
	r.samples++
	delivery := e.connector.SamplesAt(e.At, 1_000_000*r.samples+w.Number)[i]
	e.request.Method, e.request.Body = samples[i].Method, samples[i].Body
	for name, value := range delivery.Header {
		e.request.Header.Set(name, value)
	}
	return true
}

// plainPath is a path of a mapping that leads to one value of the body, without pipes or pieces.
var plainPath = regexp.MustCompile(`^(root:)?[A-Za-z0-9_$-]+(\.[A-Za-z0-9_$-]+|\[[0-9]+\])*$`)

// set puts a value into the body, where the mapping reads the field from.
func (e *Event) set(f yamlpos.Field) bool {
	report := func(msg, hint string) bool { f.KeyNode.Report(msg, hint); return false }
	value, err := plainValue(f.Value)
	if err != nil {
		return report(err.Error(), "write a single value")
	}
	path, isRaw := strings.CutPrefix(f.Key, "raw.")
	if !isRaw {
		if path, err = e.origin(f.Key); err != nil {
			return report(err.Error(), "set it in the body itself: raw. and the path, as in raw.customer.phone")
		}
	}
	body, err := setPath(e.request.Body, strings.TrimPrefix(path, "root:"), value)
	if err != nil {
		return report(err.Error(), "use file: with a body of your own")
	}
	e.request.Body = body
	if isRaw {
		return true
	}
	if now, err := e.origin(f.Key); err != nil || now != path {
		return report("is not read from "+path+" any more once it is set there", "use file: with a body of your own")
	}
	return true
}

// origin is the path in the body that the mapping reads a field from.
func (e *Event) origin(field string) (string, error) {
	name := field
	if rest, is := strings.CutPrefix(field, "customer."); is {
		name = "contact." + rest
	}
	r := e.request
	r.Now, r.Proven = e.At, true
	_, readings, err := e.connector.Inspect(r)
	if err != nil {
		return "", fmt.Errorf("the webhook would not be taken: %w", err)
	}
	var known []string
	for _, reading := range readings {
		found := ""
		for _, o := range reading.Fields {
			known = append(known, strings.Replace(o.Field, "contact.", "customer.", 1))
			if o.Field == name && (found == "" || o.Used) {
				found = o.Path
			}
		}
		switch {
		case found == "":
		case !plainPath.MatchString(found) || strings.HasPrefix(found, "header:"):
			return "", fmt.Errorf("%s is worked out (%s), so it cannot be set by its name", field, found)
		default:
			return found, nil
		}
	}
	slices.Sort(known)
	return "", fmt.Errorf("the mapping reads no %s from this webhook; %s", field, nearMiss(field, slices.Compact(known), "it reads "))
}

// plainValue is a scalar as JSON.
func plainValue(n *yamlpos.Node) (json.RawMessage, error) {
	if n.Kind() == yamlpos.Null {
		return json.RawMessage("null"), nil
	}
	if n.Kind() != yamlpos.Scalar {
		return nil, errors.New("is " + n.Kind().String())
	}
	var plain any
	n.Decode(&plain)
	return json.Marshal(plain)
}

// setPath puts a value into a JSON body. Where a text stands there, it is a text again: senders write amounts as texts.
func setPath(body []byte, path string, value json.RawMessage) ([]byte, error) {
	var doc any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		return nil, errors.New("the body is no JSON, so nothing can be set in it")
	}
	var to any
	dec = json.NewDecoder(bytes.NewReader(value))
	dec.UseNumber()
	if err := dec.Decode(&to); err != nil {
		return nil, err
	}
	doc, err := put(doc, steps(path), to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return json.Marshal(doc)
}

// steps are the names and the places of a path.
func steps(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '.' || c == '[' || c == ']' })
}

func put(in any, path []string, value any) (any, error) {
	if len(path) == 0 {
		if n, is := value.(json.Number); is {
			if _, was := in.(string); was {
				return n.String(), nil
			}
		}
		return value, nil
	}
	switch at := in.(type) {
	case map[string]any:
		next, err := put(at[path[0]], path[1:], value)
		at[path[0]] = next
		return at, err
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(at) {
			return nil, fmt.Errorf("the list has no %s", path[0])
		}
		at[i], err = put(at[i], path[1:], value)
		return at, err
	case nil:
		next, err := put(nil, path[1:], value)
		return map[string]any{path[0]: next}, err
	default:
		return nil, fmt.Errorf("%s is inside of a single value", path[0])
	}
}
