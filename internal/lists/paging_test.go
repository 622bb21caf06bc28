package lists

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A pagedServer serves a paged list with the habits of one that somebody runs.
type pagedServer struct {
	rows   int
	most   int                         // rows a page, whatever is asked for
	drop   func(row int) bool          // rows that are hidden after pages were cut
	behind func(w http.ResponseWriter) // its answer behind the last page; nil for an empty one
	repeat bool                        // it gives the last page again
	deaf   bool                        // it does not know page
	wrap   func(items string) string   // the answer around the list
	asked  []string
}

func (s *pagedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.asked = append(s.asked, q.Get("page")+q.Get("offset"))
	size := s.most
	if n, err := strconv.Atoi(q.Get("limit")); err == nil {
		size = min(n, s.most)
	}
	begin := 0
	if n, err := strconv.Atoi(q.Get("page")); err == nil && !s.deaf {
		begin = (n - 1) * size
	}
	if n, err := strconv.Atoi(q.Get("offset")); err == nil {
		begin = n
	}
	if begin >= s.rows && s.repeat {
		begin = (s.rows - 1) / size * size
	}
	if begin >= s.rows && s.behind != nil {
		s.behind(w)
		return
	}
	var items []string
	for i := begin; i < min(begin+size, s.rows); i++ {
		if s.drop == nil || !s.drop(i) {
			items = append(items, fmt.Sprintf(`{"phone":"44%d"}`, i))
		}
	}
	text := "[" + strings.Join(items, ",") + "]"
	if s.wrap != nil {
		text = s.wrap(text)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, text)
}

func countingTo(total int) func(string) string {
	return func(items string) string { return fmt.Sprintf(`{"total":%d,"items":%s}`, total, items) }
}

func notFound(w http.ResponseWriter) {
	http.Error(w, `{"detail":"Invalid page."}`, http.StatusNotFound)
}

func TestAPagedListEndsWhereItsRowsEnd(t *testing.T) {
	byPage := Pages{By: "page", Size: 500, SizeBy: "limit"}
	byOffset := Pages{By: "offset", Size: 500, SizeBy: "limit"}
	ten := Pages{By: "page", Size: 10, SizeBy: "limit"}
	unsized := Pages{By: "page"}
	totalled := func(p Pages) Pages { p.Total = "total"; return p }
	tests := map[string]struct {
		server pagedServer
		pages  Pages
		rows   int    // -1 for those of the server
		end    string // a part of the error
		note   string // a part of the one note
	}{
		"a page number, and a server that caps the size": {pagedServer{rows: 1050, most: 100}, byPage, -1, "", "the server gives at most 100 rows a page, and 500 were asked for"},
		"an offset, and a server that caps the size":     {pagedServer{rows: 1050, most: 100}, byOffset, -1, "", "the server gives at most 100 rows a page, and 500 were asked for"},
		"a cap, and pages that are all full":             {pagedServer{rows: 300, most: 100}, byPage, -1, "", "at most 100 rows a page"},
		"a size that the server keeps to":                {pagedServer{rows: 1050, most: 500}, byPage, -1, "", ""},
		"one page":                                       {pagedServer{rows: 40, most: 500}, byPage, -1, "", ""},
		"no size is sent":                                {pagedServer{rows: 25, most: 10}, unsized, -1, "", ""},
		"rows hidden after the pages were cut":           {pagedServer{rows: 95, most: 10, drop: func(i int) bool { return i/10 == 3 && i%10 > 0 }}, ten, 86, "", ""},
		"a short first page, and full ones behind it":    {pagedServer{rows: 40, most: 10, drop: func(i int) bool { return i < 7 }}, ten, 33, "", ""},

		"404 behind a short page":            {pagedServer{rows: 25, most: 10, behind: notFound}, ten, -1, "", "answers 404 to page 4"},
		"404 behind the only page":           {pagedServer{rows: 5, most: 10, behind: notFound}, ten, -1, "", "answers 404 to page 2"},
		"404 behind a page that is full":     {pagedServer{rows: 20, most: 10, behind: notFound}, ten, 20, "page 3: the server answered 404 Not Found", ""},
		"404 where a count says the end":     {pagedServer{rows: 20, most: 10, behind: notFound, wrap: countingTo(20)}, totalled(ten), -1, "", "answers 404 to page 3"},
		"404 before the count is reached":    {pagedServer{rows: 25, most: 10, behind: notFound, wrap: countingTo(26)}, totalled(ten), 25, "page 4: the server answered 404", ""},
		"nothing at all behind the last":     {pagedServer{rows: 20, most: 10, behind: func(http.ResponseWriter) {}}, ten, -1, "", ""},
		"no content behind the last":         {pagedServer{rows: 20, most: 10, behind: func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }}, ten, -1, "", ""},
		"an error behind the last":           {pagedServer{rows: 25, most: 10, behind: func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }}, ten, 25, "page 4: the server answered 500", ""},
		"a null behind the last":             {pagedServer{rows: 20, most: 10, wrap: func(items string) string { return `{"items":` + strings.Replace(items, "[]", "null", 1) + `}` }}, ten, -1, "", ""},
		"the last page again":                {pagedServer{rows: 25, most: 10, repeat: true}, ten, -1, "", ""},
		"the last page again, when full":     {pagedServer{rows: 20, most: 10, repeat: true}, ten, -1, "", ""},
		"the only page again, counted":       {pagedServer{rows: 5, most: 10, repeat: true, wrap: countingTo(5)}, totalled(ten), -1, "", ""},
		"a server that knows no page number": {pagedServer{rows: 25, most: 10, deaf: true}, ten, 10, `page 2: it holds the same rows as page 1, so the server seems not to know the parameter "page"`, ""},
		"pages of more than a thousand rows": {pagedServer{rows: 2500, most: 1200, repeat: true}, Pages{By: "page", Size: 1200, SizeBy: "limit"}, -1, "", ""},

		"a count that is reached":      {pagedServer{rows: 25, most: 10, wrap: countingTo(25)}, totalled(ten), -1, "", ""},
		"a count that stops growing":   {pagedServer{rows: 25, most: 10, wrap: countingTo(10)}, totalled(ten), -1, "", ""},
		"a count that is not reached":  {pagedServer{rows: 25, most: 10, wrap: countingTo(1050)}, totalled(ten), 25, "the list ended after 25 of the 1,050 rows that the answer counts (total)", ""},
		"a count that is not there":    {pagedServer{rows: 25, most: 10, wrap: func(items string) string { return `{"items":` + items + `}` }}, totalled(ten), 10, `the answer has no number at "total"`, ""},
		"as many pages as are allowed": {pagedServer{rows: 30, most: 10}, Pages{By: "page", Size: 10, SizeBy: "limit", Max: 3}, -1, "", ""},
		"more pages than are allowed":  {pagedServer{rows: 31, most: 10}, Pages{By: "page", Size: 10, SizeBy: "limit", Max: 3}, 31, "there are more than 3 pages (source.http.pages.max)", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&tt.server)
			defer server.Close()
			h := HTTP{URL: server.URL + "/contacts", Pages: &tt.pages}
			if tt.server.wrap != nil {
				h.Items = "items"
			}
			got := readSource(t, web(t, h, Origin{}))
			if tt.rows < 0 {
				tt.rows = tt.server.rows
			}
			if len(got.Rows) != tt.rows {
				t.Errorf("%d rows, want %d; pages asked for: %v", len(got.Rows), tt.rows, tt.server.asked)
			}
			if tt.end == "" && got.End != "" || !strings.Contains(got.End, tt.end) {
				t.Errorf("it ended with %q, want %q", got.End, tt.end)
			}
			if notes := strings.Join(got.Notes, "; "); tt.note == "" && notes != "" || !strings.Contains(notes, tt.note) {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
			seen := map[string]bool{}
			for _, row := range got.Rows {
				if seen[row] {
					t.Fatalf("row %s came twice", row)
				}
				seen[row] = true
			}
		})
	}
}

func TestPagesThatGoInACircleEndTheRun(t *testing.T) {
	mux := http.NewServeMux()
	circle := map[string]string{"1": "7", "7": "3", "3": "4", "4": "7"}
	mux.HandleFunc("/link", func(w http.ResponseWriter, r *http.Request) {
		p := max("1", r.URL.Query().Get("p"))
		w.Header().Set("Link", fmt.Sprintf(`</link?p=%s>; rel="next"`, circle[p]))
		fmt.Fprintf(w, `[{"phone":%q}]`, p)
	})
	mux.HandleFunc("/cursor", func(w http.ResponseWriter, r *http.Request) {
		p := max("1", r.URL.Query().Get("cursor"))
		fmt.Fprintf(w, `{"items":[{"phone":%q}],"next":%q}`, p, circle[p])
	})
	mux.HandleFunc("/stuck", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"items":[{"phone":"1"}],"next":"7"}`) })
	mux.HandleFunc("/growing", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"items":[],"next":"%sx"}`, r.URL.Query().Get("cursor"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for name, tt := range map[string]struct {
		http HTTP
		end  string
	}{
		"links":       {HTTP{URL: "/link", Pages: &Pages{By: "link"}}, "page 4: the pages go in a circle: behind it comes page 2 again"},
		"cursors":     {HTTP{URL: "/cursor", Items: "items", Pages: &Pages{By: "cursor", Cursor: "next"}}, "page 4: the pages go in a circle: behind it comes page 2 again"},
		"one cursor":  {HTTP{URL: "/stuck", Items: "items", Pages: &Pages{By: "cursor", Cursor: "next"}}, "page 2: the pages go in a circle: behind it comes page 2 again"},
		"empty pages": {HTTP{URL: "/growing", Items: "items", Pages: &Pages{By: "cursor", Cursor: "next", Max: 20}}, "page 20: there are more than 20 pages (source.http.pages.max)"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.http.URL = server.URL + tt.http.URL
			if got := readSource(t, web(t, tt.http, Origin{})); !strings.HasSuffix(got.End, tt.end) {
				t.Errorf("it ended with %q, want %q", got.End, tt.end)
			}
		})
	}
}

func TestAnAnswerThatIsNotTheWholeListIsNotTakenForIt(t *testing.T) {
	mux := http.NewServeMux()
	answer := func(path, kind, text string, header ...string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", kind)
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			fmt.Fprint(w, text)
		})
	}
	const js = "application/json"
	answer("/linked", js, `[{"phone":"1"}]`, "Link", `</linked?p=2>; rel="next"`)
	answer("/named", js, `{"items":[{"phone":"1"}],"paging":{"next":{"after":"20"}}}`)
	answer("/more", js, `{"has_more":true,"items":[{"phone":"1"}]}`)
	answer("/over", js, `{"has_more":false,"next":null,"items":[{"phone":"1"}]}`)
	answer("/two", js, `[{"phone":"1"}] [{"phone":"2"}]`)
	answer("/twice", js, `{"items":[{"phone":"1"}],"items":[{"phone":"2"}]}`)
	answer("/cutbehind", js, `{"items":[{"phone":"1"}],"meta":{"a":`)
	answer("/short", "text/csv", "phone\n1\n2\n", "Content-Length", "400")
	answer("/full", js, `{"items":[{"phone":"1"},{"phone":"2"}]}`)
	server := httptest.NewServer(mux)
	defer server.Close()
	for name, tt := range map[string]struct {
		http HTTP
		end  string
		note string
	}{
		"a Link to a next page, and no pages":  {HTTP{URL: "/linked"}, "this is one page of a longer list: the answer has a Link to the next", ""},
		"a next page in the answer":            {HTTP{URL: "/named", Items: "items"}, "", "the answer names a next page (paging.next.after), which is not read: see source.http.pages"},
		"more in the answer":                   {HTTP{URL: "/more", Items: "items"}, "", "the answer names a next page (has_more)"},
		"nothing more in the answer":           {HTTP{URL: "/over", Items: "items"}, "", ""},
		"two documents":                        {HTTP{URL: "/two"}, "the answer goes on behind the list", ""},
		"the list twice":                       {HTTP{URL: "/twice", Items: "items"}, `the answer has "items" twice, and one would be lost`, ""},
		"cut behind the list":                  {HTTP{URL: "/cutbehind", Items: "items"}, "the answer breaks off in the middle", ""},
		"fewer bytes than announced":           {HTTP{URL: "/short"}, "unexpected EOF", ""},
		"a full first page that leads nowhere": {HTTP{URL: "/full", Items: "items", Pages: &Pages{By: "cursor", Cursor: "meta.nxt", Size: 2, SizeBy: "limit"}}, "", "the first page is full, and nothing in it leads to a next one: see source.http.pages.cursor"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.http.URL = server.URL + tt.http.URL
			got := readSource(t, web(t, tt.http, Origin{}))
			if tt.end == "" && got.End != "" || !strings.Contains(got.End, tt.end) {
				t.Errorf("it ended with %q, want %q", got.End, tt.end)
			}
			if notes := strings.Join(got.Notes, "; "); tt.note == "" && notes != "" || !strings.Contains(notes, tt.note) {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
		})
	}
}

// plainServer answers one connection after the other with a text and closes it, as servers of HTTP/1.0 do.
func plainServer(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte("HTTP/1.0 200 OK\r\nContent-Type: text/csv\r\n\r\n" + text))
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return "http://" + listener.Addr().String()
}

func TestAnAnswerWithoutALengthMustEndWithALine(t *testing.T) {
	got := readSource(t, web(t, HTTP{URL: plainServer(t, "phone\n447700900001\n4477009")}, Origin{}))
	if !strings.Contains(got.End, "may have broken off in its last row") {
		t.Errorf("cut in a row: %+v", got)
	}
	got = readSource(t, web(t, HTTP{URL: plainServer(t, "phone\n447700900001\n")}, Origin{}))
	if got.End != "" || len(got.Rows) != 1 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "does not say how long its answer is") {
		t.Errorf("whole rows: %+v", got)
	}
}

func TestARedirectCarriesNoParametersElsewhere(t *testing.T) {
	var referers []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		referers = append(referers, r.Header.Get("Referer"))
		fmt.Fprint(w, `[{"phone":"1"}]`)
	}))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/here" {
			referers = append(referers, r.Header.Get("Referer"))
			fmt.Fprint(w, `[{"phone":"1"}]`)
			return
		}
		to := other.URL
		if r.URL.Path == "/within" {
			to = "/here"
		}
		http.Redirect(w, r, to, http.StatusFound)
	}))
	defer server.Close()
	for name, tt := range map[string]struct{ path, end string }{
		"another host, and parameters":    {"/away?api_key=k0", "a redirect leads to another host, which must not get the credentials and parameters of this one"},
		"another host, and no parameters": {"/away", ""},
		"the same host, and parameters":   {"/within?api_key=k0", ""},
	} {
		if got := readSource(t, web(t, HTTP{URL: server.URL + tt.path}, Origin{})); !strings.HasSuffix(got.End, tt.end) || tt.end == "" && got.End != "" {
			t.Errorf("%s: it ended with %q, want %q", name, got.End, tt.end)
		}
	}
	// A sheet's parameters are no secret, and Google leads to a host of its own.
	sheet := web(t, HTTP{URL: server.URL + "/away?format=csv"}, Origin{}).(*webSource)
	sheet.origin.Sheet = "https://docs.google.com/"
	if got := readSource(t, sheet); got.End != "" {
		t.Errorf("a sheet: %q", got.End)
	}
	if diff := cmp.Diff([]string{"", "", ""}, referers); diff != "" {
		t.Errorf("what the next host was told (-want +got):\n%s", diff)
	}
}
