package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

type configPage struct {
	server.ConfigView
	Files     []fileShown // that were read
	Disk      []fileShown // where the config was changed: what differs, by file
	Problems  []fileShown // lines of the files that the check says something about
	Elsewhere []string    // problems that stand at no line
	Faults    int64
	Starred   bool // only what is starred out differs
	Taken     []server.ConfigTakenView
	Version   string      // that is shown beside the one in use; "" for none
	Against   []fileShown // what it has otherwise
}

// A fileShown is a file, or lines of it.
type fileShown struct {
	Name  string
	Lines []fileLine
}

// A fileLine is a line of a file.
type fileLine struct {
	codeLine
	Sign string // of a difference: "+", "-" or ""; "…" where lines are left out
}

func (c *Console) config(r *http.Request) (page, error) {
	view, err := server.ShowConfig.Call(r.Context(), c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	v := configPage{ConfigView: view}
	for _, f := range view.Files {
		one := fileShown{Name: f.Name}
		for i, line := range f.Lines {
			one.Lines = append(one.Lines, fileLine{codeLine: codeLine{N: i + 1, Text: line}})
		}
		v.Files = append(v.Files, one)
	}
	if disk := view.Disk; disk != nil {
		v.Disk = differences(view.Files, disk.Files)
		v.Starred = len(v.Disk) == 0 && disk.Version != ""
		v.Faults = int64(disk.Problems.Errors())
		v.problems(disk)
	}
	who, _ := access.WhoOf(r.Context())
	if who.May(access.Manage) {
		if v.Taken, err = server.ListVersions.Call(r.Context(), c.Ask, server.AuditQuery{Limit: perPage}); err != nil {
			return page{}, err
		}
	}
	if v.Version = r.URL.Query().Get("version"); v.Version != "" {
		if v.Against, err = c.against(r.Context(), v.Version, view.Version); err != nil {
			return page{}, err
		}
	}
	return page{Name: "config", Title: "Config", Here: "/config", Data: v}, nil
}

// against are the lines that are not the same in two configs that were used.
func (c *Console) against(ctx context.Context, was, now string) ([]fileShown, error) {
	older, err := server.ShowVersion.Call(ctx, c.Ask, was)
	if err != nil {
		return nil, err
	}
	newer, err := server.ShowVersion.Call(ctx, c.Ask, now)
	return differences(older.Files, newer.Files), err
}

// problems puts what the check says at its line, with two lines on each side.
func (v *configPage) problems(disk *server.DiskConfigView) {
	for _, p := range disk.Problems {
		if p.Line == 0 || !slices.ContainsFunc(disk.Files, func(f server.ConfigFileView) bool { return f.Name == p.File }) {
			v.Elsewhere = append(v.Elsewhere, p.Error())
		}
	}
	for _, f := range disk.Files {
		said := map[int]bool{}
		own := slices.DeleteFunc(slices.Clone(disk.Problems), func(p yamlpos.Problem) bool { return p.File != f.Name || p.Line == 0 })
		for _, p := range own {
			for n := p.Line - 2; n <= p.Line+2; n++ {
				said[n] = true
			}
		}
		one := fileShown{Name: f.Name}
		for _, line := range linesOf(strings.Join(f.Lines, "\n"), own) {
			if !said[line.N] {
				continue
			}
			if n := len(one.Lines); n > 0 && one.Lines[n-1].N != line.N-1 {
				one.Lines = append(one.Lines, fileLine{Sign: "…"})
			}
			one.Lines = append(one.Lines, fileLine{codeLine: line})
		}
		if len(one.Lines) > 0 {
			v.Problems = append(v.Problems, one)
		}
	}
}

// differences are the lines that are not the same in two configs, by file, with three lines around them. Numbers are those of the new file,
// and of the old one for what is gone.
func differences(was, now []server.ConfigFileView) (out []fileShown) {
	text := func(all []server.ConfigFileView, name string) []byte {
		for _, f := range all {
			if f.Name == name {
				return []byte(strings.Join(f.Lines, "\n") + "\n")
			}
		}
		return nil
	}
	var names []string
	for _, f := range append(slices.Clone(was), now...) {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	for _, name := range names {
		if lines := changedLines(text(was, name), text(now, name)); len(lines) > 0 {
			out = append(out, fileShown{name, lines})
		}
	}
	return out
}

// changedLines are the lines of a difference.
func changedLines(was, now []byte) (out []fileLine) {
	lines := strings.Split(strings.TrimSuffix(string(diff.Diff("was", was, "now", now)), "\n"), "\n")
	old, n := 0, 0
	for _, line := range lines[min(3, len(lines)):] { // behind the names
		switch line[0] {
		case '@':
			var a, b int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &old, &a, &n, &b); err != nil {
				return out // it is always written so
			}
			if len(out) > 0 {
				out = append(out, fileLine{Sign: "…"})
			}
		case '-':
			out = append(out, fileLine{codeLine{N: old, Text: line[1:]}, "-"})
			old++
		case '+':
			out = append(out, fileLine{codeLine{N: n, Text: line[1:]}, "+"})
			n++
		default:
			out = append(out, fileLine{codeLine{N: n, Text: line[1:]}, ""})
			old, n = old+1, n+1
		}
	}
	return out
}
