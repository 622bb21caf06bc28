package sandbox

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gocarina/gocsv"
	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/units"
)

// maxForm is what the rest of an upload's form may add.
const maxForm = 64 << 10

// A Campaign is a pre-defined one, or one made from an upload.
type Campaign struct {
	ID         string    `json:"campaign_id"`
	Predefined bool      `json:"predefined,omitempty"`
	Name       string    `json:"name,omitempty"`
	TemplateID int64     `json:"template_id,omitempty"`
	File       string    `json:"file,omitempty"`
	Bytes      int64     `json:"bytes,omitempty"`
	Rows       int       `json:"rows,omitempty"`
	NewPeople  int       `json:"new_contacts,omitempty"`
	SHA256     string    `json:"sha256,omitempty"`
	Repeat     bool      `json:"repeat,omitempty"` // the same file came before
	CreatedAt  time.Time `json:"created_at,omitzero"`
}

// Campaigns returns the pre-defined campaigns and then the uploads in their order.
func (s *Sandbox) Campaigns() []Campaign {
	l := s.book.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Campaign{}, l.campaigns...)
}

func (s *Sandbox) knowsCampaign(id string) bool {
	for _, known := range s.options.Campaigns {
		if known == "*" || known == id {
			return true
		}
	}
	l := s.book.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.campaign[id]
	return ok
}

func (s *Sandbox) createWithCSV(ask *request) (reply, error) {
	u, err := s.readUpload(ask)
	if err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return reply{}, &refusal{http.StatusRequestEntityTooLarge, tooLarge}
		}
		if no, ok := errors.AsType[*refusal](err); ok {
			return reply{}, no
		}
		return reply{}, refuse("form was cut or is broken")
	}
	l := s.book.Load()
	var ids []int64
	created := l.acceptAll(u.rows, ask.now, func(id int64) {
		if s.options.ListIDs {
			ids = append(ids, id)
		}
	})
	c := Campaign{
		Name: u.name, TemplateID: u.templateID, File: u.file, Bytes: u.bytes, Rows: len(u.rows), NewPeople: created,
		SHA256: hex.EncodeToString(u.sum[:]), CreatedAt: ask.now.UTC(),
	}
	l.mu.Lock()
	for n := len(l.campaigns) + 5001; ; n++ {
		c.ID = strconv.Itoa(n)
		if _, taken := l.campaign[c.ID]; !taken {
			break
		}
	}
	c.Repeat = l.uploads[u.sum] > 0
	l.uploads[u.sum]++
	l.campaign[c.ID] = len(l.campaigns)
	l.campaigns = append(l.campaigns, c)
	l.mu.Unlock()
	ask.messages = len(u.rows)
	ask.subject = subject{kind: "upload", name: u.name}
	return s.created(c, ids, u.rows)
}

// An upload is a form whose every row was found good; nothing is accepted before that.
type upload struct {
	name       string
	templateID int64
	file       string
	bytes      int64
	sum        [sha256.Size]byte
	variables  int // columns beside phone
	rows       []parcel

	given map[string]bool // parts
}

var uploadParts = []string{"name", "template_id", "file"}

var tooLarge = "file is larger than " + units.Size(apiclient.MaxFile).String()

// readUpload reads the form as it streams in.
func (s *Sandbox) readUpload(ask *request) (*upload, error) {
	if ask.http.ContentLength > apiclient.MaxFile+maxForm {
		return nil, &refusal{http.StatusRequestEntityTooLarge, tooLarge}
	}
	ask.http.Body = http.MaxBytesReader(ask.writer, ask.http.Body, apiclient.MaxFile+maxForm)
	form, err := ask.http.MultipartReader()
	if err != nil {
		return nil, &refusal{http.StatusUnsupportedMediaType, "Content-Type must be multipart/form-data with a boundary"}
	}
	u := &upload{given: map[string]bool{}}
	for {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := u.take(part); err != nil {
			return nil, err
		}
	}
	for _, name := range uploadParts {
		if !u.given[name] {
			return nil, refuse("part %q is missing", name)
		}
	}
	t, ok := s.byID[u.templateID]
	if !ok {
		if t, ok = s.templates[templateKey{"*", "*"}]; !ok || t.ID != 0 {
			return nil, refuse("template_id %d does not exist", u.templateID)
		}
	}
	if err := t.wants(u.variables); err != nil {
		return nil, err
	}
	about := subject{"upload", t.Name, t.Language}
	for i := range u.rows {
		u.rows[i].subject = about
	}
	return u, nil
}

// take reads one part of the form.
func (u *upload) take(part *multipart.Part) error {
	name := part.FormName()
	switch {
	case !slices.Contains(uploadParts, name):
		return refuse("part %q is not known: known are %s", clip(name), strings.Join(uploadParts, ", "))
	case u.given[name]:
		return refuse("part %q is given twice", name)
	}
	u.given[name] = true
	if name == "file" {
		return u.takeFile(part)
	}
	const most = 1000
	text, err := io.ReadAll(io.LimitReader(part, most+1))
	if err != nil {
		return err
	}
	switch {
	case len(text) > most:
		return refuse("part %q is longer than %d bytes", name, most)
	case name == "name":
		if u.name = strings.TrimSpace(string(text)); u.name == "" {
			return refuse("part %q is empty", "name")
		}
	default:
		if u.templateID, err = strconv.ParseInt(string(text), 10, 64); err != nil {
			return refuse("template_id must be an integer")
		}
	}
	return nil
}

// metered reads a file, counts and hashes it, and stops one byte beyond the limit.
type metered struct {
	r    io.Reader
	read int64
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.read += int64(n); m.read > apiclient.MaxFile {
		return 0, &refusal{http.StatusRequestEntityTooLarge, tooLarge}
	}
	return n, err
}

// takeFile reads the CSV file row by row.
func (u *upload) takeFile(part *multipart.Part) error {
	u.file = part.FileName()
	if !strings.HasSuffix(strings.ToLower(u.file), ".csv") {
		return refuse("file name must end in .csv")
	}
	sum := sha256.New()
	in := &metered{r: io.TeeReader(part, sum)}
	table := csv.NewReader(in)
	table.ReuseRecord = true
	rows, err := gocsv.NewUnmarshaller(table, uploadedRow{})
	if errors.Is(err, io.EOF) {
		return refuse("file is empty")
	}
	if err != nil {
		return inFile(err)
	}
	// gocsv passes over what it does not know, and a byte order mark.
	if err := checkHeader(rows.Headers); err != nil {
		return err
	}
	u.variables = len(rows.Headers) - 1
	for {
		row, rest, err := rows.ReadUnmatched()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return inFile(err)
		}
		p, words := parcelOf(row.(uploadedRow), rows.Headers[1:], rest) //nolint:forcetypeassert // what the reader was made for
		if words != "" {
			line, _ := table.FieldPos(0)
			return refuse("file, line %d: %s", line, words)
		}
		u.rows = append(u.rows, p)
	}
	if len(u.rows) == 0 {
		return refuse("file has a header, but no rows")
	}
	u.bytes = in.read
	sum.Sum(u.sum[:0])
	return nil
}

// An uploadedRow is what every row has; its variables are by their columns, however many there are.
type uploadedRow struct {
	Phone string `csv:"phone"`
}

// parcelOf is the message of a row whose variables are in the columns of those names.
func parcelOf(row uploadedRow, columns []string, variables map[string]string) (parcel, string) {
	phone, ok := parseNumber(row.Phone)
	if !ok {
		return parcel{}, badPhone
	}
	p := parcel{phone: phone, contact: true}
	for _, name := range columns {
		v := variables[name]
		if !utf8.ValidString(v) {
			return parcel{}, "text is not UTF-8"
		}
		p.variables = append(p.variables, v)
	}
	return p, ""
}

// checkHeader says what is wrong with the first line.
func checkHeader(header []string) error {
	switch {
	case strings.HasPrefix(header[0], "\uFEFF"):
		return refuse("file begins with a byte order mark: save it as UTF-8 without one")
	case len(header) == 1 && strings.Contains(header[0], ";"):
		return refuse("columns must be separated by commas, not semicolons")
	case header[0] != "phone":
		return refuse("first column must be phone, not %q", clip(header[0]))
	}
	for i, name := range header[1:] {
		if want := "var_" + strconv.Itoa(i+1); name != want {
			return refuse("column %d must be %s, not %q", i+2, want, clip(name))
		}
	}
	return nil
}

// inFile puts a fault of the CSV syntax into words.
func inFile(err error) error {
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		if errors.Is(p.Err, csv.ErrFieldCount) {
			return refuse("file, line %d: number of columns differs from the header's", p.Line)
		}
		return refuse("file, line %d, column %d: %v", p.Line, p.Column, p.Err)
	}
	return err
}
