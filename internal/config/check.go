package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/connectors"
	"github.com/nudgewire/nudgewire/internal/lists"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A checker reports what the tags of the sections cannot say.
type checker struct {
	doc   *yamlpos.Doc
	known yamlpos.Problems // the faults found before the rooms were asked

	samples map[source][]connectors.SampleEvent // that lints looked at
}

func (k *checker) bad(path, msg, hint string) { k.doc.Report(path, 0, msg, hint, false) }

func (k *checker) warn(code yamlpos.Code, path, msg, hint string) {
	k.doc.Add(yamlpos.Problem{Code: code, Path: path, Msg: msg, Hint: hint, Warning: true}, 0)
}

// written reports whether the file has a usable value at path: what is missing or could not be
// decoded has its problem already.
func (k *checker) written(path string) bool {
	n := k.doc.Node(path)
	return n != nil && n.Kind() == yamlpos.Scalar && n.Usable()
}

// api checks the section api, or an account.
func (k *checker) api(at string, a *API, folder string) {
	if k.written(at + ".base_url") {
		if u := k.url(at+".base_url", a.BaseURL); u != nil {
			a.BaseURL = strings.TrimRight(a.BaseURL, "/")
			if !strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/api/v1") {
				k.warn("api-version", at+".base_url", "does not end in /api/v1, the version this program speaks", "copy the base address from the service's dashboard")
			}
		}
	}
	if k.written(at+".key") && a.Key.IsZero() {
		k.bad(at+".key", "is empty", "write ${NAME} and set the variable NAME for the daemon")
	}
	if k.written(at + ".ca_file") {
		if !filepath.IsAbs(a.CAFile) {
			a.CAFile = filepath.Join(folder, a.CAFile)
		}
		if _, err := apiclient.Roots(a.CAFile); err != nil {
			k.bad(at+".ca_file", err.Error(), "name a file with certificates between lines of -----BEGIN CERTIFICATE----- and -----END CERTIFICATE-----")
		}
	}
}

// url reads an address of a web service and reports what is wrong with it; nil for a bad one.
func (k *checker) url(path, text string) *url.URL {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || !strings.HasPrefix(u.Scheme, "http"): // the rule http_url has said so
	case u.User != nil:
		// The text is not repeated: it holds a password.
		k.bad(path, "an address with a user name or password in it", "write it like https://www.example.com")
	case u.RawQuery != "" || u.Fragment != "":
		k.bad(path, fmt.Sprintf("%q has more behind its path", text), "leave out ? and # and what follows them")
	default:
		if u.Scheme == "http" && !loopback(u.Hostname()) {
			k.warn("unencrypted", path, "http:// lets everybody on the way read and change what is sent", "write https://")
		}
		return u
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

func (k *checker) tracking(t *Tracking) {
	if len(t.Poll) == 0 {
		k.bad("tracking.poll", "is an empty list", "write the waits, such as [5s, 1m, 10m], or remove the line")
	}
	for i := 1; i < len(t.Poll); i++ {
		if t.Poll[i] > 0 && t.Poll[i] < t.Poll[i-1] {
			k.warn("poll-order", fmt.Sprintf("tracking.poll[%d]", i), fmt.Sprintf("%s comes after %s: waits usually grow", t.Poll[i], t.Poll[i-1]), "write the short waits first")
		}
	}
	if len(t.Poll) > 0 && t.GiveUp < t.Poll[0] {
		k.bad("tracking.give_up", fmt.Sprintf("%s is over before the first question after %s", t.GiveUp, t.Poll[0]), "give it days; the default is 30d")
	}
}

// storage leaves an absolute path in dsn, or nothing. local is the folder of this machine for a database that is on another.
func (k *checker) storage(dsn *string, local, folder string) {
	if k.doc.Node("storage") != nil && !k.written("storage") {
		*dsn = "" // whoever asks only for the storage must not be led to the default
		return
	}
	scheme, path, found := strings.Cut(*dsn, ":")
	path = strings.TrimPrefix(path, "//")
	hint := "write sqlite: and the file's path, such as sqlite:./data/nudgewire.db, or postgres://user:password@server/database" //nolint:gosec // an example
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		if _, err := url.Parse(*dsn); err != nil || strings.Contains(*dsn, "#") { // the error repeats the text, and so the password
			k.bad("storage", "is no address of a database", "write postgres://user:password@server:5432/database; special characters of a password are percent-encoded, such as %23 for #")
			break
		}
		if host, hint := lists.UntrustedPostgres(*dsn); host != "" && !IsStandIn(host) {
			k.warn("unencrypted", "storage", "the way to "+host+" is not surely encrypted, or its certificate is not checked: somebody in between could read every phone, and change what is sent", hint)
		}
		if !filepath.IsAbs(local) {
			local = filepath.Join(folder, local)
		}
		*dsn += "#" + local
		return
	case !found || scheme != "sqlite":
		k.bad("storage", "is no storage this version knows", hint) // the text may hold a password
	case strings.Trim(path, "/") == "" || strings.HasPrefix(path, ":memory:"):
		k.bad("storage", "names no file", hint)
	default:
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		*dsn = scheme + ":" + path
		return
	}
	*dsn = ""
}

func (k *checker) server(s *Server) {
	if err := listenAddress(s.Listen); err != nil {
		k.bad("server.listen", err.Error(), "write :8080 for all addresses, or 127.0.0.1:8080 behind a proxy on this machine")
	}
	if k.written("server.public_url") {
		if k.url("server.public_url", s.PublicURL) != nil {
			s.PublicURL = strings.TrimRight(s.PublicURL, "/")
		}
	}
	if len(s.TrustedProxies) > 0 && !k.written("server.public_url") {
		k.bad("server.trusted_proxies", "needs server.public_url: behind a proxy nothing else says which address senders called, and some sign it", "set public_url to the address that senders know")
	}
	if s.MaxInFlight < s.MaxBody {
		k.bad("server.max_in_flight", fmt.Sprintf("%s is less than one body of max_body, %s", s.MaxInFlight, s.MaxBody), "make it many times max_body")
	}
}

func (k *checker) errors(own []messaging.ErrorRule) *messaging.ErrorRules {
	rules, faults := messaging.CompileErrorRules(own)
	for _, f := range faults {
		// What is missing, or could not be decoded, has its problem already.
		if path := fmt.Sprintf("errors[%d].match", f.Index); k.written(path) {
			k.doc.Report(path, 0, f.Msg, f.Hint, f.Warning)
		}
	}
	return rules
}

// listenAddress says what is wrong with an address to listen on.
func listenAddress(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%q is not an address with a port", text)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is not a port from 0 to 65535", port)
	} else if strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%q is not a port written plainly", port)
	}
	if strings.ContainsAny(host, " /") {
		return fmt.Errorf("%q is not a host", host)
	}
	return nil
}

// names that stand in a URL and before the dot of "connector.kind".
var plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// name checks the name of a connector or trigger.
func (k *checker) name(path, what, name string) {
	if plainName.MatchString(name) {
		return
	}
	slug := strings.Trim(unplain.ReplaceAllString(strings.ToLower(name), "-"), "-_")
	hint := "use small letters, digits, - and _"
	if plainName.MatchString(slug) {
		hint = fmt.Sprintf("write %s", slug)
	}
	k.doc.ReportKey(path, fmt.Sprintf("%q is not a name for %s", name, what), hint, false)
}

var unplain = regexp.MustCompile(`[^a-z0-9_-]+`)
