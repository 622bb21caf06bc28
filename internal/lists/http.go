package lists

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nudgewire/nudgewire/internal/backoff"
	"github.com/nudgewire/nudgewire/internal/mask"
	"github.com/nudgewire/nudgewire/internal/netguard"
)

// A webSource reads a list behind a web address, page by page.
type webSource struct {
	name    string
	http    HTTP
	origin  Origin
	pause   func(ctx context.Context, d time.Duration) // between attempts
	publish string                                     // what an HTML page in place of the list means
}

func openHTTP(o Origin, _ string) (Source, error) {
	u, err := url.Parse(o.HTTP.URL)
	if err != nil {
		return nil, &wordError{"is not a web address", "write it like https://crm.example.com/api/contacts"}
	}
	return &webSource{name: "http " + u.Host + u.Path, http: *o.HTTP, origin: o, pause: backoff.Sleep}, nil
}

// String is host and path; parameters may hold secrets.
func (s *webSource) String() string { return s.name }

// Open asks for the first page.
func (s *webSource) Open(ctx context.Context) (_ Rows, err error) {
	t := transport(s.http.AllowPrivate)
	w := &webRows{vigil: s.origin.vigil(ctx), source: s, transport: t, left: s.origin.MaxBytes.Bytes()}
	if w.left <= 0 {
		w.left = 4e9
	}
	w.client = &http.Client{Transport: t, CheckRedirect: w.redirect}
	defer func() {
		if err != nil {
			err = errors.Join(w.explain(err), w.Close())
		}
	}()
	if w.first, err = url.Parse(s.http.URL); err != nil {
		return nil, errors.New("the address cannot be read")
	}
	w.next = w.address(w.position())
	if err := w.turn(); err != nil {
		return nil, err
	}
	w.header = w.at.Header()
	return w, nil
}

// webRows reads page after page.
type webRows struct {
	vigil     *vigil
	source    *webSource
	client    *http.Client
	transport *http.Transport
	first     *url.URL
	next      *url.URL // nil after the last page
	pages     paging
	at        page
	link      *url.URL // the Link header of the page at hand
	header    []string
	unsized   bool  // the answer at hand has no length, so its end may be where the connection broke
	left      int64 // bytes
	n         int64
	texts     textWays
	notes     []string
	unsure    string // what cannot be known about an answer
}

// A page is what one answer holds.
type page interface {
	Rows
	// cursor is the value at the path, once the page was read to its end.
	cursor(path string) string
}

// Header are the columns of the first page.
func (w *webRows) Header() []string { return w.header }

// ReadAs says how the pages of text were read.
func (w *webRows) ReadAs() string { return w.texts.String() }

// Notes are what is worth a look although the list was read whole.
func (w *webRows) Notes() []string { return w.notes }

// Next reads on, from page to page.
func (w *webRows) Next() (Row, int64, error) {
	row, line, err := w.nextOnPage()
	for errors.Is(err, io.EOF) {
		if err = w.turnOver(); errors.Is(err, io.EOF) {
			return nil, w.n, err
		}
		if err == nil {
			row, line, err = w.nextOnPage()
		}
	}
	if _, bad := errors.AsType[*RowError](err); err != nil && !bad {
		return nil, w.n, w.explain(err)
	}
	w.n++
	if w.source.http.Pages == nil && w.source.csv(w.at) {
		return row, line, err
	}
	return row, w.n, err
}

// nextOnPage reads one row of the page at hand; io.EOF behind its last.
func (w *webRows) nextOnPage() (Row, int64, error) {
	if w.at == nil { // behind the end of the list
		return nil, 0, io.EOF
	}
	if w.source.http.Pages == nil {
		return w.at.Next()
	}
	return w.pages.next(w.at)
}

// turnOver opens the page behind the one that was read; io.EOF when that was the last.
func (w *webRows) turnOver() error {
	if w.next == nil {
		return io.EOF
	}
	if c, ok := w.at.(*csvPage); ok {
		w.texts.add(c.Rows)
		if text, ok := c.Rows.(*csvRows); ok && w.unsized {
			if text.watch.last != '\n' {
				return &awayError{errors.New("the answer may have broken off in its last row: it says nowhere how long it is, and has no line end there")}
			}
			w.unsure = "the server does not say how long its answer is: one that breaks off between two rows would look whole"
		}
	}
	var err error
	if w.next, err = w.after(); err != nil {
		return err
	}
	if w.next != nil {
		if err = w.turn(); !errors.Is(err, errNoPage) {
			return err
		}
		w.next = nil
	}
	return w.end()
}

func (s *webSource) csv(p page) bool { _, ok := p.(*csvPage); return ok }

// explain names the source and the page.
func (w *webRows) explain(err error) error {
	err = w.vigil.explain(err)
	if w.source.http.Pages != nil && w.pages.number > 0 {
		err = fmt.Errorf("page %d: %w", w.pages.number, err)
	}
	return within(w.source.name, err)
}

// Close ends the reading.
func (w *webRows) Close() error {
	var err error
	if w.at != nil {
		err = w.at.Close()
		w.at = nil
	}
	w.vigil.close()
	w.transport.CloseIdleConnections()
	return err
}

func (p *Pages) size() int {
	if p.Size > 0 {
		return p.Size
	}
	return 100
}

func (p *Pages) first() int {
	if p.First != nil {
		return *p.First
	}
	return 1
}

func (p *Pages) param() string {
	if p.Param != "" {
		return p.Param
	}
	return p.By
}

// after is the address of the page behind the one that was read; nil for none.
func (w *webRows) after() (*url.URL, error) {
	p := w.source.http.Pages
	if p == nil {
		return nil, nil // no further page is no error
	}
	if err := w.pages.read(w.at, p); err != nil {
		return nil, err
	}
	switch p.By {
	case "link":
		return w.link, nil
	case "cursor":
		cursor := w.at.cursor(p.Cursor)
		if cursor == "" {
			return nil, nil // the last page
		}
		if next, err := url.Parse(cursor); err == nil && next.IsAbs() && next.Host != "" {
			return w.onward(cursor)
		}
		return w.address(cursor), nil
	}
	if ended, err := w.pages.ended(w.n, p); ended || err != nil {
		return nil, err
	}
	return w.address(w.position()), nil
}

// position is what a page that is counted is asked for by: its number, or that of its first row.
func (w *webRows) position() string {
	switch p := w.source.http.Pages; {
	case p != nil && p.By == "page":
		return strconv.Itoa(p.first() + w.pages.number)
	case p != nil && p.By == "offset":
		return strconv.FormatInt(w.n, 10)
	default:
		return ""
	}
}

// address is that of the page at a position or cursor; "" for the first of those that are not counted.
func (w *webRows) address(at string) *url.URL {
	p := w.source.http.Pages
	if p == nil || p.SizeBy == "" && at == "" {
		return w.first
	}
	next := *w.first
	q := next.Query()
	if p.SizeBy != "" {
		q.Set(p.SizeBy, strconv.Itoa(p.size()))
	}
	if at != "" {
		q.Set(p.param(), at)
	}
	next.RawQuery = q.Encode()
	return &next
}

// end looks at the list as a whole; io.EOF when nothing speaks against it.
func (w *webRows) end() error {
	if c, ok := w.at.(*csvPage); ok {
		if one, ok := c.Rows.(noted); ok {
			w.notes = append(w.notes, one.Notes()...)
		}
	}
	if w.unsure != "" {
		w.notes = append(w.notes, w.unsure)
	}
	p := w.source.http.Pages
	if p == nil {
		for _, path := range nextPaths {
			if w.at != nil && w.at.cursor(path) != "" {
				w.notes = append(w.notes, fmt.Sprintf("the answer names a next page (%s), which is not read: see source.http.pages", path))
				break
			}
		}
		return io.EOF
	}
	if err := w.pages.whole(w.n, p); err != nil {
		return err
	}
	w.notes = append(w.notes, w.pages.notes(p)...)
	return io.EOF
}

// maxTries is how often one page is asked for. Reading changes nothing, so asking again is
// safe; an answer that broke off half-way is not asked for again, because rows of it are gone.
const maxTries = 3

// turn opens the next page.
func (w *webRows) turn() error {
	if w.at != nil {
		err := w.at.Close()
		w.at = nil
		if err != nil {
			return err
		}
	}
	p := w.source.http.Pages
	if err := w.pages.begin(w.next.String(), p); err != nil {
		return err
	}
	for try := 1; ; try++ {
		answer, wait, err := w.ask()
		if err == nil {
			err = w.open(answer)
			if errors.Is(err, ErrEmpty) && w.pages.number > 1 && p.numbered() {
				return errNoPage // nothing at all stands for a page without rows
			}
			return err
		}
		err = w.pages.behind(err, w.n, p)
		if try == maxTries || wait < 0 || w.vigil.ctx.Err() != nil {
			return err
		}
		w.source.pause(w.vigil.ctx, max(wait, backoff.Next(try, time.Second, 10*time.Second, backoff.Jitter())))
	}
}

// ask makes one request. wait is how long to wait before another; -1 when that cannot help.
func (w *webRows) ask() (answer *http.Response, wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(w.vigil.ctx, http.MethodGet, w.next.String(), nil)
	if err != nil {
		return nil, -1, errors.New("the address cannot be read")
	}
	h := &w.source.http
	r.Header.Set("Accept", "application/json, text/csv;q=0.9, */*;q=0.1")
	r.Header.Set("User-Agent", "nudgewire")
	if sameHost(w.first, w.next) {
		for _, one := range h.Headers {
			r.Header.Set(one.Key, one.Value.Reveal())
		}
		switch {
		case !h.Bearer.IsZero():
			r.Header.Set("Authorization", "Bearer "+h.Bearer.Reveal())
		case h.User != "":
			r.SetBasicAuth(h.User, h.Password.Reveal())
		}
	}
	answer, err = w.client.Do(r)
	if err == nil {
		answer.Body = watchedBody{answer.Body, w.vigil}
	}
	if err != nil {
		if bad, ok := errors.AsType[*url.Error](err); ok {
			err = bad.Err // the address may hold a secret
		}
		if errors.Is(err, netguard.ErrPrivate) || errors.Is(err, errElsewhere) {
			return nil, -1, err
		}
		return nil, 0, &strangeError{err, mask.Error(err, r.URL)}
	}
	if answer.StatusCode == http.StatusOK {
		return answer, 0, nil
	}
	words := mask.Answer(answer)
	_ = answer.Body.Close()
	if words != "" && words[0] != '<' {
		words = ": " + words
	} else {
		words = ""
	}
	err = &statusError{answer.StatusCode, "the server answered " + mask.Error(errors.New(answer.Status), r.URL) + words}
	switch {
	case answer.StatusCode == http.StatusTooManyRequests, answer.StatusCode >= 500:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // a date, or nothing, counts as 0
		return nil, time.Duration(min(max(seconds, 0), 60)) * time.Second, err
	case answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusForbidden:
		return nil, -1, &wordError{err.Error(), "check bearer, user and password, or headers of the source"}
	default:
		return nil, -1, err
	}
}

// A strangeError is why nothing was answered, in words that may be shown: it may repeat what a stranger sent in place of HTTP.
type strangeError struct {
	error
	text string
}

func (e *strangeError) Error() string { return e.text }
func (e *strangeError) Unwrap() error { return e.error }

// A statusError is an answer that holds no page.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

var errElsewhere = errors.New("leads to another host, which must not get the credentials and parameters of this one")

func sameHost(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// redirect follows to other hosts only while there is nothing secret to carry there.
func (w *webRows) redirect(r *http.Request, via []*http.Request) error {
	r.Header.Del("Referer") // it is the address before, with the parameters
	if len(via) > 5 {
		return errors.New("more than five redirects")
	}
	if !sameHost(w.first, r.URL) && w.source.secretive() {
		return fmt.Errorf("a redirect %w", errElsewhere)
	}
	return nil
}

// secretive reports whether a request holds what another host must not get. Parameters may be keys; those of
// a sheet are none, and Google leads to another host of its own.
func (s *webSource) secretive() bool {
	return !s.http.Bearer.IsZero() || s.http.User != "" || len(s.http.Headers) > 0 || s.origin.Sheet == "" && strings.Contains(s.http.URL, "?")
}

// onward is the address of the next page as an answer gives it. Another host gets no secret.
func (w *webRows) onward(address string) (*url.URL, error) {
	u, err := w.next.Parse(address)
	switch {
	case err != nil:
		return nil, errors.New("what should be the address of the next page is none")
	case !sameHost(w.first, u) && w.source.secretive():
		return nil, fmt.Errorf("the next page %w", errElsewhere)
	default:
		return u, nil
	}
}

// open begins to read an answer.
func (w *webRows) open(answer *http.Response) error {
	w.link = nil
	next := nextLink(answer.Header)
	switch p := w.source.http.Pages; {
	case next == "":
	case p == nil && w.source.origin.Sheet == "":
		return errors.Join(&wordError{"this is one page of a longer list: the answer has a Link to the next", "set source.http.pages: {by: link}"}, answer.Body.Close())
	case p != nil && p.By == "link":
		var err error
		if w.link, err = w.onward(next); err != nil {
			return errors.Join(err, answer.Body.Close())
		}
	}
	w.unsized = answer.ContentLength < 0 && !answer.Uncompressed && answer.ProtoMajor == 1 && len(answer.TransferEncoding) == 0
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")) // none is unknown
	if kind == "text/html" {
		what := "the answer is a web page, not a list"
		if w.source.publish != "" {
			what = w.source.publish
		}
		return errors.Join(errors.New(what), answer.Body.Close())
	}
	body := &limitedBody{limited{r: answer.Body, left: w.left, read: new(int64)}, answer.Body, w}
	format := w.source.http.Format
	if format == "" || format == "auto" {
		format = "json"
		if kind == "text/csv" || kind == "text/tab-separated-values" || strings.HasPrefix(kind, "text/comma") {
			format = "csv"
		}
		if !strings.Contains(kind, "json") && format == "json" {
			buffered := bufio.NewReaderSize(body, sample)
			if c := firstCharacter(buffered); c != '[' && c != '{' {
				format = "csv"
			}
			return w.openAs(format, buffered, body)
		}
	}
	return w.openAs(format, bufio.NewReaderSize(body, sample), body)
}

func (w *webRows) openAs(format string, text *bufio.Reader, body io.Closer) (err error) {
	if format == "csv" {
		var rows Rows
		rows, err = readTable(w.vigil.ctx, joined{text, body}, w.source.origin, new(int64))
		if err == nil {
			w.at = &csvPage{rows}
		}
	} else {
		var p *jsonPage
		p, err = readJSON(text, body, w.source.http.Items, w.header)
		if err == nil {
			w.at = p
		}
	}
	if err != nil {
		return errors.Join(err, body.Close())
	}
	if c, ok := w.at.(*csvPage); ok && w.header != nil && Names(c.Header()) != Names(w.header) {
		return fmt.Errorf("has the columns %s, and the first page has %s", Names(c.Header()), Names(w.header))
	}
	return nil
}

type joined struct {
	io.Reader
	io.Closer
}

// limitedBody counts the bytes of a page against those of the whole list.
type limitedBody struct {
	limited
	io.Closer
	rows *webRows
}

func (b *limitedBody) Close() error {
	b.rows.left -= *b.read
	return b.Closer.Close()
}

// firstCharacter is the first character that is no space.
func firstCharacter(r *bufio.Reader) byte {
	head, _ := r.Peek(512) // a shorter answer is looked at as far as it goes
	text := strings.TrimLeft(strings.TrimPrefix(string(head), "\xef\xbb\xbf"), " \t\r\n")
	if text == "" {
		return 0
	}
	return text[0]
}

// nextLink is the target of rel="next" in Link headers (RFC 8288).
func nextLink(h http.Header) string {
	for _, line := range h.Values("Link") {
		for line != "" {
			_, rest, found := strings.Cut(line, "<")
			if !found {
				break
			}
			target, rest, found := strings.Cut(rest, ">")
			if !found {
				break
			}
			params := rest
			if i := strings.Index(rest, ",<"); i >= 0 {
				params, line = rest[:i], rest[i:]
			} else if i := strings.Index(rest, ", <"); i >= 0 {
				params, line = rest[:i], rest[i:]
			} else {
				line = ""
			}
			for param := range strings.SplitSeq(params, ";") {
				key, value, _ := strings.Cut(strings.TrimSpace(param), "=")
				value = strings.Trim(strings.TrimSpace(value), `"`)
				if strings.EqualFold(strings.TrimSpace(key), "rel") && strings.EqualFold(value, "next") {
					return target
				}
			}
		}
	}
	return ""
}

// csvPage is a page of CSV; it holds no cursor.
type csvPage struct{ Rows }

func (*csvPage) cursor(string) string { return "" }
