package lists

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/nudgewire/nudgewire/internal/backoff"
)

var sheetPath = regexp.MustCompile(`^/spreadsheets/d/(?:e/)?([A-Za-z0-9_-]{20,})(/.*)?$`)

// exportURL makes the address of a Google sheet's CSV of the link that people copy: the tab
// that the link points to is the one that is read.
func exportURL(link string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(link))
	hint := "copy the link of the sheet: https://docs.google.com/spreadsheets/d/…/edit#gid=0"
	if err != nil || u.Scheme != "https" || u.Host != "docs.google.com" {
		return "", &wordError{"is not a link to a Google sheet", hint}
	}
	m := sheetPath.FindStringSubmatch(u.Path)
	if m == nil {
		return "", &wordError{"is not a link to a Google sheet", hint}
	}
	if strings.HasPrefix(u.Path, "/spreadsheets/d/e/") { // published to the web
		q := u.Query()
		q.Set("output", "csv")
		return "https://docs.google.com/spreadsheets/d/e/" + m[1] + "/pub?" + q.Encode(), nil
	}
	gid := u.Query().Get("gid")
	if at, err := url.ParseQuery(u.Fragment); err == nil && at.Get("gid") != "" {
		gid = at.Get("gid")
	}
	q := url.Values{"format": {"csv"}}
	if gid != "" {
		q.Set("gid", gid)
	}
	return "https://docs.google.com/spreadsheets/d/" + m[1] + "/export?" + q.Encode(), nil
}

func openSheet(o Origin, _ string) (Source, error) {
	address, err := exportURL(o.Sheet)
	if err != nil {
		return nil, err
	}
	return &webSource{
		name: "sheet docs.google.com", http: HTTP{URL: address, Format: "csv"}, origin: o, pause: backoff.Sleep,
		publish: `the sheet is not open to everybody with the link: in its sharing settings, choose "Anyone with the link"`,
	}, nil
}
