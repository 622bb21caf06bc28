package lists

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/nudgewire/nudgewire/internal/secret"
)

// What Excel's plain CSV is on machines around the world is read by its name; without one it is not guessed, and the hint names it.
func TestEachEncodingIsReadByItsNameAndNoneIsGuessed(t *testing.T) {
	for _, tt := range []struct{ country, encoding, name string }{
		{"RU", "windows-1251", "Иван"},
		{"UA", "windows-1251", "Ірина"},
		{"PL", "windows-1250", "Łukasz Żak"},
		{"TR", "windows-1254", "Şule Ğ"},
		{"JP", "shift_jis", "山田太郎"},
		{"CN", "gbk", "王小明"},
		{"TW", "big5", "王小明"},
		{"KR", "euc-kr", "김민수"},
		{"GR", "windows-1253", "Γιώργος"},
		{"IL", "windows-1255", "דוד"},
		{"AE", "windows-1256", "محمد"},
		{"TH", "windows-874", "สมชาย"},
		{"LT", "windows-1257", "Žydrė"},
	} {
		t.Run(tt.country, func(t *testing.T) {
			coded, err := htmlindex.Get(tt.encoding)
			if err != nil {
				t.Fatal(err)
			}
			name, err := coded.NewEncoder().String(tt.name)
			if err != nil {
				t.Fatal(err)
			}
			path := put(t, "list.csv", []byte("phone,name\n+441,"+name+"\n"))
			got := readAll(t, Origin{CSV: path, Country: tt.country, Encoding: strings.ToUpper(tt.encoding)})
			if want := []string{"+441|" + tt.name}; !slices.Equal(got.Rows, want) || got.End != "" {
				t.Errorf("read %q, %s; want %q", got.Rows, got.End, want)
			}
			rows, readAs, end := end(t, Origin{CSV: path, Country: tt.country})
			if len(rows) > 0 || readAs != "" || !strings.Contains(end, tt.encoding) {
				t.Errorf("without its encoding: %q, %q, %s", rows, readAs, end)
			}
		})
	}
	for encoding, name := range map[string]string{"iso-8859-15": "Œuvre €", "koi8-r": "Иван", "macintosh": "Zoë José", "latin1": "Zoë"} {
		coded, err := htmlindex.Get(encoding)
		if err != nil {
			t.Fatal(err)
		}
		text, err := coded.NewEncoder().String("phone,name\n+441," + name + "\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, Origin{CSV: put(t, "list.csv", []byte(text)), Encoding: encoding}); !slices.Equal(got.Rows, []string{"+441|" + name}) {
			t.Errorf("%s: read %q, %s", encoding, got.Rows, got.End)
		}
	}
	got := readAll(t, Origin{CSV: put(t, "list.csv", []byte("phone,name\n+441,\x81\n+442,Ann\n")), Encoding: "shift_jis"})
	if want := []string{"! the row is not written in shift_jis", "+442|Ann"}; !slices.Equal(got.Rows, want) {
		t.Errorf("bytes that are no Shift JIS: %q, want %q", got.Rows, want)
	}
	if _, problems := (Origin{CSV: "x.csv", Encoding: "cp-klingon"}).Compile(""); len(problems) != 1 || problems[0].Path != "source.encoding" {
		t.Errorf("an unknown encoding: %v", problems)
	}
}

// filled is a workbook of two columns, changed by with.
func filled(t *testing.T, with func(f *excelize.File) error, rows ...[]any) string {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	for i, row := range append([][]any{{"phone", "name"}}, rows...) {
		if err := f.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	if err := with(f); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "list.xlsx")
	if err := f.SaveAs(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a filter hides is not sent, unless the job says so.
func TestHiddenRowsAreLeftOut(t *testing.T) {
	path := filled(t, func(f *excelize.File) error { return f.SetRowVisible("Sheet1", 3, false) }, []any{"+441", "Ann"}, []any{"+442", "Ben"}, []any{"+443", "Cat"})
	if got, want := readAll(t, Origin{XLSX: path}).Rows, []string{"+441|Ann", "! the row is hidden in the workbook (source.hidden)", "+443|Cat"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	if got, want := readAll(t, Origin{XLSX: path, Hidden: "send"}).Rows, []string{"+441|Ann", "+442|Ben", "+443|Cat"}; !slices.Equal(got, want) {
		t.Errorf("told to send them: %q, want %q", got, want)
	}
}

// The first worksheet that people see is the list; one that is empty says which others there are.
func TestTheWorksheetThatIsShown(t *testing.T) {
	two := func(hide string) string {
		return filled(t, func(f *excelize.File) error {
			if _, err := f.NewSheet("Guests"); err != nil {
				return err
			}
			if err := f.SetSheetRow("Guests", "A1", &[]any{"phone"}); err != nil {
				return err
			}
			if err := f.SetSheetRow("Guests", "A2", &[]any{"+449"}); err != nil {
				return err
			}
			f.SetActiveSheet(1)
			return f.SetSheetVisible(hide, false)
		}, []any{"+441", "Ann"})
	}
	hidden := two("Sheet1")
	if got := readAll(t, Origin{XLSX: hidden}); !slices.Equal(got.Rows, []string{"+449"}) {
		t.Errorf("the first is hidden: %q, %s", got.Rows, got.End)
	}
	if got := readAll(t, Origin{XLSX: hidden, Worksheet: "Sheet1"}); !slices.Equal(got.Rows, []string{"+441|Ann"}) {
		t.Errorf("a hidden one that is named: %q, %s", got.Rows, got.End)
	}
	empty := filled(t, func(f *excelize.File) error {
		for _, err := range []error{f.SetCellValue("Sheet1", "A1", nil), f.SetCellValue("Sheet1", "B1", nil)} {
			if err != nil {
				return err
			}
		}
		_, err := f.NewSheet("Guests")
		return err
	})
	if _, _, got := end(t, Origin{CSV: empty}); !strings.Contains(got, "its worksheet “Sheet1” is empty | name another one in source.worksheet; it has “Sheet1”, “Guests”") {
		t.Error(got)
	}
}

// A date is an ISO date whatever computer typed it; a format of one's own is shown as it is.
func TestDatesOfWorkbooks(t *testing.T) {
	at := time.Date(2026, 3, 6, 18, 30, 0, 0, time.UTC)
	for format, want := range map[int]string{14: "2026-03-06", 22: "2026-03-06 18:30"} {
		path := filled(t, func(f *excelize.File) error {
			style, err := f.NewStyle(&excelize.Style{NumFmt: format})
			if err != nil {
				return err
			}
			if err := f.SetCellValue("Sheet1", "B2", at); err != nil {
				return err
			}
			return f.SetCellStyle("Sheet1", "B2", "B2", style)
		}, []any{"+441", ""})
		if got := readAll(t, Origin{XLSX: path}).Rows; !slices.Equal(got, []string{"+441|" + want}) {
			t.Errorf("format %d: %q, want %s", format, got, want)
		}
	}
	own := "dd.mm.yyyy"
	path := filled(t, func(f *excelize.File) error {
		style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &own})
		if err != nil {
			return err
		}
		if err := f.SetCellValue("Sheet1", "B2", at); err != nil {
			return err
		}
		return f.SetCellStyle("Sheet1", "B2", "B2", style)
	}, []any{"+441", ""})
	if got := readAll(t, Origin{XLSX: path}).Rows; !slices.Equal(got, []string{"+441|06.03.2026"}) {
		t.Errorf("a format of one's own: %q", got)
	}
}

// What looks like a workbook and is none is named for what it is.
func TestFilesThatAreNoWorkbooks(t *testing.T) {
	for member, want := range map[string]string{"content.xml": ".ods kind", "word/document.xml": "is a document", "list.csv": "is a zip file and no workbook"} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		if _, err := z.Create(member); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, Origin{XLSX: put(t, "a.xlsx", b.Bytes())}); !strings.Contains(got.End, want) {
			t.Errorf("%s: %s", member, got.End)
		}
	}
}

// The other shapes in which web addresses give lists.
func TestMoreShapesOfWebLists(t *testing.T) {
	answers := map[string]string{
		"/empty": `[]`, "/none": `{"data":[]}`, "/lines": "{\"phone\":\"11\"}\n{\"phone\":\"12\",\"name\":\"Ann\"}\n", "/cut": "{\"phone\":\"11\"}\n{\"phone\":",
	}
	mux := http.NewServeMux()
	for path, text := range answers {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, text)
		})
	}
	mux.HandleFunc("/next", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if next := map[string]string{"": "2", "2": "3"}[r.URL.Query().Get("p")]; next != "" {
			fmt.Fprintf(w, `{"next":"http://%s/next?p=%s","results":[{"phone":"%s"}]}`, r.Host, next, next)
			return
		}
		fmt.Fprint(w, `{"next":null,"results":[{"phone":"4"}]}`)
	})
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"next":"http://192.0.2.1/next?p=2","results":[{"phone":"1"}]}`)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	onward := &Pages{By: "cursor", Cursor: "next"}
	for name, tt := range map[string]struct {
		http HTTP
		want list
	}{
		"no rows":                       {HTTP{URL: "/empty"}, list{}},
		"no rows at their place":        {HTTP{URL: "/none", Items: "data"}, list{}},
		"an object a line":              {HTTP{URL: "/lines"}, list{Header: []string{"phone", "name"}, Rows: []string{"11|", "12|Ann"}, Lines: []int64{1, 2}}},
		"lines that break off":          {HTTP{URL: "/cut"}, list{End: "http HOST/cut: the answer breaks off in the middle"}},
		"the next page as an address":   {HTTP{URL: "/next", Items: "results", Pages: onward}, list{Header: []string{"phone"}, Rows: []string{"2", "3", "4"}, Lines: []int64{1, 2, 3}}},
		"credentials stay at this host": {HTTP{URL: "/elsewhere", Items: "results", Pages: onward, Bearer: secret.New("t0")}, list{Header: []string{"phone"}, Rows: []string{"1"}, Lines: []int64{1}, End: "http HOST/elsewhere: page 1: the next page leads to another host, which must not get the credentials and parameters of this one"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.http.URL = server.URL + tt.http.URL
			got := readSource(t, web(t, tt.http, Origin{}))
			got.End = strings.ReplaceAll(got.End, strings.TrimPrefix(server.URL, "http://"), "HOST")
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want) {
				t.Errorf("read %+v, want %+v", got, tt.want)
			}
		})
	}
}
