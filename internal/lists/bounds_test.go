package lists

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// allocated is how many bytes f makes, whether or not they are let go again.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

const mega = 1 << 20

// zeros is n bytes of one sign, never held whole.
func zeros(n int64, sign byte) io.Reader {
	return io.LimitReader(endless(strings.Repeat(string(sign), 64<<10)), n)
}

type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

const (
	contentTypes = `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>`
	rootRels     = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`
	bookXML      = `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="People" sheetId="1" r:id="rId1"/></sheets></workbook>`
	bookRels     = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`
)

// handBook is a workbook made by hand: its worksheet as XML, and more members.
func handBook(t *testing.T, sheet io.Reader, more func(z *zip.Writer)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hand.xlsx")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, one := range []struct {
		name string
		text io.Reader
	}{
		{"[Content_Types].xml", strings.NewReader(contentTypes)},
		{"_rels/.rels", strings.NewReader(rootRels)},
		{"xl/workbook.xml", strings.NewReader(bookXML)},
		{"xl/_rels/workbook.xml.rels", strings.NewReader(bookRels)},
		{"xl/worksheets/sheet1.xml", sheet},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: one.name, Method: zip.Store}) // how tightly it is packed is another test's
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, one.text); err != nil {
			t.Fatal(err)
		}
	}
	if more != nil {
		more(z)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func sheetOf(rows string) io.Reader {
	return strings.NewReader(`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` + rows + `</sheetData></worksheet>`)
}

func rowXML(n int, text string) string {
	return fmt.Sprintf(`<row r="%d"><c r="A%d" t="inlineStr"><is><t>%s</t></is></c></row>`, n, n, text)
}

func TestAWorkbookIsReadWholeOrNotAtAll(t *testing.T) {
	head, one := rowXML(1, "phone"), rowXML(2, "447700900001")
	for name, tt := range map[string]struct {
		sheet io.Reader
		rows  int
		end   string
	}{
		"whole":                       {sheetOf(head + one + rowXML(3, "447700900002")), 2, ""},
		"rows without numbers":        {sheetOf(strings.NewReplacer(` r="1"`, "", ` r="2"`, "", ` r="A1"`, "", ` r="A2"`, "").Replace(head + one)), 1, ""},
		"a sign that XML has not":     {sheetOf(head + one + rowXML(3, "447700\x0b900002") + rowXML(4, "447700900003")), 0, "worksheets/sheet1.xml: cannot be read behind row 3"},
		"an open ampersand":           {sheetOf(head + one + rowXML(3, "A & B") + rowXML(4, "447700900003")), 0, "cannot be read behind row 3"},
		"letters that are not UTF-8":  {sheetOf(head + one + rowXML(3, "Zo\xeb")), 0, "cannot be read behind row 3"},
		"cut in a row":                {strings.NewReader(`<worksheet><sheetData>` + head + one + `<row r="3"><c r="A3"`), 0, "cannot be read behind row 3"},
		"cut between rows":            {strings.NewReader(`<worksheet><sheetData>` + head + one), 0, "cannot be read behind row 2"},
		"ends that do not match":      {sheetOf(head + one + `<row r="3"></c></row>` + rowXML(4, "447700900003")), 0, "cannot be read behind row 3"},
		"two rows with one number":    {sheetOf(head + one + rowXML(2, "447700900002")), 0, `has the row number "2" behind row 2`},
		"a row number that goes back": {sheetOf(head + rowXML(7, "447700900001") + rowXML(3, "447700900002")), 0, `has the row number "3" behind row 7`},
		"a row number beyond a sheet": {sheetOf(head + rowXML(2_000_000_000, "447700900001")), 0, `has the row number "2000000000" behind row 1`},
		"nested without an end":       {sheetOf(strings.Repeat("<a>", 1000) + strings.Repeat("</a>", 1000)), 0, "is nested too deep"},
		"a row of more than 16 MB":    {sheetOf(head + one + rowXML(3, strings.Repeat("x", 17*mega))), 0, "has a row or cell of more than 16 MB, behind row 3"},
		"a cell of several megabytes": {sheetOf(head + one + rowXML(3, strings.Repeat("x", 5*mega))), 2, ""},
		"more than 8 MiB of a sheet":  {sheetOf(head + one + rowXML(3, strings.Repeat("x", 5*mega)) + rowXML(4, strings.Repeat("y", 5*mega))), 3, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := readAll(t, Origin{XLSX: handBook(t, tt.sheet, nil)})
			if len(got.Rows) != tt.rows || tt.end == "" && got.End != "" || !strings.Contains(got.End, tt.end) {
				t.Errorf("%d rows, ended with %q; want %d and %q", len(got.Rows), got.End, tt.rows, tt.end)
			}
		})
	}
}

func TestASmallWorkbookCannotTakeMuchMemory(t *testing.T) {
	plain := func() io.Reader { return sheetOf(rowXML(1, "phone") + rowXML(2, "447700900001")) }
	// packed adds a member of zeros of which the directory says that there are as many as said.
	packed := func(name string, size int64, said uint64) func(*zip.Writer) {
		return func(z *zip.Writer) {
			var text bytes.Buffer
			w, err := flate.NewWriter(&text, flate.BestSpeed)
			if err != nil {
				t.Fatal(err)
			}
			sum := crc32.NewIEEE()
			if _, err := io.Copy(io.MultiWriter(w, sum), zeros(size, 0)); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			raw, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, CRC32: sum.Sum32(), CompressedSize64: uint64(text.Len()), UncompressedSize64: said})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := raw.Write(text.Bytes()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, tt := range map[string]struct {
		path string
		end  string
	}{
		"a member of zeros":          {handBook(t, plain(), packed("xl/media/a.xml", mega, 600*mega)), "is a workbook that unpacks to more than 512 MiB: save it as CSV"},
		"a member beside the sheets": {handBook(t, plain(), packed("xl/media/a.xml", mega, 65*mega)), "is a workbook with more than 64 MiB beside its worksheets"},
		"several of them":            {handBook(t, plain(), func(z *zip.Writer) { packed("xl/a.xml", mega, 40*mega)(z); packed("xl/b.xml", mega, 40*mega)(z) }), "is a workbook with more than 64 MiB beside its worksheets"},
		"a worksheet of one cell":    {handBook(t, io.MultiReader(strings.NewReader(`<worksheet><sheetData><row r="1"><c><v>`), zeros(20*mega, '1')), nil), "has a row or cell of more than 16 MB"},
		"one text of many pieces": {handBook(t, plain(), func(z *zip.Writer) {
			w, err := z.CreateHeader(&zip.FileHeader{Name: "xl/sharedStrings.xml", Method: zip.Store})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, `<sst><si>`+strings.Repeat(`<r><t>`+strings.Repeat("x", 1000)+`</t></r>`, 20_000)+`</si></sst>`); err != nil {
				t.Fatal(err)
			}
		}), "sharedStrings.xml: has a row or cell of more than 16 MB"},
		"a directory that says less": {handBook(t, plain(), packed("xl/media/a.xml", 40*mega, 10)), ""},
		"a worksheet that says less": {handBook(t, plain(), packed("xl/worksheets/sheet2.xml", 40*mega, 10)), "worksheets/sheet2.xml: cannot be read behind row 0: zip: not a valid zip file"},
		"an endless number of bytes": {handBook(t, plain(), packed("xl/media/a.xml", mega, 1<<63)), "is a workbook that unpacks to more than 512 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			var got list
			bytes := allocated(func() { got = readAll(t, Origin{XLSX: tt.path}) })
			if !strings.Contains(got.End, tt.end) {
				t.Errorf("it ended with %q, want %q", got.End, tt.end)
			}
			if bytes > 250*mega { // all that was made, also what was let go
				t.Errorf("it took %d MiB", bytes/mega)
			}
		})
	}
}

// What a workbook makes of work is bounded by its cells and texts, and by how tightly it is packed: 17 kB took 16 s.
func TestASmallWorkbookCannotTakeLong(t *testing.T) {
	wide := func(rows int, last string) io.Reader {
		var b strings.Builder
		b.WriteString(rowXML(1, "phone"))
		for n := range rows {
			fmt.Fprintf(&b, `<row r="%d"><c r="A%[1]d" t="inlineStr"><is><t>4477009%05[1]d</t></is></c><c r="%s%[1]d"><v>1</v></c></row>`, n+2, last)
		}
		return sheetOf(b.String())
	}
	shown := func(n, text int) io.Reader {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `<row r="%d"><c r="A%[1]d" t="s"><v>%d</v></c></row>`, i+1, text)
		}
		return sheetOf(b.String())
	}
	texts := func(n int, text string) func(*zip.Writer) {
		return func(z *zip.Writer) {
			w, err := z.CreateHeader(&zip.FileHeader{Name: "xl/sharedStrings.xml", Method: zip.Store})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, `<sst>`+strings.Repeat(`<si><t>`+text+`</t></si>`, n)+`</sst>`); err != nil {
				t.Fatal(err)
			}
		}
	}
	tight := func(name string) func(*zip.Writer) {
		return func(z *zip.Writer) {
			w, err := z.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, `<sst>`+strings.Repeat(`<si><t>`+strings.Repeat("x", 1000)+`</t></si>`, 5000)+`</sst>`); err != nil {
				t.Fatal(err)
			}
		}
	}
	const cells = "worksheets/sheet1.xml: has more than 32 million cells"
	for name, tt := range map[string]struct {
		path string
		end  string
	}{
		"a cell in the last column of each row":      {handBook(t, wide(2998, "XFD"), nil), cells},
		"a cell in column 676 of many rows":          {handBook(t, wide(50_000, "YZ"), nil), cells},
		"a cell far to the right in a few rows":      {handBook(t, wide(100, "XFD"), nil), ""},
		"a thousand columns":                         {handBook(t, wide(1000, "ALL"), nil), ""},
		"one long text in many cells":                {handBook(t, shown(10_000, 1), texts(2, strings.Repeat("x", 100_000))), "worksheets/sheet1.xml: has cells with more than 512 MiB of text"},
		"one long text in a few":                     {handBook(t, shown(100, 1), texts(2, strings.Repeat("x", 10_000))), ""},
		"a text that is not there":                   {handBook(t, shown(100, 7), texts(2, "phone")), ""},
		"many texts, packed tightly":                 {handBook(t, shown(2, 1), tight("xl/sharedStrings.xml")), "is a workbook that is packed tighter than a list can be (xl/sharedStrings.xml)"},
		"a worksheet that nobody reads, so packed":   {handBook(t, shown(2, 1), tight("xl/worksheets/sheet2.xml")), "is packed tighter than a list can be (xl/worksheets/sheet2.xml)"},
		"something beside the worksheets, so packed": {handBook(t, shown(2, 1), tight("xl/media/a.xml")), "is packed tighter than a list can be (xl/media/a.xml)"},
	} {
		t.Run(name, func(t *testing.T) {
			got := readAll(t, Origin{XLSX: tt.path})
			if tt.end == "" && strings.Contains(got.End, "has ") || !strings.Contains(got.End, tt.end) {
				t.Errorf("it ended with %q, want %q", got.End, tt.end)
			}
		})
	}
}

func TestOneValueOfJSONIsBounded(t *testing.T) {
	big := func(size int64) io.Reader {
		return io.MultiReader(strings.NewReader(`"`), zeros(size, 'x'), strings.NewReader(`"`))
	}
	text := func(s string) io.Reader { return strings.NewReader(s) }
	var names strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&names, `"n%d":1,`, i)
	}
	parts := map[string]func() io.Reader{
		"/before": func() io.Reader {
			return io.MultiReader(text(`{"meta":`), big(17*mega), text(`,"items":[{"phone":"1"}]}`))
		},
		"/behind": func() io.Reader {
			return io.MultiReader(text(`{"items":[{"phone":"1"}],"meta":`), big(17*mega), text(`}`))
		},
		"/many": func() io.Reader {
			all := []io.Reader{text(`{"items":[{"phone":"1"}]`)}
			for i := range 18 {
				all = append(all, text(fmt.Sprintf(`,"k%d":`, i)), big(mega))
			}
			return io.MultiReader(append(all, text("}"))...)
		},
		"/item": func() io.Reader {
			return io.MultiReader(text(`{"items":[{"phone":"1"},{"phone":`), big(17*mega), text(`}]}`))
		},
		"/key": func() io.Reader { return io.MultiReader(text(`{"items":[{"phone":"1"}],`), big(17*mega), text(`:1}`)) },
		"/blank": func() io.Reader {
			return io.MultiReader(text(`{"items":[{"phone":"1"}`), zeros(17*mega, ' '), text(`]}`))
		},
		"/object": func() io.Reader { return io.MultiReader(text(`{"items":{"a":`), big(17*mega), text(`}}`)) },
		"/first": func() io.Reader {
			all := []io.Reader{text(`{"items":[{"phone":"1"}`)}
			for range 20 {
				all = append(all, text(`,{"phone":"1","a":`), big(mega), text("}"))
			}
			return io.MultiReader(append(all, text("]}"))...)
		},
		"/names": func() io.Reader { return text(`{"items":[{` + names.String() + `"phone":"1"}]}`) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		pack, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := io.Copy(pack, parts[r.URL.Path]()); err == nil { // the reader may have given up
			_ = pack.Close()
		}
	}))
	defer server.Close()
	const tooLong = "the answer has a value of more than 16 MB"
	for path, tt := range map[string]struct {
		rows int
		end  string
	}{
		"/before": {0, tooLong},
		"/behind": {1, tooLong},
		"/many":   {1, `what stands beside the list is larger than 16 MB, up to "k`},
		"/item":   {0, tooLong}, // among the first, of which the columns are learned
		"/key":    {1, tooLong},
		"/blank":  {1, tooLong},
		"/object": {0, "items is an object, not a list"},
		"/first":  {21, ""},
		"/names":  {0, "the items have more than 10,000 names, which no list has"},
	} {
		t.Run(path[1:], func(t *testing.T) {
			var got list
			var seen int
			bytes := allocated(func() {
				s := web(t, HTTP{URL: server.URL + path, Items: "items"}, Origin{})
				rows, err := s.Open(t.Context())
				if err != nil {
					got.End = err.Error()
					return
				}
				defer func() { _ = rows.Close() }()
				for {
					if _, _, err := rows.Next(); errors.Is(err, io.EOF) {
						return
					} else if err != nil {
						got.End = err.Error()
						return
					}
					seen++
				}
			})
			if seen != tt.rows || tt.end == "" && got.End != "" || !strings.Contains(got.End, tt.end) {
				t.Errorf("%d rows, ended with %q; want %d and %q", seen, got.End, tt.rows, tt.end)
			}
			if bytes > 400*mega { // all that was made, also what was let go; the server's part included
				t.Errorf("it took %d MiB", bytes/mega)
			}
		})
	}
}

func TestOneRowOfTextIsBounded(t *testing.T) {
	packed := func(name string, texts ...io.Reader) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.Copy(z, io.MultiReader(texts...)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return put(t, name, b.Bytes())
	}
	for name, tt := range map[string]struct{ path, end string }{
		"a row of delimiters":      {packed("a.csv.gz", strings.NewReader("phone,n\n1,2\n"), zeros(15*mega, ',')), `the row behind row 2 has more than a million separators ","`},
		"a row of one cell":        {packed("b.csv.gz", strings.NewReader("phone,n\n1,2\n"), zeros(40*mega, 'x')), "the row behind row 2 is longer than 16 MB"},
		"column names without end": {packed("c.csv.gz", zeros(40*mega, ',')), "has more than a million separators"},
		"blank lines without end":  {packed("d.csv.gz", zeros(40*mega, '\n')), "is longer than 16 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			var got list
			bytes := allocated(func() { got = readAll(t, Origin{CSV: tt.path}) })
			if !strings.Contains(got.End, tt.end) {
				t.Errorf("it ended with %q, want %q", got.End, tt.end)
			}
			if bytes > 400*mega {
				t.Errorf("it took %d MiB", bytes/mega)
			}
		})
	}
}

func TestOneRowOfADatabaseIsBounded(t *testing.T) {
	path := database(t, "create table c(phone text, note blob)", "insert into c values ('1', 'a')")
	for query, end := range map[string]string{
		"select phone, zeroblob(20000000) as note from c":                                "sqlite",
		"select phone, zeroblob(9000000) as a, zeroblob(9000000) as b from c":            "sqlite",
		"select phone, zeroblob(5000000) as a, zeroblob(5000000) as b, note as c from c": "",
	} {
		var got list
		bytes := allocated(func() { got = readAll(t, Origin{SQLite: path, Query: query}) })
		if (end == "") != (got.End == "") || end != "" && len(got.Rows) > 0 {
			t.Errorf("%s: %d rows, ended with %q", query, len(got.Rows), got.End)
		}
		if bytes > 100*mega {
			t.Errorf("%s: it took %d MiB", query, bytes/mega)
		}
	}
}

func TestAQuoteThatNobodyClosesSwallowsNoRows(t *testing.T) {
	for name, tt := range map[string]struct {
		text, end, note string
		rows            int
	}{
		"to the end":              {"phone,name\n1,a\n2,\"b\n3,c\n4,d\n", `the quote that opens a cell in row 3 is never closed, so all behind it was taken for that cell`, "", 2},
		"to the end, no line end": {"phone,name\n1,a\n2,\"b\n3,c", "is never closed", "", 2},
		"up to another quote":     {"phone,name\n1,a\n2,\"5 inch\n3,c\n4,\"d\"\n5,e\n", "", "1 row with a cell of several lines, the first is row 3", 3},
		"a cell of several lines": {"phone,name\n1,\"a\nb\"\n", "", "1 row with a cell of several lines, the first is row 2", 1},
		"quotes inside of cells":  {"phone,name\n1,5\" pipe\n2,\"b\"\n", "", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			got := readAll(t, Origin{CSV: put(t, "l.csv", []byte(tt.text)), Quoting: "lazy"})
			if len(got.Rows) != tt.rows || tt.end == "" && got.End != "" || !strings.Contains(got.End, tt.end) {
				t.Errorf("%q, ended with %q", got.Rows, got.End)
			}
			if notes := strings.Join(got.Notes, "; "); tt.note == "" && notes != "" || !strings.Contains(notes, tt.note) {
				t.Errorf("notes %q", notes)
			}
		})
	}
}
