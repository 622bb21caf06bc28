package sandbox_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/sandbox"
)

func TestUpload(t *testing.T) {
	c := newClock()
	o := account()
	o.Now, o.ListIDs = c.now, true
	s := serve(t, o)
	file := "phone,var_1,var_2\n447700900123,Ada,\"Kettle, blue\"\n447700900124,Bob,Pan\n447700900123,Ada,Cup\n"
	a, err := s.client.CreateCampaign(t.Context(), "Winback June", 1042, "june.csv", strings.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"100001", "100002", "100003"}, a.MessageIDs); diff != "" || a.CampaignID != "5002" {
		t.Errorf("campaign %q, ids (-want +got):\n%s", a.CampaignID, diff)
	}
	want := []sandbox.Campaign{
		{ID: "417", Predefined: true},
		{ID: "5002", Name: "Winback June", TemplateID: 1042, File: "june.csv", Bytes: int64(len(file)), Rows: 3, NewPeople: 2, SHA256: s.Campaigns()[1].SHA256, CreatedAt: c.now()},
	}
	if diff := cmp.Diff(want, s.Campaigns()); diff != "" || len(want[1].SHA256) != 64 {
		t.Errorf("campaigns (-want +got):\n%s", diff)
	}
	m := s.Messages("447700900123")
	if len(m) != 2 || m[0].Kind != "upload" || m[0].Name != "cart_reminder" || m[0].Variables[1] != "Kettle, blue" || m[1].Variables[1] != "Cup" {
		t.Errorf("messages %+v", m)
	}
	t.Run("the same file again is a repeat", func(t *testing.T) {
		if _, err := s.client.CreateCampaign(t.Context(), "Again", 1042, "june.csv", strings.NewReader(file), int64(len(file))); err != nil {
			t.Fatal(err)
		}
		got := s.Campaigns()[2]
		st := s.Stats()
		if !got.Repeat || got.NewPeople != 0 || st.Duplicates != 3 || st.Contacts != 2 || st.Uploads != 2 {
			t.Errorf("campaign %+v, stats %+v", got, st)
		}
	})
	t.Run("an upload can be triggered for one phone", func(t *testing.T) {
		if _, err := s.client.SendCampaign(t.Context(), phone, "5002"); err != nil {
			t.Error(err)
		}
	})
}

func TestUploadRefusals(t *testing.T) {
	s := serve(t, account())
	tests := map[string]struct {
		template int64
		fileName string
		file     string
		words    string
	}{
		"an empty file":         {1042, "a.csv", "", "400 Bad Request: file is empty"},
		"a header alone":        {1042, "a.csv", "phone,var_1,var_2\n", "400 Bad Request: file has a header, but no rows"},
		"another first column":  {1042, "a.csv", "Phone\n447700900123\n", `400 Bad Request: first column must be phone, not "Phone"`},
		"a column out of turn":  {1042, "a.csv", "phone,var_2,var_1\n1,2,3\n", `400 Bad Request: column 2 must be var_1, not "var_2"`},
		"a column of no name":   {1042, "a.csv", "phone,var_1,name\n1,2,3\n", `400 Bad Request: column 3 must be var_2, not "name"`},
		"a byte order mark":     {1042, "a.csv", "\uFEFFphone\n447700900123\n", "400 Bad Request: file begins with a byte order mark: save it as UTF-8 without one"},
		"semicolons":            {1042, "a.csv", "phone;var_1\n447700900123;a\n", "400 Bad Request: columns must be separated by commas, not semicolons"},
		"a bad phone":           {1042, "a.csv", "phone,var_1,var_2\n447700900123,a,b\n+4477,a,b\n", "400 Bad Request: file, line 3: phone must be 7 to 15 digits with the country code, without plus sign and separators"},
		"a short row":           {1042, "a.csv", "phone,var_1,var_2\n447700900123,a\n", "400 Bad Request: file, line 2: number of columns differs from the header's"},
		"a stray quote":         {1042, "a.csv", "phone,var_1,var_2\n447700900123,a\"b,c\n", `400 Bad Request: file, line 2, column 15: bare " in non-quoted-field`},
		"text of no encoding":   {1042, "a.csv", "phone,var_1,var_2\n447700900123,a,\xff\n", "400 Bad Request: file, line 2: text is not UTF-8"},
		"too few variables":     {1042, "a.csv", "phone\n447700900123\n", `400 Bad Request: template "cart_reminder" takes 2 variables, not 0`},
		"an unknown template":   {5, "a.csv", "phone\n447700900123\n", "400 Bad Request: template_id 5 does not exist"},
		"a file too large":      {1042, "a.csv", "phone,var_1,var_2\n" + strings.Repeat("447700900123,a,b\n", 600_000), "413 Request Entity Too Large: file is larger than 10MB"},
		"a file just too large": {1042, "a.csv", sized(10_000_001), "413 Request Entity Too Large: file is larger than 10MB"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.client.CreateCampaign(t.Context(), "n", tt.template, tt.fileName, strings.NewReader(tt.file), int64(len(tt.file)))
			if want := "create-with-csv: " + tt.words; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
	if st := s.Stats(); st.Messages != 0 || st.Uploads != 0 || st.Contacts != 0 {
		t.Errorf("a refused file left something: %+v", st)
	}
}

// sized is a good file of exactly n bytes.
func sized(n int) string {
	const head, row = "phone,var_1,var_2\n", "447700900123,aaaaaaaaaaaaaaa,bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\n"
	rows := (n-len(head))/len(row) - 1
	text := head + strings.Repeat(row, rows)
	const last = "447700900124,a,"
	return text + last + strings.Repeat("b", n-len(text)-len(last)-1) + "\n"
}

func TestAFileOfExactlyTheLimitIsTaken(t *testing.T) {
	s := serve(t, account())
	file := sized(apiclient.MaxFile)
	if len(file) != apiclient.MaxFile {
		t.Fatalf("the test's file has %d bytes", len(file))
	}
	if _, err := s.client.CreateCampaign(t.Context(), "n", 1042, "a.csv", strings.NewReader(file), int64(len(file))); err != nil {
		t.Error(err)
	}
	if got := s.Campaigns()[1]; got.Bytes != apiclient.MaxFile || got.NewPeople != 2 {
		t.Errorf("campaign %+v", got)
	}
}

func TestUploadForms(t *testing.T) {
	s := serve(t, account())
	const csv = "phone,var_1,var_2\n447700900123,a,b\n"
	tests := map[string]struct {
		parts [][2]string
		want  string
	}{
		"the file first":      {[][2]string{{"file", csv}, {"template_id", "1042"}, {"name", "n"}}, `200 {"success":true,"campaign_id":"5002","contacts":1}`},
		"another ending":      {[][2]string{{"a.txt", csv}}, `400 {"success":false,"error":"file name must end in .csv"}`},
		"no name":             {[][2]string{{"file", csv}, {"template_id", "1042"}}, `400 {"success":false,"error":"part \"name\" is missing"}`},
		"an empty name":       {[][2]string{{"name", " "}}, `400 {"success":false,"error":"part \"name\" is empty"}`},
		"no template":         {[][2]string{{"file", csv}, {"name", "n"}}, `400 {"success":false,"error":"part \"template_id\" is missing"}`},
		"a template of words": {[][2]string{{"template_id", "x"}}, `400 {"success":false,"error":"template_id must be an integer"}`},
		"no file":             {[][2]string{{"name", "n"}, {"template_id", "1042"}}, `400 {"success":false,"error":"part \"file\" is missing"}`},
		"a part twice":        {[][2]string{{"name", "n"}, {"name", "n"}}, `400 {"success":false,"error":"part \"name\" is given twice"}`},
		"an unknown part":     {[][2]string{{"title", "n"}}, `400 {"success":false,"error":"part \"title\" is not known: known are name, template_id, file"}`},
		"a name too long":     {[][2]string{{"name", strings.Repeat("n", 1001)}}, `400 {"success":false,"error":"part \"name\" is longer than 1000 bytes"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			w := multipart.NewWriter(&buf)
			for _, p := range tt.parts {
				var part io.Writer
				var err error
				switch p[0] {
				case "file":
					part, err = w.CreateFormFile("file", "a.CSV")
				case "a.txt":
					part, err = w.CreateFormFile("file", p[0])
				default:
					part, err = w.CreateFormField(p[0])
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(part, p[1]); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			status, body, _ := s.ask(t, http.MethodPost, "/api/v1/campaigns/create-with-csv", buf.String(), "Content-Type", w.FormDataContentType())
			if diff := cmp.Diff(tt.want, fmt.Sprintf("%d %s", status, body)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
	for name, tt := range map[string]struct{ kind, body, want string }{
		"JSON":             {"application/json", "{}", `415 {"success":false,"error":"Content-Type must be multipart/form-data with a boundary"}`},
		"a form cut short": {"multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nab", `400 {"success":false,"error":"form was cut or is broken"}`},
	} {
		t.Run(name, func(t *testing.T) {
			status, body, _ := s.ask(t, http.MethodPost, "/api/v1/campaigns/create-with-csv", tt.body, "Content-Type", tt.kind)
			if diff := cmp.Diff(tt.want, fmt.Sprintf("%d %s", status, body)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a chunked file without end is cut at the limit", func(t *testing.T) {
		head := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\nphone\n"
		endless := io.MultiReader(strings.NewReader(head), rows{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/v1/campaigns/create-with-csv", endless)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		tr := &http.Transport{}
		defer tr.CloseIdleConnections()
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return // the server closed while the file still came: as good an end
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status %d", resp.StatusCode)
		}
	})
}

// rows is a file without end.
type rows struct{}

func (rows) Read(p []byte) (int, error) {
	const row = "447700900123\n"
	n := 0
	for n+len(row) <= len(p) {
		n += copy(p[n:], row)
	}
	return n, nil
}

func TestTheAnswerToAnUploadMaySayWhoseEachMessageIs(t *testing.T) {
	o := account()
	o.ListIDs, o.Phones = true, true
	const csv = "phone,var_1,var_2\n447700900123,a,b\n447700900124,a,b\n"
	const want = `{"success":true,"campaign_id":"5002","contacts":2,"messages":[{"phone":"447700900123","message_id":100001},{"phone":"447700900124","message_id":100002}]}`
	a, err := serve(t, o).client.CreateCampaign(t.Context(), "n", 1042, "a.csv", strings.NewReader(csv), int64(len(csv)))
	if err != nil || a.Raw != want {
		t.Errorf("answer %s, error %v, want %s", a.Raw, err, want)
	}
	if len(a.MessageIDs) != 2 || len(a.Phones) != 2 || a.Phones[1] != "447700900124" {
		t.Errorf("read as %+v", a)
	}
}

func TestUploadAnswerShapes(t *testing.T) {
	tests := map[sandbox.Shape]string{
		sandbox.ShapeFlat:   `{"success":true,"campaign_id":"5002","contacts":1,"message_ids":[100001]}`,
		sandbox.ShapeString: `{"success":true,"campaign_id":"5002","contacts":1,"message_ids":["100001"]}`,
		sandbox.ShapeNested: `{"success":true,"data":{"campaign_id":"5002","contacts":1,"message_ids":[100001]}}`,
		sandbox.ShapeBare:   `{"success":true}`,
	}
	const csv = "phone,var_1,var_2\n447700900123,a,b\n"
	for shape, want := range tests {
		t.Run("shape "+string(shape), func(t *testing.T) {
			o := account()
			o.Shape, o.ListIDs = shape, true
			a, err := serve(t, o).client.CreateCampaign(t.Context(), "n", 1042, "a.csv", strings.NewReader(csv), int64(len(csv)))
			if err != nil || a.Raw != want {
				t.Errorf("answer %s, error %v, want %s", a.Raw, err, want)
			}
			if shape != sandbox.ShapeBare && (a.CampaignID != "5002" || len(a.MessageIDs) != 1) {
				t.Errorf("read as %+v", a)
			}
		})
	}
}
