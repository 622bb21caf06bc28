package lists

import (
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// An Origin is where a job's rows come from: exactly one of the keys of the first group, with
// what belongs to it.
type Origin struct {
	CSV      string        `yaml:"csv" doc:"Files on this machine, with * in the name for several; .gz and .xlsx are read, too." example:"./lists/*.csv"`
	XLSX     string        `yaml:"xlsx" doc:"Excel workbooks on this machine, with * in the name for several." example:"./lists/guests.xlsx"`
	Sheet    string        `yaml:"sheet" doc:"Link to a Google sheet that everybody with the link may read." example:"https://docs.google.com/spreadsheets/d/1AbCdEfGhIjKlMnOpQrSt/edit#gid=0"`
	Postgres secret.Secret `yaml:"postgres" doc:"Address of a PostgreSQL database, postgres://user:password@host:5432/name?sslmode=verify-full; needs query." example:"${CRM_DSN}"`
	MySQL    secret.Secret `yaml:"mysql" doc:"Address of a MySQL or MariaDB database, user:password@tcp(host:3306)/name?tls=true; needs query." example:"${SHOP_DSN}"`
	SQLite   string        `yaml:"sqlite" doc:"Path of an SQLite file; needs query." example:"./crm.db"`
	HTTP     *HTTP         `yaml:"http" doc:"A web address that answers with JSON or CSV." example:"https://crm.example.com/api/contacts"`
	S3       *S3           `yaml:"s3" doc:"Objects in S3 or a storage that speaks the same."`
	SFTP     *SFTP         `yaml:"sftp" doc:"Files on a server reached by SSH."`
	Contacts string        `yaml:"contacts" doc:"An expression that chooses contacts by what nudgewire knows of them; docs/audiences.md." example:"count(\"*.order.paid\", 90d) >= 2 and not messaged(14d)"`

	Query   string         `yaml:"query" doc:"For databases: what to select. It runs in a read-only session."`
	Timeout units.Duration `yaml:"timeout" validate:"min=1s,max=24h" default:"15m" doc:"Longest time that one query, or one whole transfer, may take."`

	Idle units.Duration `yaml:"idle" validate:"min=1s,max=24h" default:"1m" doc:"For http, sheet, s3 and sftp: the reading ends when nothing comes for so long. A query is bounded by timeout alone, as a database may work long before its first row."`

	Worksheet string   `yaml:"worksheet" doc:"For workbooks: name of the worksheet; the first that is not hidden unless said otherwise."`
	Hidden    string   `yaml:"hidden" validate:"oneof=exclude send" default:"exclude" doc:"For workbooks: what becomes of rows that a filter or a person hid. exclude leaves them out, with their reason; send takes them as others. A hidden worksheet is read where worksheet names it."`
	Delimiter string   `yaml:"delimiter" doc:"For CSV: the separator of cells: , ; | or tab. Found out unless said."`
	Encoding  string   `yaml:"encoding" doc:"For CSV: how the text is written, by its usual name: utf-8, utf-16, windows-1251, iso-8859-15, shift_jis and so on. Found out unless said: UTF-8, and windows-1252 where the job's country writes so; else, and for a list in two encodings, the run ends and says what to set. What cannot be read in the encoding said is excluded; windows-1252 takes every byte for a character."`
	Quoting   string   `yaml:"quoting" validate:"oneof=strict lazy" default:"strict" doc:"For CSV: lazy takes a quote inside a cell for itself; strict ends the run on it."`
	Header    []string `yaml:"header" doc:"For CSV and workbooks without a line of column names: the names, in order." example:"[phone, first_name]"`

	Country string `yaml:"-"` // of the job's people, ISO 3166-1 alpha-2; "" where nobody says

	MaxBytes units.Size `yaml:"max_bytes" default:"4GB" doc:"Most bytes to read; more ends the run."`
}

// HTTP is a source behind a web address. In YAML an address alone will do.
type HTTP struct {
	URL    string `yaml:"url" validate:"required" doc:"The address of the first page." example:"https://crm.example.com/api/contacts"`
	Format string `yaml:"format" validate:"oneof=auto json csv" default:"auto" doc:"What the answer is; auto goes by its content type."`
	Items  string `yaml:"items" doc:"For JSON: path to the list of rows; the whole answer unless said." example:"data.contacts"`

	Bearer   secret.Secret                  `yaml:"bearer" doc:"Token for an Authorization: Bearer header."`
	User     string                         `yaml:"user" doc:"User name for basic authentication."`
	Password secret.Secret                  `yaml:"password" doc:"Password for basic authentication."`
	Headers  yamlpos.Ordered[secret.Secret] `yaml:"headers" doc:"More headers, such as an API key." example:"{X-Api-Key: '${CRM_KEY}'}"`

	Pages *Pages `yaml:"pages" doc:"How the next page is found; one page unless said."`

	AllowPrivate bool `yaml:"allow_private" doc:"Let the address lead into this machine or its private network."`
}

// DecodeYAML reads an address or the keys.
func (h *HTTP) DecodeYAML(n *yamlpos.Node) {
	if n.Kind() == yamlpos.Scalar {
		h.URL = n.Text()
		return
	}
	type plain HTTP // without this method
	p := plain(*h)
	n.Decode(&p)
	*h = HTTP(p)
}

// Schema describes it to editors.
func (HTTP) Schema() map[string]any {
	return map[string]any{"type": []string{"string", "object"}}
}

// Pages says how a web address is read page by page.
type Pages struct {
	By     string `yaml:"by" validate:"required,oneof=link cursor page offset" doc:"link follows the Link header; cursor takes a value of the answer along; page and offset count." example:"cursor"`
	Param  string `yaml:"param" doc:"Name of the parameter; cursor, page or offset unless said."`
	Cursor string `yaml:"cursor" doc:"For cursor: path of the next cursor in the answer; the whole address of the next page will do." example:"meta.next"`
	Size   int    `yaml:"size" validate:"min=1,max=100000" doc:"Rows to ask for on a page, 100 unless said; sent where size_param is set. The server may give fewer: only an empty page ends the list."`
	Total  string `yaml:"total" doc:"Path of the count of all rows in the answer, where it has one: a list that ends before it is no list, and a server that refuses the page behind the last one is understood." example:"meta.total"`
	SizeBy string `yaml:"size_param" doc:"Name of the parameter for the size; none is sent unless said." example:"limit"`
	First  *int   `yaml:"first" doc:"For page: number of the first page; 1 unless said."`
	Max    int    `yaml:"max" validate:"min=1" default:"100000" doc:"Most pages; more ends the run with an error."`
}

// S3 is objects in a bucket.
type S3 struct {
	Bucket       string        `yaml:"bucket" validate:"required" doc:"Name of the bucket." example:"exports"`
	Key          string        `yaml:"key" validate:"required" doc:"The object, with * for several." example:"crm/customers-*.csv.gz"`
	Endpoint     string        `yaml:"endpoint" default:"https://s3.amazonaws.com" doc:"Address of the storage."`
	Region       string        `yaml:"region" doc:"Its region." example:"eu-central-1"`
	AccessKey    secret.Secret `yaml:"access_key" doc:"Access key; both keys empty reads a public bucket." example:"${S3_ACCESS_KEY}"`
	SecretKey    secret.Secret `yaml:"secret_key" doc:"Secret key." example:"${S3_SECRET_KEY}"`
	AllowPrivate bool          `yaml:"allow_private" doc:"Let the address lead into this machine or its private network."`
}

// SFTP is files on a server.
type SFTP struct {
	Host         string        `yaml:"host" validate:"required" doc:"Name of the server, with a port if it is not 22." example:"files.example.com"`
	User         string        `yaml:"user" validate:"required" doc:"Whom to sign in as."`
	Password     secret.Secret `yaml:"password" doc:"The password, or that of the key."`
	Key          secret.Secret `yaml:"key" doc:"The private key." example:"${file:/run/secrets/sftp_key}"`
	KnownHosts   string        `yaml:"known_hosts" doc:"File with the server's key, as ssh keeps it; ~/.ssh/known_hosts unless said."`
	Path         string        `yaml:"path" validate:"required" doc:"The file, with * for several." example:"/export/*.csv"`
	AllowPrivate bool          `yaml:"allow_private" doc:"Let the address lead into this machine or its private network."`
}
