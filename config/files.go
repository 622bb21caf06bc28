package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/nudgewire/nudgewire/internal/files"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// InDatabase is what Files.In says where the files of runs are kept in the database.
const InDatabase = "database"

// Files says where the files of runs are kept. In YAML a folder, or database, will do alone. The zero value is the folder runs
// beside the database file, or the database where that is on a server.
type Files struct {
	In string    `yaml:"in" doc:"A folder of this machine, which begins with ./ or /, or database: in the database itself. Unless said: the folder runs beside the database." example:"database"`
	S3 *files.S3 `yaml:"s3" doc:"Objects in S3 or a storage that speaks the same."`
}

// DecodeYAML reads a folder, database, or the keys.
func (f *Files) DecodeYAML(n *yamlpos.Node) {
	if n.Kind() == yamlpos.Scalar {
		f.In = n.Text()
		return
	}
	type plain Files // without this method
	p := plain(*f)
	n.Decode(&p)
	*f = Files(p)
}

// Schema describes it to editors.
func (Files) Schema() map[string]any {
	return map[string]any{"type": []string{"string", "object"}}
}

// String names the place, without secrets; "" for the folder beside the database.
func (f Files) String() string {
	if f.S3 != nil {
		return f.S3.Root()
	}
	return f.In
}

// Same reports whether two are one place that is reached in one way.
func (f Files) Same(other Files) bool { return reflect.DeepEqual(f, other) }

// files leaves an absolute path in f.In, or database, or nothing.
func (k *checker) files(f *Files, folder string, onServer bool) {
	const hint = "write a folder, such as ./runs, or database, or {s3: {bucket: …, access_key: …, secret_key: …}}"
	in := f.In
	switch {
	case in != "" && f.S3 != nil:
		k.bad("files", "names two places", "keep one of in and s3")
	case strings.HasPrefix(in, "s3://"):
		u, err := url.Parse(in)
		if err != nil || u.Host == "" || u.User != nil {
			u = &url.URL{Host: "name"}
		}
		k.bad("files", "an address of S3 says nothing of its keys", fmt.Sprintf("write {s3: {bucket: %s, prefix: %q, access_key: '${S3_ACCESS_KEY}', secret_key: '${S3_SECRET_KEY}'}}", u.Host, strings.Trim(u.Path, "/")))
	case in == "" && onServer && f.S3 == nil:
		f.In = InDatabase // every machine reads it there
	case in == "" || in == InDatabase:
	case !filepath.IsAbs(in) && !strings.HasPrefix(in, "."):
		k.bad("files", "is no place this version knows", hint) // the text may hold a password
	default:
		if !filepath.IsAbs(in) {
			in = filepath.Join(folder, in)
		}
		f.In = filepath.Clean(in)
		if onServer {
			k.warn("files", "is a folder of this machine, and storage is a database that several machines may share", "keep the files where every machine can read them: database, which is the default with PostgreSQL, or S3; a folder will do where all mount it at the same path")
		}
	}
	s := f.S3
	if s == nil {
		return
	}
	u, err := url.Parse(s.Endpoint)
	switch {
	case err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "":
		k.bad("files.s3.endpoint", "is not a web address", "write it like https://s3.eu-central-1.amazonaws.com")
		f.S3 = nil
	case u.Scheme == "http" && !s.AllowPrivate:
		k.warn("files.s3.endpoint", "http:// lets everybody on the way read and change the files", "write https://")
	}
	if strings.HasPrefix(s.Prefix, "/") || strings.Contains(s.Prefix, "//") {
		k.bad("files.s3.prefix", "begins with a slash, or has two in a row", "write it like shop/runs")
	}
}
