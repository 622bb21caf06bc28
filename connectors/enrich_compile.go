package connectors

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/nudgewire/nudgewire/connectors/mapping"
	"github.com/nudgewire/nudgewire/internal/rawjson"
	"github.com/nudgewire/nudgewire/internal/secret"
)

// A lookupRule is a compiled EnrichRule.
type lookupRule struct {
	into    string
	when    []lookupCondition
	url     []mapping.Piece // literals and expressions in turn
	query   int             // the piece from which values are escaped for a query; len(url) for none
	missing []string        // the settings without which the request cannot be made
	made    Lookup          // all but the URL
}

// A lookupCondition is a rule over the item, or one about the phone that was mapped.
type lookupCondition struct {
	rule  *mapping.Rule
	phone bool // about the mapped phone: want says whether it must be there
	want  bool
}

var plainJoin = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

// lookups compiles enrich: with a program of its own, so that receiving does not look for
// what only look-ups need.
func (k *compiler) lookups(con *Connector) {
	con.lookupProgram, con.ownLookups = rawjson.NewProgram(), len(k.own.Enrich) > 0
	k.apiURL()
	var names []string
	for i := range k.config.Enrich {
		at := fmt.Sprintf("enrich[%d]", i)
		rule := &k.config.Enrich[i]
		if !plainJoin.MatchString(rule.Into) {
			k.Add(at+".into", fmt.Sprintf("%q is no name for an answer", rule.Into), "use small letters, digits and _, such as lead")
		} else if slices.Contains(names, rule.Into) && names[i-1] != rule.Into {
			k.Add(at+".into", fmt.Sprintf("%q is the name of an earlier answer", rule.Into), "give each answer a name of its own; rules of one name stand together, and the first that is needed answers for all of them")
		}
		names = append(names, rule.Into)
		con.lookups = append(con.lookups, k.lookup(at, rule, con.lookupProgram))
	}
	// The rate is the host's, whichever rule asks it: the slowest one counts.
	for i := range con.lookups {
		for j := range con.lookups {
			a, b := &con.lookups[i].made, &con.lookups[j].made
			if a.Host == b.Host && b.Rate > 0 && (a.Rate == 0 || b.Rate < a.Rate) {
				a.Rate = b.Rate
			}
		}
	}
}

func (k *compiler) apiURL() {
	text := k.config.APIURL
	if text == "" {
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		k.Add("api_url", "is no address of an API", "write it like https://api.example.com")
		return
	}
	k.scheme("api_url", u)
}

// scheme complains about an address that would carry the token for everybody to read.
func (k *compiler) scheme(path string, u *url.URL) {
	if u.Scheme == "https" || (u.Scheme == "http" && k.config.AllowPrivate) {
		return
	}
	k.Add(path, "does not begin with https://, so that everybody on the way could read the token", "write https://; http:// is for allow_private: true")
}

func (k *compiler) lookup(at string, rule *EnrichRule, program *rawjson.Program) lookupRule {
	out := lookupRule{into: rule.Into}
	for i, text := range rule.When {
		if c, ok := k.lookupWhen(fmt.Sprintf("%s.when[%d]", at, i), text, program); ok {
			out.when = append(out.when, c)
		}
	}
	if len(rule.When) == 0 {
		out.when = []lookupCondition{{phone: true}}
	}
	out.made = Lookup{
		Connector: k.name, Into: rule.Into, Header: http.Header{}, Cache: rule.Cache.D(), Rate: rule.Rate.PerSecond(),
		AllowPrivate: k.config.AllowPrivate,
	}
	k.oneLine("user_agent", k.config.UserAgent)
	if k.config.UserAgent != "" {
		out.made.Header.Set("User-Agent", k.config.UserAgent)
	}
	k.lookupURL(at+".get", rule, &out, program)
	for _, h := range rule.Headers {
		name := http.CanonicalHeaderKey(h.Key)
		switch {
		case !httpguts.ValidHeaderFieldName(h.Key):
			k.Add(at+".headers."+h.Key, "is no name of a header", "write a name such as Accept-Language")
		case name == "Authorization" || name == "Host" || name == "Content-Length":
			k.Add(at+".headers."+h.Key, "is not written here", "auth: says how the request authenticates")
		case strings.ContainsAny(h.Value, "\r\n"):
			k.Add(at+".headers."+h.Key, "has a line end in it", "write the value in one line")
		default:
			out.made.Header.Set(name, h.Value)
		}
	}
	k.lookupAuth(at+".auth", rule.Auth, &out)
	if len(out.missing) > 0 && len(k.own.Enrich) > 0 {
		k.Add(at+".auth", "has no secret to authenticate with: "+out.missing[0]+" is not set", "add it to the connector as "+settingExample(out.missing[0]))
	}
	return out
}

// lookupWhen reads a condition. "phone" is the number that was mapped, which no path can name.
func (k *compiler) lookupWhen(at, text string, program *rawjson.Program) (lookupCondition, bool) {
	r, err := mapping.ParseRule(text)
	if err != nil {
		k.Syntax(at, err)
		return lookupCondition{}, false
	}
	if source := strings.TrimSpace(r.Left.Source); source == "phone" || source == "contact.phone" {
		if r.Op != "" && (!r.Null || (r.Op != "==" && r.Op != "!=")) {
			k.Add(at, "compares the phone with something else than null", "write phone == null; a field of the item that is called phone is written \"phone\"")
			return lookupCondition{}, false
		}
		return lookupCondition{phone: true, want: r.Op != "=="}, true
	}
	if !k.kept(at, r.Left) {
		return lookupCondition{}, false
	}
	r.Left.Link(program, program)
	return lookupCondition{rule: r}, true
}

// kept complains about what is not there any more when a look-up is made.
func (k *compiler) kept(at string, e *mapping.Expr) bool {
	gone := ""
	if e.Lead != nil && k.Root != k.Item {
		gone = "what is around the items of a batch is not kept"
	}
	switch e.From {
	case mapping.FromHeader, mapping.FromQuery:
		gone = "the request's headers and parameters are not kept"
	case mapping.FromRoot:
		if k.Root != k.Item {
			gone = "what is around the items of a batch is not kept"
		}
	case mapping.FromPieces:
		for _, p := range e.Pieces {
			if p.Expr != nil && !k.kept(at, p.Expr) {
				return false
			}
		}
	}
	if gone != "" {
		k.Add(at, fmt.Sprintf("cannot use %s: %s until the look-up", e.Source, gone), "use a path in the item, event.type or event.kind")
	}
	return gone == ""
}

// noHost is the host of look-ups that nobody can make, as api_url is not set.
const noHost = "api-url.invalid"

const (
	chosenHost     = "takes its host from the payload, which could send the token anywhere"
	chosenHostHint = "write the host in full; for another account or region set api_url"
)

// lookupURL splits the address into literals and values. Its host must be literal: a payload
// must not choose whom the token is shown to.
func (k *compiler) lookupURL(at string, rule *EnrichRule, out *lookupRule, program *rawjson.Program) {
	text := rule.Get
	if strings.HasPrefix(text, "/") {
		api := k.config.APIURL
		switch {
		case api == "" && len(k.own.Enrich) > 0:
			k.Add(at, "begins with /, but there is no api_url that it could follow", "write the whole address, or api_url: https://api.example.com")
			return
		case api == "": // of a preset whose sender has an address for each account
			api = "https://" + noHost
			out.missing = append(out.missing, "api_url")
		}
		text = strings.TrimRight(api, "/") + text
	}
	head, _, templated := strings.Cut(text, "{")
	u, err := url.Parse(head)
	switch {
	case err == nil && templated && u.Scheme != "" && u.Host == "" && u.Path == "":
		k.Add(at, chosenHost, chosenHostHint)
		return
	case err != nil || u.Host == "" || u.User != nil:
		// The text is not repeated: it may hold a password.
		k.Add(at, "is no address of an API", "write it like https://api.example.com/contacts/{id}, or /contacts/{id} behind api_url")
		return
	case templated && u.Path == "" && u.RawQuery == "":
		k.Add(at, chosenHost, chosenHostHint)
		return
	case strings.Contains(text, "#"):
		k.Add(at, "has a # in it, behind which nothing is sent", "leave it out")
		return
	}
	k.scheme(at, u)
	out.made.Host = u.Host
	named := k.own.APIURL != "" && strings.HasPrefix(rule.Get, "/")
	if len(rule.AllowHosts) > 0 && !named && !slices.ContainsFunc(rule.AllowHosts, func(h string) bool {
		return strings.EqualFold(h, u.Host) || strings.EqualFold(h, u.Hostname())
	}) {
		k.Add(at, fmt.Sprintf("asks %s, which allow_hosts does not name", u.Host), "add it to allow_hosts if it is the sender's")
	}
	pieces, err := (&mapping.ExprParser{Text: rule.Get}).Joined(true)
	if err != nil {
		k.Syntax(at, err)
		return
	}
	pieces[0].Literal = strings.TrimSuffix(text, rule.Get) + pieces[0].Literal
	out.url, out.query = pieces, len(pieces)
	for i, one := range pieces {
		switch {
		case one.Expr == nil && out.query == len(pieces) && strings.Contains(one.Literal, "?"):
			out.query = i + 1
		case one.Expr != nil && !k.kept(at, one.Expr):
			return
		case one.Expr != nil:
			one.Expr.Link(program, program)
		}
	}
}

func (k *compiler) lookupAuth(at string, rule *EnrichAuth, out *lookupRule) {
	if rule == nil {
		return
	}
	auth := Auth{Kind: rule.Kind, Header: http.CanonicalHeaderKey(rule.Header), Prefix: rule.Prefix}
	token := rule.Token
	if token.IsZero() {
		token = k.config.Token
	}
	if auth.Header == "" {
		auth.Header = "Authorization"
	}
	k.oneLine(at+".prefix", rule.Prefix)
	switch rule.Kind {
	case AuthBearer:
		auth.Token, auth.Prefix, auth.Header = token, "Bearer ", "Authorization"
	case AuthHeader:
		if auth.Token = token; rule.UserHeader != "" && !token.IsZero() {
			user, key, both := strings.Cut(token.Reveal(), ":")
			if !both {
				k.Add("token", "names no user", "write both with a colon between them: user:token")
				return
			}
			k.oneLine("token", user)
			out.made.Header.Set(rule.UserHeader, strings.TrimSpace(user))
			auth.Token = secret.New(key)
		}
		if rule.Header == "" && rule.Prefix == "" {
			k.Add(at+".header", "is missing: which header holds the token?", "write header: X-Auth-Token")
		}
	case AuthBasic:
		auth.User, auth.Token = rule.User, rule.Password
		if auth.Token.IsZero() {
			auth.Token = k.config.Token
		}
		if user, password, both := strings.Cut(auth.Token.Reveal(), ":"); auth.User == "" && both {
			auth.User, auth.Token = user, secret.New(password)
			if password == "" { // the user is the key
				out.made.Auth = auth
				return
			}
		}
	case AuthOAuth2:
		if auth.Prefix == "" {
			auth.Prefix = "Bearer "
		}
		auth.OAuth = rule.OAuth
		lay(&auth.OAuth, k.config.OAuth)
		out.missing = appendNew(out.missing, k.oauth(at, &auth.OAuth))
		out.made.Auth = auth
		return
	default:
		k.Unknown(at+".kind", rule.Kind, "way for a look-up to authenticate", []string{AuthBearer, AuthBasic, AuthHeader, AuthOAuth2})
		return
	}
	k.oneLine("token", auth.Token.Reveal())
	if auth.Token.IsZero() {
		out.missing = append(out.missing, "token")
	}
	out.made.Auth = auth
}

// oneLine complains about what would end a header early. It does not repeat the text.
func (k *compiler) oneLine(at, text string) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		k.Add(at, "has a line end or another control character in it", "copy it again, in one line")
	}
}

// The ways to get an access token, by their names in RFC 6749.
const (
	GrantRefresh = "refresh_token"
	GrantClient  = "client_credentials"
)

// oauth returns the setting that is missing; "" for none.
func (k *compiler) oauth(at string, o *OAuth) string {
	if o.TokenURL == "" && k.own.OAuth == nil && len(k.own.Enrich) == 0 {
		return "oauth.token_url" // a preset's look-up at each shop's own address
	}
	if o.TokenURL == "" {
		k.Add(at+".token_url", "is missing: who gives the access tokens?", "write token_url: https://accounts.example.com/oauth/token")
		return ""
	}
	u, err := url.Parse(o.TokenURL)
	if err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(o.TokenURL, "{}#") {
		k.Add(at+".token_url", "is no address", "write it like https://accounts.example.com/oauth/token")
		return ""
	}
	k.scheme(at+".token_url", u)
	switch {
	case o.Grant == "" && o.RefreshToken.IsZero():
		o.Grant = GrantClient
	case o.Grant == "":
		o.Grant = GrantRefresh
	}
	switch {
	case o.ClientID == "":
		return "oauth.client_id"
	case o.ClientSecret.IsZero():
		return "oauth.client_secret"
	case o.Grant == GrantRefresh && o.RefreshToken.IsZero():
		return "oauth.refresh_token"
	}
	return ""
}

func settingExample(name string) string {
	if rest, ok := strings.CutPrefix(name, "oauth."); ok {
		return "oauth: {" + rest + ": ${NAME}}"
	}
	return name + ": ${NAME}"
}
