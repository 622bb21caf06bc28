package lists

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/nudgewire/nudgewire/internal/secret"
)

// A Problem is one thing wrong with an Origin. Path is that of its key within the job:
// "source.http.url".
type Problem struct {
	Path, Msg string
	Hint      string // what to do; "" when there is no good advice
	Warning   bool   // valid, but probably not what is meant
}

// Compile checks what needs more than the shape of the YAML, and makes the source; nil when a
// problem is more than a warning. Relative paths start at folder; "" is the working folder.
func (o Origin) Compile(folder string) (Source, []Problem) {
	var c checker
	s := c.source(&o, folder)
	for _, p := range c.problems {
		if !p.Warning {
			return nil, c.problems
		}
	}
	return s, c.problems
}

type checker struct{ problems []Problem }

func (c *checker) bad(path, hint, format string, args ...any) {
	c.problems = append(c.problems, Problem{path, fmt.Sprintf(format, args...), hint, false})
}

func (c *checker) warn(path, hint, format string, args ...any) {
	c.problems = append(c.problems, Problem{path, fmt.Sprintf(format, args...), hint, true})
}

func (c *checker) source(o *Origin, folder string) Source {
	named := o.kindsNamed()
	switch {
	case len(named) == 0:
		c.bad("source", "name one of "+keysOf(kinds), "does not say where the rows come from")
		return nil
	case len(named) > 1:
		c.bad("source."+named[1].key, "keep one of them; write a job for each", "%s cannot be read together", keysOf(named))
		return nil
	}
	kind := named[0]
	switch {
	case kind.database && strings.TrimSpace(o.Query) == "":
		c.bad("source.query", "write what to select: select phone, first_name from customers", "is missing: a database needs a query")
	case !kind.database && o.Query != "":
		c.bad("source.query", "remove it", "only a database has a query, and this is %s", kind.key)
	case kind.database && writes.MatchString(o.Query):
		c.warn("source.query", "the session is read-only, so it will fail: begin with select or with", "does not look like a question")
	}
	if _, known := canonical(o.Encoding); !known {
		c.bad("source.encoding", "write one of "+encodingNames, "%q is no encoding that is known", o.Encoding)
	}
	if d := o.Delimiter; d != "" && (len(d) != 1 && d != "tab" && d != `\t` || strings.ContainsAny(d, "\"\r\n")) {
		c.bad("source.delimiter", "write one character, or tab", "%q is not a delimiter", d)
	}
	if kind.check != nil {
		kind.check(c, o)
	}
	s, err := kind.open(*o, folder)
	if err != nil {
		msg, hint := words(err)
		c.bad("source."+kind.key, hint, "%s", msg)
		return nil
	}
	return s
}

// pattern checks a name of files with * in it.
func (c *checker) pattern(key, p string) {
	if _, err := path.Match(p, ""); err != nil {
		c.bad(key, "close the bracket, or put a \\ in front of it", "%q is not a pattern", p)
	}
}

func (c *checker) files(o *Origin) {
	c.pattern("source.csv", o.CSV)
	c.pattern("source.xlsx", o.XLSX)
}

func (c *checker) postgres(o *Origin) { c.proves("postgres", UntrustedPostgres, o.Postgres) }
func (c *checker) mysql(o *Origin)    { c.proves("mysql", untrustedMySQL, o.MySQL) }

// proves warns of a database elsewhere that need not prove itself.
func (c *checker) proves(key string, untrusted func(address string) (host, hint string), address secret.Secret) {
	if host, hint := untrusted(address.Reveal()); host != "" {
		c.warn("source."+key, hint, "the way to %s is not surely encrypted, or its certificate is not checked: somebody in between could read and change the list", host)
	}
}

var writes = regexp.MustCompile(`(?is)^\s*(insert|update|delete|merge|drop|alter|create|truncate|grant|copy|replace)\b`)

func (c *checker) web(o *Origin) {
	h := o.HTTP
	u, err := url.Parse(h.URL)
	switch {
	case err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "":
		c.bad("source.http.url", "write it like https://crm.example.com/api/contacts", "is not a web address")
	case u.User != nil:
		c.bad("source.http.url", "use user and password beside it", "an address with a user name or password in it")
	case u.Scheme == "http" && !h.AllowPrivate:
		c.warn("source.http.url", "write https://", "http:// lets everybody on the way read and change the list")
	}
	if !h.Bearer.IsZero() && h.User != "" {
		c.bad("source.http.user", "keep one of them", "bearer and user cannot be used together")
	}
	if p := h.Pages; p != nil {
		if p.By == "cursor" && p.Cursor == "" {
			c.bad("source.http.pages.cursor", "write the path of the next cursor, such as meta.next", "is missing")
		}
		if p.By != "cursor" && p.Cursor != "" {
			c.bad("source.http.pages.cursor", "remove it, or write by: cursor", "pages are found by %s, which needs no cursor", p.By)
		}
		if h.Format == "csv" && p.By == "cursor" {
			c.bad("source.http.pages.by", "use link, page or offset", "CSV holds no cursor")
		}
		if h.Format == "csv" && p.Total != "" {
			c.bad("source.http.pages.total", "remove it", "CSV holds no count")
		}
	}
}

func (c *checker) bucket(o *Origin) {
	s := o.S3
	if s.AccessKey.IsZero() != s.SecretKey.IsZero() {
		c.bad("source.s3", "set both access_key and secret_key, or none for a public bucket", "has one key of the two")
	}
	if u, err := url.Parse(s.Endpoint); s.Endpoint != "" && (err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "") {
		c.bad("source.s3.endpoint", "write it like https://s3.eu-central-1.amazonaws.com", "is not a web address")
	}
	c.pattern("source.s3.key", s.Key)
}

func (c *checker) server(o *Origin) {
	s := o.SFTP
	if s.Password.IsZero() && s.Key.IsZero() {
		c.bad("source.sftp", "set key: ${file:/path/to/key}, or password", "has neither key nor password")
	}
	c.pattern("source.sftp.path", s.Path)
}
