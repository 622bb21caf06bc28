package console

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/nudgewire/nudgewire/internal/listeners"
)

// Assets are what pages load: all styles in one, each script by itself, and the icon. The names of style and scripts have a hash in
// them, so that a browser may keep them for as long as it likes. A file that is put into static, or into static/vendor, is there.
type Assets struct {
	Style   string   // path
	Scripts []string // paths in the order that they run in: those of others first, then ours by name
	byName  map[string]asset
}

type asset struct {
	kind, keep string
	content    []byte
}

const (
	forGood = "public, max-age=31536000, immutable"
	forADay = "public, max-age=86400"
)

func newAssets() *Assets {
	a := &Assets{byName: map[string]asset{"icon.svg": {"image/svg+xml", forADay, contentOf("static/icon.svg")}}}
	var style bytes.Buffer
	for _, name := range names("css") {
		style.Write(contentOf(name))
		style.WriteByte('\n')
	}
	a.Style = a.add("console", "css", "text/css; charset=utf-8", style.Bytes())
	for _, name := range names("js") {
		a.Scripts = append(a.Scripts, a.add(strings.TrimSuffix(path.Base(name), ".js"), "js", "text/javascript; charset=utf-8", contentOf(name)))
	}
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
	return path, func(w http.ResponseWriter, _ *http.Request) {
		one.byName[strings.TrimPrefix(path, "/static/")].serve(w)
	}
}

func (a *Assets) add(name, ext, kind string, content []byte) (path string) {
	sum := sha256.Sum256(content)
	name += "-" + hex.EncodeToString(sum[:6]) + "." + ext
	a.byName[name] = asset{kind, forGood, content}
	return "/static/" + name
}

func (a *Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, ok := a.byName[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	one.serve(w)
}

func (one asset) serve(w http.ResponseWriter) {
	listeners.Answering(w)
	w.Header().Set("Content-Type", one.kind)
	w.Header().Set("Cache-Control", one.keep)
	_, _ = w.Write(one.content) // whoever asked is gone
}

// static is made once, of what is embedded.
var static = newAssets()

// Static is what pages load, for pages of this program that are none of the console's. It answers what has the path /static/{file}.
func Static() *Assets { return static }
