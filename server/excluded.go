package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/nudgewire/nudgewire"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/scheduler"
	"github.com/nudgewire/nudgewire/store"
)

// Rows that runs excluded are in no table: of a list of a million rows most may be.
// They stand in a file of each run, beside its parts and as long as these. One question searches
// so many of the newest runs and so many bytes at the most, and says what it did not search.
const (
	maxRunsSearched  = 2000
	maxBytesSearched = 512 << 20
	maxExcluded      = 50 // rows of one phone that are reported
)

// whyNoPhone answers for a text that is no phone: a run may have excluded it for that.
func (a admin) whyNoPhone(r *http.Request, no *Error) (any, error) {
	q := r.URL.Query()
	text := strings.TrimSpace(q.Get("phone"))
	q.Del("phone")
	plain := r.Clone(r.Context())
	plain.URL.RawQuery = q.Encode()
	list, _, err := a.parseList(plain)
	if err != nil {
		return nil, err
	}
	left, note, err := a.excluded(r.Context(), "", text)
	if err != nil {
		return nil, err
	}
	if len(left) == 0 {
		return nil, rejectf(no.Status, joined(no.Hint, note), "%s; no run whose files are kept excluded it", no.Words)
	}
	return noted(told(left, list.Limit), note), nil
}

// excluded are the rows with a phone that runs excluded: by its digits, or by how it stands in the
// source. note says what could not be searched.
func (a admin) excluded(ctx context.Context, digits, text string) (out []StoryView, note string, err error) {
	runs, err := a.Store.Runs(ctx, store.RunFilter{Limit: maxRunsSearched})
	if err != nil {
		return nil, "", err
	}
	var removed, unread, unsearched []*nudgewire.Run
	left := int64(maxBytesSearched)
	for i := range runs {
		r := &runs[i]
		var parts []nudgewire.Part
		if slices.ContainsFunc(r.Tally.Excluded, func(x nudgewire.Excluded) bool { return x.Late }) {
			if parts, err = a.Store.Parts(ctx, r.ID); err != nil {
				return nil, "", err
			}
		}
		paths := scheduler.ExcludedFiles(r, parts)
		switch {
		case len(paths) == 0:
			continue
		case !r.FilesRemovedAt.IsZero():
			removed = append(removed, r)
			continue
		case left <= 0 || len(out) >= maxExcluded:
			unsearched = append(unsearched, r)
			continue
		case ctx.Err() != nil:
			return nil, "", ctx.Err()
		}
		all := true
		for _, path := range paths {
			var read int64
			var whole bool
			read, whole, err = scheduler.SearchExcluded(ctx, a.Files, path, digits, text, left, func(x scheduler.ExcludedRow) error {
				if len(out) < maxExcluded {
					out = append(out, excludedView(r, x))
				}
				return nil
			})
			if left, all = left-read, all && whole; err != nil {
				break
			}
		}
		switch {
		case err != nil:
			unread = append(unread, r)
		case !all:
			unsearched = append(unsearched, r)
		}
	}
	return out, strings.Join(notSearched(removed, unread, unsearched, len(runs) == maxRunsSearched), "; "), nil
}

func excludedView(r *nudgewire.Run, x scheduler.ExcludedRow) StoryView {
	return StoryView{
		Row: &RunRowView{
			Job: r.Job, Run: r.ID, Slot: r.Slot, Row: x.Row, File: x.File, Source: r.Source, Excluded: x.Reason, At: r.StartedAt.UTC(),
		},
		Messages: []MessageView{},
	}
}

// notSearched says which runs may have excluded the phone without anybody knowing by now. The runs
// of each list are the newest first.
func notSearched(removed, unread, unsearched []*nudgewire.Run, more bool) (notes []string) {
	if len(unsearched) > 0 {
		notes = append(notes, fmt.Sprintf("not all rows that %s excluded were searched: nudgewire jobs export %s lists them", runsOf(unsearched), anyOf(unsearched)))
	}
	if len(unread) > 0 {
		notes = append(notes, fmt.Sprintf("the rows that %s excluded cannot be read: nudgewire jobs export %s says why", runsOf(unread), anyOf(unread)))
	}
	if len(removed) > 0 {
		notes = append(notes, fmt.Sprintf("which rows %s excluded is not known any more: the files were removed (retention.lists)", runsOf(removed)))
	}
	if more {
		notes = append(notes, fmt.Sprintf("runs before the newest %s were not searched", units.Number(maxRunsSearched)))
	}
	return notes
}

// runsOf names a run, or says how many from which to which.
func runsOf(runs []*nudgewire.Run) string {
	newest, oldest := runs[0].ID, runs[len(runs)-1].ID
	if newest == oldest {
		return fmt.Sprintf("run %d of %s", newest, runs[0].Job)
	}
	return fmt.Sprintf("%s (%d to %d)", units.Count(len(runs), "run"), oldest, newest)
}

// anyOf is the number of the one run, or the word that stands for one.
func anyOf(runs []*nudgewire.Run) string {
	if len(runs) == 1 {
		return strconv.FormatInt(int64(runs[0].ID), 10)
	}
	return "RUN"
}
