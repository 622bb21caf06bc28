package server

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/listeners"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/refusal"
)

// An Operation is a route with the types of what is asked and of what is answered: it is served by it, described by it, and asked by it, over
// HTTP as in this process.
type Operation[In, Out any] struct {
	Route
	do func(admin, context.Context, In) (Out, error)
}

// A registered route can be served.
type registered interface {
	route() *Route
	serve(admin) http.HandlerFunc
}

func (rt *Route) route() *Route { return rt }

// table is every route of the API (routes.go). Nothing else answers below Base.
var table []registered

func register[R registered](one R, in reflect.Type, more []option) R {
	for _, set := range more {
		set(one.route())
	}
	one.route().learn(in)
	table = append(table, one)
	return one
}

func operation[In, Out any](method, path string, scope access.Scope, do func(admin, context.Context, In) (Out, error), words string, more ...option) *Operation[In, Out] {
	one := &Operation[In, Out]{Route{Method: method, Path: path, Scope: scope, Out: *new(Out), Words: words}, do}
	if method != http.MethodGet {
		one.needs, one.Changes = needsDaemon, true
	}
	return register(one, reflect.TypeFor[In](), more)
}

// of is what a feature does, a part of the daemon that the API asks.
func of[F, In, Out any](feature func(admin) F, do func(F, context.Context, In) (Out, error)) func(admin, context.Context, In) (Out, error) {
	return func(a admin, ctx context.Context, in In) (Out, error) { return do(feature(a), ctx, in) }
}

// reads is a route that changes nothing.
func reads[In, Out any](path string, scope access.Scope, do func(admin, context.Context, In) (Out, error), words string, more ...option) *Operation[In, Out] {
	return operation(http.MethodGet, path, scope, do, words, more...)
}

// does is a route that does something by the running daemon.
func does[In, Out any](path string, scope access.Scope, do func(admin, context.Context, In) (Out, error), words string, more ...option) *Operation[In, Out] {
	return operation(http.MethodPost, path, scope, do, words, more...)
}

// removes is a route that takes something away by the running daemon.
func removes[In, Out any](path string, scope access.Scope, do func(admin, context.Context, In) (Out, error), words string, more ...option) *Operation[In, Out] {
	return operation(http.MethodDelete, path, scope, do, words, more...)
}

// asked is what a route is asked, by whichever way.
type asked struct {
	texts
	unread error                  // why its query cannot be read
	body   func() ([]byte, error) // as it came, or would
}

// invoke does an operation for whom the context names, and gives what that one may see of the answer. read gives what is asked.
func (o *Operation[In, Out]) invoke(ctx context.Context, a admin, q *asked, read func() (In, error)) (out Out, no *refusal.Error) {
	no = a.guard(ctx, &o.Route, q, func() error {
		in, err := read()
		if err == nil {
			out, err = o.do(a, ctx, in)
		}
		return err
	})
	if no != nil {
		return *new(Out), no
	}
	return Seen(ctx, out), nil
}

// Call asks for the operation. A rejection is an *Error.
func (o *Operation[In, Out]) Call(ctx context.Context, c *Client, in In) (out Out, err error) {
	t, err := o.write(reflect.ValueOf(in))
	if err != nil {
		return out, err
	}
	if c.api != nil {
		out, no := o.invoke(c.withWho(ctx), c.api.admin, given(&o.Route, t, &in), func() (In, error) { return reread(&o.Route, &t, in) })
		if no != nil {
			return out, no
		}
		return mask.Copy(out), nil
	}
	res, err := c.request(ctx, &o.Route, t, reflect.ValueOf(in))
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return out, fmt.Errorf("read the daemon's answer: %w", err)
	}
	return out, nil
}

// given is what is asked in this process.
func given[In any](rt *Route, t texts, in *In) *asked {
	return &asked{texts: t, body: func() ([]byte, error) { return rt.writeBody(reflect.ValueOf(in).Elem()) }}
}

// reread is a request of this process as HTTP would bring it, so that what is wrong with it is refused by the same words.
func reread[In any](rt *Route, t *texts, in In) (In, error) {
	err := rt.readTexts(t, reflect.ValueOf(&in).Elem())
	if err == nil {
		err = rt.check(&in)
	}
	return in, err
}

// came is what is asked over HTTP.
func came(rt *Route, w http.ResponseWriter, r *http.Request) *asked {
	q := &asked{texts: texts{path: map[string]string{}, header: r.Header}}
	for i := range rt.parts {
		if p := &rt.parts[i]; p.place == inPath {
			q.path[p.name] = r.PathValue(p.name)
		}
	}
	q.query, q.unread = url.ParseQuery(r.URL.RawQuery)
	q.body = sync.OnceValues(func() ([]byte, error) {
		most := rt.most
		if most == 0 {
			most = maxRequest
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
		if err != nil {
			return nil, badBody(err)
		}
		return body, nil
	})
	return q
}

// readAsked reads what is asked over HTTP.
func readAsked[In any](rt *Route, q *asked) (in In, err error) {
	body, err := q.body()
	if err == nil {
		err = rt.readBody(body, reflect.ValueOf(&in).Elem())
	}
	if err == nil {
		err = rt.readTexts(&q.texts, reflect.ValueOf(&in).Elem())
	}
	if err == nil {
		err = rt.check(&in)
	}
	return in, err
}

func (o *Operation[In, Out]) serve(a admin) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		listeners.Working(w)
		q := came(&o.Route, w, r)
		out, no := o.invoke(r.Context(), a, q, func() (In, error) { return readAsked[In](&o.Route, q) })
		if no != nil {
			a.refuse(w, no)
			return
		}
		a.write(w, http.StatusOK, "application/json", out)
	}
}

// A Stream is a route whose answer is a list of any length: no more of it is in memory than what is written. As lines of JSON, each is a row,
// and the last says that it is whole; as CSV, where the route has it, the rows are those of a table.
type Stream[In, Row any] struct {
	Route
	do    func(a admin, ctx context.Context, in In, each func(*Row) error) error
	line  func(*Row) any
	few   bool   // it asks the database without a pause: few may be under way at a time
	file  string // what the list is called as a file; "" for lines alone
	head  []string
	cells func(*Row) [][]string
}

// streams is a route that reads a list of any length.
func streams[In, Row any](one *Stream[In, Row], path string, scope access.Scope, out any, words string, more ...option) *Stream[In, Row] {
	one.Route = Route{Method: http.MethodGet, Path: path, Scope: scope, Out: out, Words: words, discloses: ofAll, patient: true, lines: true}
	return register(one, reflect.TypeFor[In](), more)
}

// A reader takes the rows of a stream, and its end.
type reader[Row any] interface {
	put(*Row) error
	end() error
}

// each gives the rows to a reader as whom the context names may see them; enough is what the reader said when it ended the list.
func (s *Stream[In, Row]) each(ctx context.Context, a admin, q *asked, read func() (In, error), to reader[Row]) (no *refusal.Error, enough error) {
	no = a.guard(ctx, &s.Route, q, func() error {
		in, err := read()
		if err != nil {
			return err
		}
		if s.few {
			select {
			case a.exports <- struct{}{}:
				defer func() { <-a.exports }()
			default:
				return &refusal.Error{
					Status: http.StatusServiceUnavailable, Words: mask.Sprintf("%d exports are under way, and no more may be", mostExports), Hint: "try again when one of them has ended", Wait: exportWait,
				}
			}
		}
		err = s.do(a, ctx, in, func(row *Row) error { enough = to.put(Seen(ctx, row)); return enough })
		switch {
		case enough != nil:
			return nil
		case err == nil:
			enough = to.end()
		}
		return err
	})
	return no, enough
}

// A rowReader is a reader in this process.
type rowReader[Row any] func(*Row) error

func (r rowReader[Row]) put(row *Row) error { return r(mask.Copy(row)) }
func (rowReader[Row]) end() error           { return nil }

// Each calls each for every row, while the answer comes in. An answer that was cut short is an error.
func (s *Stream[In, Row]) Each(ctx context.Context, c *Client, in In, each func(*Row) error) (err error) {
	t, err := s.write(reflect.ValueOf(in))
	if err != nil {
		return err
	}
	if c.api != nil {
		read := func() (In, error) { return reread(&s.Route, &t, in) }
		no, enough := s.each(c.withWho(ctx), c.api.admin, given(&s.Route, t, &in), read, rowReader[Row](each))
		if no != nil {
			return no
		}
		return enough
	}
	res, err := c.request(ctx, &s.Route, t, reflect.ValueOf(in))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	dec := json.NewDecoder(bufio.NewReaderSize(res.Body, 1<<16))
	for {
		var line struct { // a line of any route
			Event, Message, Row *Row
			End                 bool
		}
		if err := dec.Decode(&line); err != nil {
			return fmt.Errorf("the daemon's answer was cut short: %w", err)
		}
		for _, row := range []*Row{line.Event, line.Message, line.Row} {
			if row == nil {
				continue
			}
			if err := each(row); err != nil {
				return err
			}
		}
		if line.End {
			return nil
		}
	}
}

// Address is where a browser gets the list as a table, below the console's.
func (s *Stream[In, Row]) Address(in In) string {
	t, err := s.write(reflect.ValueOf(in))
	if err != nil {
		return ""
	}
	t.query.Set("format", "csv")
	return Base + s.Path + "?" + t.query.Encode()
}

func (s *Stream[In, Row]) serve(a admin) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		listeners.Working(w)
		q := came(&s.Route, w, r)
		to := &listWriter[In, Row]{of: s, to: w, ctx: r.Context()}
		read := func() (in In, err error) {
			if in, err = readAsked[In](&s.Route, q); err == nil {
				to.table, err = s.asTable(q)
			}
			to.begin = func() { s.announce(a, w, to.table) }
			return in, err
		}
		no, gone := s.each(r.Context(), a, q, read, to)
		switch {
		case no != nil && to.rows == 0:
			a.refuse(w, no)
		case no != nil || gone != nil:
			a.Log.Debug("a list was cut short", zap.String("action", s.action()), zap.Int64("rows", to.rows), zap.Error(gone))
			panic(http.ErrAbortHandler) // half a list must not look whole
		}
	}
}

// announce says what follows.
func (s *Stream[In, Row]) announce(a admin, w http.ResponseWriter, table bool) {
	kind, ext := "application/x-ndjson", "jsonl"
	if table {
		kind, ext = "text/csv; charset=utf-8", "csv"
	}
	w.Header().Set("Content-Type", kind)
	if s.file != "" {
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": s.file + "-" + a.Now().UTC().Format(time.DateOnly) + "." + ext}))
	}
}

// asTable reports whether a list is asked for as CSV, by ?format= or else by Accept.
func (s *Stream[In, Row]) asTable(q *asked) (bool, error) {
	switch format := q.query.Get("format"); format {
	case "csv":
		return true, nil
	case "jsonl":
		return false, nil
	case "":
		return s.cells != nil && strings.Contains(q.header.Get("Accept"), "text/csv"), nil
	default:
		return false, refusal.Fieldf("format", "", "format %q: want csv or jsonl", format)
	}
}

// answerEach is how many rows are written before whoever reads them has time anew.
const answerEach = 500

// A listWriter writes rows as an answer, which begins with the first of them.
type listWriter[In, Row any] struct {
	of    *Stream[In, Row]
	to    http.ResponseWriter
	ctx   context.Context // of the request: whoever is gone reads no more
	table bool
	begin func()

	rows int64
	buf  *bufio.Writer
	csv  *csv.Writer
}

func (l *listWriter[In, Row]) start() error {
	if l.buf != nil {
		return nil
	}
	l.begin()
	l.buf = bufio.NewWriterSize(l.to, 1<<16)
	l.csv = csv.NewWriter(l.buf)
	if l.table {
		return l.csv.Write(l.of.head) //nolint:wrapcheck // whoever asked is gone
	}
	return nil
}

func (l *listWriter[In, Row]) put(row *Row) error {
	if err := errors.Join(l.start(), l.ctx.Err()); err != nil {
		return err
	}
	if l.rows%answerEach == 0 {
		listeners.Answering(l.to)
	}
	l.rows++
	if !l.table {
		return json.NewEncoder(l.buf).Encode(l.of.line(row)) //nolint:wrapcheck // whoever asked is gone
	}
	for _, cells := range l.of.cells(row) {
		if err := l.csv.Write(cells); err != nil {
			return err //nolint:wrapcheck // whoever asked is gone
		}
	}
	return nil
}

// end says that the list is whole.
func (l *listWriter[In, Row]) end() error {
	err := l.start()
	if err == nil && !l.table {
		err = json.NewEncoder(l.buf).Encode(EventLine{End: true, Rows: l.rows}) // it is the same of every list
	}
	l.csv.Flush()
	return errors.Join(err, l.csv.Error(), l.buf.Flush())
}
