package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/nudgewire/nudgewire/internal/listeners"
)

// Assets are what pages load: all styles in one, each script by itself, and the icon. The names of style and scripts have a hash in
// them, so that a browser may keep them for as long as it likes. A file that is put into static, or into static/vendor, is there.
type Assets struct {
	Style   string        // path
	Scripts []string      // paths in the order that they run in: those of others first, then ours by name
	Head    template.HTML // what the head of each page has of them
	byName  map[string]asset
}

type asset struct {
	kind, keep string
	content    []byte
	packed     func() []byte // by gzip, once somebody asks: most commands of the program serve nobody
}

func newAsset(kind, keep string, content []byte) asset {
	return asset{kind, keep, content, sync.OnceValue(func() []byte {
		var out bytes.Buffer
		w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // there is such a level
		_, _ = w.Write(content)                                 // a buffer takes everything
		_ = w.Close()
		return out.Bytes()
	})}
}

const (
	forGood = "public, max-age=31536000, immutable"
	forADay = "public, max-age=86400"
)

func newAssets() *Assets {
	a := &Assets{byName: map[string]asset{"icon.svg": newAsset("image/svg+xml", forADay, contentOf("static/icon.svg"))}}
	var style bytes.Buffer
	for _, name := range names("css") {
		style.Write(contentOf(name))
		style.WriteByte('\n')
	}
	a.Style = a.add("console", "css", "text/css; charset=utf-8", style.Bytes())
	for _, name := range names("js") {
		a.Scripts = append(a.Scripts, a.add(strings.TrimSuffix(path.Base(name), ".js"), "js", "text/javascript; charset=utf-8", contentOf(name)))
	}
	var head strings.Builder
	if err := template.Must(template.ParseFS(files, "templates/head.html")).Execute(&head, a); err != nil {
		panic(err) // the template is ours
	}
	a.Head = template.HTML(head.String()) //nolint:gosec // a template of ours made it
	return a
}

// names are the files of a kind: those of others first.
func names(ext string) []string {
	var out []string
	for _, pattern := range []string{"static/vendor/*.", "static/*."} {
		some, err := fs.Glob(files, pattern+ext)
		if err != nil {
			panic(err) // the pattern is ours
		}
		out = append(out, some...)
	}
	return out
}

func contentOf(name string) []byte {
	content, err := files.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return content
}

// fileOf is a file that is made when the program starts: a path with a hash in it, and what answers there.
func fileOf(name, ext, kind string, content []byte) (path string, answer http.HandlerFunc) {
	one := &Assets{byName: map[string]asset{}}
	path = one.add(name, ext, kind, content)
	return path, func(w http.ResponseWriter, r *http.Request) {
		one.byName[strings.TrimPrefix(path, "/static/")].serve(w, r)
	}
}

func (a *Assets) add(name, ext, kind string, content []byte) (path string) {
	sum := sha256.Sum256(content)
	name += "-" + hex.EncodeToString(sum[:6]) + "." + ext
	a.byName[name] = newAsset(kind, forGood, content)
	return "/static/" + name
}

func (a *Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, ok := a.byName[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	one.serve(w, r)
}

func (one asset) serve(w http.ResponseWriter, r *http.Request) {
	listeners.Answering(w)
	w.Header().Set("Content-Type", one.kind)
	w.Header().Set("Cache-Control", one.keep)
	w.Header().Set("Vary", "Accept-Encoding")
	content := one.content
	if takesGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		content = one.packed()
	}
	_, _ = w.Write(content) // whoever asked is gone
}

// takesGzip reports whether a browser reads what is packed. Pages themselves are never packed: they hold what strangers wrote beside what nobody may
// guess, and the length of both together would tell.
func takesGzip(r *http.Request) bool {
	for one := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(one, ";")
		if strings.TrimSpace(name) == "gzip" && strings.TrimSpace(weight) != "q=0" {
			return true
		}
	}
	return false
}

// static is made once, of what is embedded.
var static = newAssets()

// Static is what pages load, for pages of this program that are none of the console's. It answers what has the path /static/{file}.
func Static() *Assets { return static }
