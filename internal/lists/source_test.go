package lists

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// list is what a source gave: the header, the rows as text, and how it ended.
type list struct {
	Header []string
	Rows   []string // cells parted by |, or ! and the reason of a RowError
	Lines  []int64
	End    string   // "" for a whole list
	Notes  []string // of a whole list
}

// newSource makes the source that o names, unchecked.
func newSource(o Origin, folder string) (Source, error) { return o.kindsNamed()[0].open(o, folder) }

func readAll(t testing.TB, o Origin) (l list) {
	t.Helper()
	s, err := newSource(o, "")
	if err != nil {
		return list{End: err.Error()}
	}
	return readSource(t, s)
}

func readSource(t testing.TB, s Source) (l list) {
	t.Helper()
	rows, err := s.Open(t.Context())
	if err != nil {
		return list{End: err.Error()}
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	l.Header = rows.Header()
	for {
		row, line, err := rows.Next()
		if bad, ok := errors.AsType[*RowError](err); ok {
			l.Rows = append(l.Rows, "! "+bad.Reason)
			l.Lines = append(l.Lines, line)
			continue
		}
		if errors.Is(err, io.EOF) {
			if n, ok := rows.(noted); ok {
				l.Notes = n.Notes()
			}
			return l
		}
		if err != nil {
			l.End = err.Error()
			return l
		}
		l.Rows = append(l.Rows, strings.Join(row, "|"))
		l.Lines = append(l.Lines, line)
	}
}

func put(t testing.TB, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// damaged has another checksum, which stands eight bytes before the end (RFC 1952, section 2.3.1).
func damaged(file []byte) string {
	file[len(file)-8] ^= 1
	return string(file)
}

func zipped(t testing.TB, text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCSVIsReadAsItIsWritten(t *testing.T) {
	text := "phone,name\n+441,Zoë\n+442,\"Smith, \"\"Jo\"\"\"\n"
	want := list{Header: []string{"phone", "name"}, Rows: []string{"+441|Zoë", `+442|Smith, "Jo"`}, Lines: []int64{2, 3}}
	utf16 := func(e unicode.Endianness, bom unicode.BOMPolicy) []byte {
		b, err := unicode.UTF16(e, bom).NewEncoder().Bytes([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	western, err := charmap.Windows1252.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		text   []byte
		origin Origin
	}{
		"plain":                    {[]byte(text), Origin{}},
		"with a BOM":               {[]byte("\ufeff" + text), Origin{}},
		"with a BOM and told so":   {[]byte("\ufeff" + text), Origin{Encoding: "utf-8"}},
		"UTF-16 with a BOM":        {utf16(unicode.LittleEndian, unicode.UseBOM), Origin{}},
		"UTF-16 big endian":        {utf16(unicode.BigEndian, unicode.UseBOM), Origin{}},
		"UTF-16 without a BOM":     {utf16(unicode.LittleEndian, unicode.IgnoreBOM), Origin{}},
		"big endian without a BOM": {utf16(unicode.BigEndian, unicode.IgnoreBOM), Origin{}},
		"Windows-1252":             {[]byte(western), Origin{}},
		"Windows-1252 told":        {[]byte(western), Origin{Encoding: "windows-1252"}},
		"semicolons":               {[]byte("phone;name\n+441;Zoë\n+442;\"Smith, \"\"Jo\"\"\"\n"), Origin{}},
		"tabs":                     {[]byte("phone\tname\n+441\tZoë\n+442\t\"Smith, \"\"Jo\"\"\"\n"), Origin{}},
		"bars, told":               {[]byte("phone|name\n+441|Zoë\n+442|\"Smith, \"\"Jo\"\"\"\n"), Origin{Delimiter: "|"}},
		"CR LF":                    {[]byte(strings.ReplaceAll(text, "\n", "\r\n")), Origin{}},
		"CR alone":                 {[]byte(strings.ReplaceAll(text, "\n", "\r")), Origin{}},
		"gzip":                     {zipped(t, []byte(text)), Origin{}},
		"trailing commas":          {[]byte("phone,name\n+441,Zoë,,\n+442,\"Smith, \"\"Jo\"\"\",\n"), Origin{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.origin.CSV, tt.origin.Country = put(t, "list.csv", tt.text), "GB"
			got := readAll(t, tt.origin)
			got.Notes = nil // of Windows-1252 they show letters
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("the delimiter that Excel names", func(t *testing.T) {
		got := readAll(t, Origin{CSV: put(t, "a.csv", []byte("sep=;\nphone;name\n+441;Zoë\n+442;\"Smith, \"\"Jo\"\"\"\n"))})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
	t.Run("without names", func(t *testing.T) {
		got := readAll(t, Origin{CSV: put(t, "a.csv", []byte("+447911123456,Zoë\n")), Header: []string{"phone", "name"}})
		if diff := cmp.Diff(list{Header: []string{"phone", "name"}, Rows: []string{"+447911123456|Zoë"}, Lines: []int64{1}}, got); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
	t.Run("several files are one list", func(t *testing.T) {
		dir := t.TempDir()
		for i, text := range []string{"phone\n1\n", "phone\n2\n"} {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.csv", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := readAll(t, Origin{CSV: filepath.Join(dir, "*.csv")})
		if diff := cmp.Diff(list{Header: []string{"phone"}, Rows: []string{"1", "2"}, Lines: []int64{2, 2}}, got); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
}

func TestBadCSVEndsInWords(t *testing.T) {
	long := strings.Repeat("phone,name\n", 8000)
	tests := map[string]struct {
		text   string
		origin Origin
		rows   []string
		end    string
	}{
		"empty":                   {"", Origin{}, nil, "PATH: is empty: it does not even have column names"},
		"only a BOM":              {"\ufeff", Origin{}, nil, "PATH: is empty: it does not even have column names"},
		"a phone for a name":      {"+447911123456,Ann\n", Origin{}, nil, "PATH: row 1 has a phone number in cell 1 where column names are expected"},
		"ragged":                  {"a,b\n1\n1,2\n1,2,3\n", Origin{}, []string{"! the row has 1 cell and the header 2: write the empty cells, too", "1|2", `! the row has 3 cells and the header 2: put a cell that holds "," into quotes`}, ""},
		"a quote in a cell":       {"a,b\n5\" pipe,2\n", Origin{}, nil, "PATH: row 2 has a quote inside a cell that does not begin with one"},
		"a quote in a cell, lazy": {"a,b\n5\" pipe,2\n", Origin{Quoting: "lazy"}, []string{`5" pipe|2`}, ""},
		"text behind a quote":     {"a,b\n\"1\"x,2\n", Origin{}, nil, "PATH: row 2 has a quote that is not closed, or text behind a closing one"},
		"a quote never closed":    {"a,b\n\"1,2\n" + long, Origin{}, nil, "PATH: the quote that opens a cell in row 2 is never closed"},
		"too large":               {"a,b\n1,2\n", Origin{MaxBytes: 5}, nil, "PATH: is larger than source.max_bytes"},
		"an old workbook":         {"\xd0\xcf\x11\xe0rest", Origin{}, nil, "PATH: is a workbook of the old .xls kind, or one with a password: save it as .xlsx without a password, or as CSV"},
		"a broken gzip":           {"\x1f\x8bxx", Origin{}, nil, "PATH: is no gzip file: unexpected EOF"},
		"a cut gzip":              {string(zipped(t, []byte("a,b\n"+strings.Repeat("1,2\n", 9)))[:30]), Origin{}, nil, "PATH: the compressed file ends in the middle: copy it once more (unexpected EOF)"},
		"a damaged gzip":          {damaged(zipped(t, []byte("a,b\n1,2\n"))), Origin{}, nil, "PATH: the compressed file is damaged: copy it once more (gzip: invalid checksum)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.origin.CSV = put(t, "list.csv", []byte(tt.text))
			got := readAll(t, tt.origin)
			if diff := cmp.Diff(tt.rows, got.Rows); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
			if end := strings.ReplaceAll(got.End, tt.origin.CSV, "PATH"); end != tt.end {
				t.Errorf("it ended with %q, want %q", end, tt.end)
			}
		})
	}
	t.Run("no such file", func(t *testing.T) {
		if got := readAll(t, Origin{CSV: "/nowhere/*.csv"}); got.End != "csv /nowhere/*.csv: no file has such a name" {
			t.Error(got.End)
		}
	})
	t.Run("other columns in the second file", func(t *testing.T) {
		dir := t.TempDir()
		for i, text := range []string{"phone\n1\n", "tel\n2\n"} {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.csv", i)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want := dir + "/1.csv: has the columns “tel”, and the first file has “phone”: files of one list need the same"
		if got := readAll(t, Origin{CSV: filepath.Join(dir, "*.csv")}); got.End != want {
			t.Error(got.End)
		}
	})
}

func TestAFileThatChangesWhileItIsReadIsNoticed(t *testing.T) {
	path := put(t, "list.csv", []byte("phone\n"+strings.Repeat("1\n", 100)))
	s, err := newSource(Origin{CSV: path}, "")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(f, "2")
	f.Close()
	for {
		_, _, err := rows.Next()
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrChanged) || err.Error() != path+": changed while it was read" {
			t.Errorf("it ended with %v", err)
		}
		return
	}
}

func TestACellOfAMegabyteIsRead(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	got := readAll(t, Origin{CSV: put(t, "list.csv", []byte("phone,note\n1,"+big+"\n2,b\n"))})
	if len(got.Rows) != 2 || len(got.Rows[0]) != 2+len(big) || got.End != "" {
		t.Errorf("%d rows, %q", len(got.Rows), got.End)
	}
}

func book1(t testing.TB) string {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	day, err := f.NewStyle(&excelize.Style{NumFmt: 14})
	if err != nil {
		t.Fatal(err)
	}
	for at, v := range map[string]any{
		"A1": "phone", "B1": " name ", "C1": "since",
		"A2": 447911123456, "B2": "Ann", "C2": time.Date(2026, 5, 4, 0, 0, 0, 0, time.UTC),
		"A4": "+447911123457", "B4": "Zoë, \"Jo\"",
		"A5": "4.47911E+11",
	} {
		if err := f.SetCellValue("Sheet1", at, v); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.SetCellStyle("Sheet1", "C2", "C2", day); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "list.xlsx")
	if err := f.SaveAs(path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestWorkbooks(t *testing.T) {
	const dates = "dates are read as “2026-05-04”, in “since”"
	path := book1(t)
	want := list{
		Header: []string{"phone", "name", "since"}, Notes: []string{dates},
		Rows: []string{"447911123456|Ann|2026-05-04", "+447911123457|Zoë, \"Jo\"", "4.47911E+11"}, Lines: []int64{2, 4, 5},
	}
	for name, o := range map[string]Origin{"as xlsx": {XLSX: path}, "found out behind csv": {CSV: path}, "by the sheet's name": {XLSX: path, Worksheet: "Sheet1"}} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, readAll(t, o)); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
	two, err := excelize.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = two.Close() }()
	for _, name := range []string{"Guests of May", "Old"} {
		if _, err := two.NewSheet(name); err != nil {
			t.Fatal(err)
		}
	}
	second := filepath.Join(t.TempDir(), "two.xlsx")
	if err := two.SaveAs(second); err != nil {
		t.Fatal(err)
	}
	want.Notes = []string{"only the worksheet “Sheet1” is read, not “Guests of May”, “Old” (source.worksheet)", dates}
	if diff := cmp.Diff(want, readAll(t, Origin{XLSX: second})); diff != "" {
		t.Errorf("several worksheets (-want +got):\n%s", diff)
	}
	want.Notes = []string{dates}
	if diff := cmp.Diff(want, readAll(t, Origin{XLSX: second, Worksheet: "Sheet1"})); diff != "" {
		t.Errorf("one of several worksheets (-want +got):\n%s", diff)
	}
	if got := readAll(t, Origin{XLSX: path, Worksheet: "Guests"}); got.End != path+`: has no worksheet "Guests"` {
		t.Error(got.End)
	}
	if got := readAll(t, Origin{XLSX: put(t, "a.xlsx", []byte("PK\x03\x04 no workbook"))}); !strings.Contains(got.End, "is no workbook that can be read") {
		t.Error(got.End)
	}
}

func database(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crm o'hara?.db")
	db, err := sql.Open("sqlite3", "file:"+strings.ReplaceAll(path, "?", "%3f"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestSQLite(t *testing.T) {
	path := database(t, "create table customers (phone, name text, points real, blob blob, hole text)",
		"insert into customers values (447911123456, 'Ann', 1.5, x'5a6f', null), ('+447911123457', 'Zoë', 2e6, null, null)")
	got := readAll(t, Origin{SQLite: path, Query: "select * from customers order by name"})
	want := list{
		Header: []string{"phone", "name", "points", "blob", "hole"},
		Rows:   []string{"447911123456|Ann|1.5|Zo|", "+447911123457|Zoë|2000000||"}, Lines: []int64{1, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	name := "sqlite " + filepath.Base(path)
	for query, end := range map[string]string{
		"select nme from customers": name + ": no such column: nme",
		"delete from customers":     name + ": after 0 rows: attempt to write a readonly database",
	} {
		got := readAll(t, Origin{SQLite: path, Query: query})
		if got.End != end && got.End != strings.Replace(end, "after 0 rows: ", "", 1) {
			t.Errorf("%s ended with %q, want %q", query, got.End, end)
		}
	}
	endless := "with recursive n(i) as (select 1 union all select i+1 from n) select i from n where i < 0"
	got = readAll(t, Origin{SQLite: path, Query: endless, Timeout: units.Duration(50 * time.Millisecond)})
	if got.End != name+": the query took longer than 50ms" {
		t.Errorf("an endless query ended with %q", got.End)
	}
	if got := readAll(t, Origin{SQLite: "/nowhere/crm.db", Query: "select 1"}); got.End != "sqlite crm.db: stat /nowhere/crm.db: no such file or directory" {
		t.Errorf("a missing file: %q", got.End)
	}
}

func TestDatabasesElsewhereSayWhatIsWrong(t *testing.T) {
	for name, o := range map[string]Origin{
		"postgres": {Postgres: secret.New("postgres://u:hush@127.0.0.1:1/crm?sslmode=disable&connect_timeout=2"), Query: "select 1"},
		"mysql":    {MySQL: secret.New("u:hush@tcp(127.0.0.1:1)/crm"), Query: "select 1"},
	} {
		got := readAll(t, o)
		if !strings.HasPrefix(got.End, name+" crm on 127.0.0.1") || !strings.Contains(got.End, "refused") || strings.Contains(got.End, "hush") {
			t.Errorf("%s: %q", name, got.End)
		}
	}
}

// pages serves three pages of two rows in every way of paging.
func pages(t testing.TB) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	rows := func(n int) string {
		return fmt.Sprintf(`{"phone":"%d1","name":{"first":"A%d"},"n":%d.50},{"phone":%d2,"tags":["a"],"vip":true,"none":null}`, n, n, n, n)
	}
	number := func(r *http.Request, key string) int {
		n := 0
		fmt.Sscan(r.URL.Query().Get(key), &n)
		return n
	}
	mux.HandleFunc("/link", func(w http.ResponseWriter, r *http.Request) {
		n := max(1, number(r, "p"))
		if n < 3 {
			w.Header().Set("Link", fmt.Sprintf(`</first>; rel="first", </link?p=%d>; rel="next"`, n+1))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, "[%s]", rows(n))
	})
	mux.HandleFunc("/cursor", func(w http.ResponseWriter, r *http.Request) {
		n := max(1, number(r, "after"))
		next := "null"
		if n < 3 {
			next = fmt.Sprintf(`"%d"`, n+1)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"ok":true,"data":{"before":{"x":[1]},"contacts":[%s],"after":2},"meta":{"next":%s}}`, rows(n), next)
	})
	mux.HandleFunc("/page", func(w http.ResponseWriter, r *http.Request) {
		n := number(r, "page")
		if n > 3 {
			fmt.Fprint(w, "[]")
			return
		}
		fmt.Fprintf(w, "[%s]", rows(n))
	})
	mux.HandleFunc("/offset", func(w http.ResponseWriter, r *http.Request) {
		n := number(r, "offset")/2 + 1
		if r.URL.Query().Get("limit") != "2" {
			t.Errorf("the size is not sent: %s", r.URL)
		}
		if n > 3 {
			fmt.Fprint(w, "[]")
			return
		}
		fmt.Fprintf(w, "[%s]", rows(n))
	})
	mux.HandleFunc("/csv", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		fmt.Fprint(w, "phone;name\n11;A\n12;B\n")
	})
	mux.HandleFunc("/html", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<html>sign in</html>")
	})
	mux.HandleFunc("/secret", func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if r.Header.Get("Authorization") != "Bearer t0" && r.Header.Get("X-Key") != "k0" && user+password != "annp0" {
			http.Error(w, `{"error":"who are you?"}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `[{"phone":"1"}]`)
	})
	fails := 0
	mux.HandleFunc("/shaky", func(w http.ResponseWriter, r *http.Request) {
		if fails++; fails < 3 {
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, `[{"phone":"1"}]`)
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) {
		n := max(1, number(r, "page"))
		if n == 7 {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, "[%s]", rows(n))
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"data":[{"phone":"1"},{"phone":"2"}`) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://localhost.example/", http.StatusFound)
	})
	mux.HandleFunc("/object", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, `{"data":{"people":[]},"meta":1}`) })
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func web(t testing.TB, h HTTP, o Origin) Source {
	t.Helper()
	h.AllowPrivate = true
	o.HTTP = &h
	s, err := newSource(o, "")
	if err != nil {
		t.Fatal(err)
	}
	s.(*webSource).pause = func(context.Context, time.Duration) {}
	return s
}

func TestWebListsPageByPage(t *testing.T) {
	server := pages(t)
	want := list{
		Header: []string{"phone", "name.first", "n", "tags", "vip", "none"},
		Rows:   []string{`11|A1|1.50|||`, `12|||["a"]|true|`, `21|A2|2.50|||`, `22|||["a"]|true|`, `31|A3|3.50|||`, `32|||["a"]|true|`},
		Lines:  []int64{1, 2, 3, 4, 5, 6},
	}
	for name, h := range map[string]HTTP{
		"link":   {URL: "/link", Pages: &Pages{By: "link"}},
		"cursor": {URL: "/cursor", Items: "data.contacts", Pages: &Pages{By: "cursor", Cursor: "meta.next", Param: "after"}},
		"page":   {URL: "/page", Pages: &Pages{By: "page"}},
		"offset": {URL: "/offset", Pages: &Pages{By: "offset", Size: 2, SizeBy: "limit"}},
	} {
		t.Run(name, func(t *testing.T) {
			h.URL = server.URL + h.URL
			if diff := cmp.Diff(want, readSource(t, web(t, h, Origin{}))); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("CSV", func(t *testing.T) {
		got := readSource(t, web(t, HTTP{URL: server.URL + "/csv"}, Origin{}))
		if diff := cmp.Diff(list{Header: []string{"phone", "name"}, Rows: []string{"11|A", "12|B"}, Lines: []int64{2, 3}}, got); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
	t.Run("proofs of who asks", func(t *testing.T) {
		for name, h := range map[string]HTTP{
			"bearer": {Bearer: secret.New("t0")},
			"basic":  {User: "ann", Password: secret.New("p0")},
			"header": {Headers: yamlpos.Ordered[secret.Secret]{{Key: "X-Key", Value: secret.New("k0")}}},
		} {
			h.URL = server.URL + "/secret"
			if got := readSource(t, web(t, h, Origin{})); got.End != "" || len(got.Rows) != 1 {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
	t.Run("a server that comes back is asked again", func(t *testing.T) {
		if got := readSource(t, web(t, HTTP{URL: server.URL + "/shaky"}, Origin{})); got.End != "" || len(got.Rows) != 1 {
			t.Errorf("%+v", got)
		}
	})
}

func TestBadWebListsEndInWords(t *testing.T) {
	server := pages(t)
	host := strings.TrimPrefix(server.URL, "http://")
	tests := map[string]struct {
		http   HTTP
		origin Origin
		end    string
	}{
		"an error on page 7":           {HTTP{URL: "/broken", Pages: &Pages{By: "page"}}, Origin{}, "http HOST/broken: page 7: the server answered 500 Internal Server Error: out of order"},
		"no such page":                 {HTTP{URL: "/nowhere"}, Origin{}, "http HOST/nowhere: the server answered 404 Not Found: 404 page not found"},
		"not let in":                   {HTTP{URL: "/secret"}, Origin{}, `http HOST/secret: the server answered 401 Unauthorized: {"error":"who are you?"}`},
		"a page for people":            {HTTP{URL: "/html"}, Origin{}, "http HOST/html: the answer is a web page, not a list"},
		"broken off":                   {HTTP{URL: "/cut", Items: "data", Format: "json"}, Origin{}, "http HOST/cut: the answer breaks off in the middle"},
		"an object for a list":         {HTTP{URL: "/object", Format: "json"}, Origin{}, "http HOST/object: the answer is an object, not a list"},
		"no such items":                {HTTP{URL: "/object", Items: "data.contacts", Format: "json"}, Origin{}, `http HOST/object: the answer has no "data.contacts"`},
		"too many pages":               {HTTP{URL: "/page", Pages: &Pages{By: "page", Max: 2}}, Origin{}, "http HOST/page: page 3: there are more than 2 pages (source.http.pages.max)"},
		"too large":                    {HTTP{URL: "/csv"}, Origin{MaxBytes: 10}, "http HOST/csv: is larger than source.max_bytes"},
		"too slow":                     {HTTP{URL: "/slow"}, Origin{Timeout: units.Duration(50 * time.Millisecond)}, "http HOST/slow: took longer than 50ms"},
		"credentials stay at the host": {HTTP{URL: "/away", Bearer: secret.New("t0")}, Origin{}, "http HOST/away: a redirect leads to another host, which must not get the credentials and parameters of this one"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.http.URL = server.URL + tt.http.URL
			got := readSource(t, web(t, tt.http, tt.origin))
			if end := strings.ReplaceAll(got.End, host, "HOST"); end != tt.end {
				t.Errorf("it ended with %q, want %q", end, tt.end)
			}
		})
	}
	t.Run("a private address", func(t *testing.T) {
		for _, address := range []string{server.URL + "/csv", strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/csv"} {
			got := readAll(t, Origin{HTTP: &HTTP{URL: address}})
			if !strings.HasSuffix(got.End, "leads into a private network; set allow_private: true if that is meant") {
				t.Errorf("%s: %q", address, got.End)
			}
		}
	})
}

func TestLinksOfSheets(t *testing.T) {
	const id = "1AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	tests := map[string]struct{ link, want, bad string }{
		"as people copy it": {"https://docs.google.com/spreadsheets/d/" + id + "/edit#gid=42", "https://docs.google.com/spreadsheets/d/" + id + "/export?format=csv&gid=42", ""},
		"shared":            {"https://docs.google.com/spreadsheets/d/" + id + "/edit?usp=sharing", "https://docs.google.com/spreadsheets/d/" + id + "/export?format=csv", ""},
		"with the tab":      {"https://docs.google.com/spreadsheets/d/" + id + "/edit?gid=7#gid=7", "https://docs.google.com/spreadsheets/d/" + id + "/export?format=csv&gid=7", ""},
		"published":         {"https://docs.google.com/spreadsheets/d/e/2PACX-" + id + "/pubhtml", "https://docs.google.com/spreadsheets/d/e/2PACX-" + id + "/pub?output=csv", ""},
		"another site":      {"https://sheets.example.com/spreadsheets/d/" + id, "", "is not a link to a Google sheet"},
		"a document":        {"https://docs.google.com/document/d/" + id, "", "is not a link to a Google sheet"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := exportURL(tt.link)
			if got != tt.want || (err != nil && err.Error() != tt.bad) || (err == nil) != (tt.bad == "") {
				t.Errorf("exportURL = %q, %v", got, err)
			}
		})
	}
}

func TestObjectsInABucket(t *testing.T) {
	objects := map[string]string{"/lists/crm/a.csv": "phone\n1\n", "/lists/crm/b.csv": "phone\n2\n"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("list-type") == "2" {
			w.Header().Set("Content-Type", "application/xml")
			fmt.Fprintf(w, `<?xml version="1.0"?><ListBucketResult><Name>lists</Name><Prefix>crm/</Prefix><KeyCount>3</KeyCount><IsTruncated>false</IsTruncated>`)
			for _, key := range []string{"crm/b.csv", "crm/a.csv", "crm/note.txt"} {
				fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>8</Size><ETag>"e"</ETag><LastModified>2026-05-04T00:00:00.000Z</LastModified></Contents>`, key)
			}
			fmt.Fprint(w, `</ListBucketResult>`)
			return
		}
		text, ok := objects[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if !strings.Contains(r.Header.Get("Authorization"), "Credential=AK/") {
			t.Errorf("not signed: %q", r.Header.Get("Authorization"))
		}
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Last-Modified", "Mon, 04 May 2026 00:00:00 GMT")
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}))
	defer server.Close()
	at := S3{Bucket: "lists", Key: "crm/*.csv", Endpoint: server.URL, Region: "eu-central-1", AccessKey: secret.New("AK"), SecretKey: secret.New("SK"), AllowPrivate: true}
	got := readAll(t, Origin{S3: &at})
	if diff := cmp.Diff(list{Header: []string{"phone"}, Rows: []string{"1", "2"}, Lines: []int64{2, 2}}, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	at.Key = "crm/c.csv"
	if got := readAll(t, Origin{S3: &at}); !strings.HasPrefix(got.End, "lists/crm/c.csv: ") {
		t.Errorf("a missing object: %q", got.End)
	}
	at.AllowPrivate = false
	if got := readAll(t, Origin{S3: &at}); !strings.Contains(got.End, "leads into a private network") {
		t.Errorf("a private address: %q", got.End)
	}
}
