package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// held is the part of the offered rate from which on a machine holds it. The rest is the time of
// the last answers.
const held = 0.95

// A row is one figure over all rounds.
type row struct {
	figure
	reading               // medians
	least, most float64   // of the value
	ratios      []float64 // to the bases: medians of the ratios within each round
}

// judge puts each figure in ratio to its base.
func judge(chosen []*contest, readings map[string][]reading) []row {
	var rows []row
	for _, c := range chosen {
		for _, f := range c.figures {
			r := row{figure: f}
			var values, good []float64
			ratios := make([][]float64, len(f.bases))
			waits := make([][]float64, 3)
			for i, got := range readings[f.name] {
				values, good = append(values, got.value), append(good, got.good)
				for p, ms := range got.waits {
					waits[p] = append(waits[p], ms)
				}
				for b, to := range f.bases {
					ratios[b] = append(ratios[b], got.value/readings[to.name][i].value)
				}
			}
			r.value, r.least, r.most = median(values), slices.Min(values), slices.Max(values)
			r.good = median(good)
			for _, all := range ratios {
				r.ratios = append(r.ratios, median(all))
			}
			for _, times := range waits {
				if len(times) > 0 {
					r.waits = append(r.waits, median(times))
				}
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// median of values, which it sorts; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	mid := len(values) / 2
	if len(values)%2 == 1 {
		return values[mid]
	}
	return (values[mid-1] + values[mid]) / 2
}

func writeTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "figure\tmedian\tunit\trange\tratio\trequired\tp50 ms\tp99 ms\tp99.9 ms\tanswered 2xx")
	for _, r := range rows {
		var spread, good string
		var ratios []string
		if r.least != r.most {
			spread = number(r.least) + " to " + number(r.most)
		}
		for i, b := range r.bases {
			short, _, _ := strings.Cut(cmp.Or(b.short, b.name), "  ")
			ratios = append(ratios, fmt.Sprintf("%.2f %s", r.ratios[i], short))
		}
		times := ""
		if len(r.waits) == 3 {
			times = fmt.Sprintf("\t%s\t%s\t%s", number(r.waits[0]), number(r.waits[1]), number(r.waits[2]))
		}
		if r.good > 0 {
			good = fmt.Sprintf("\t%.1f %%", 100*r.good)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s%s%s\n", r.name, number(r.value), r.unit, spread, strings.Join(ratios, ", "), r.verdict(), times, good)
	}
	return t.Flush()
}

// verdict holds a row against what it must reach, or against the rate that was offered.
func (r row) verdict() string {
	if r.offered > 0 {
		if r.value < held*float64(r.offered) {
			return "rate NOT HELD"
		}
		return "rate held"
	}
	var all []string
	hold := func(judged, bound float64) {
		if bound == 0 {
			return
		}
		sign, word := "≥ ", "reached"
		if r.atMost {
			sign = "≤ "
		}
		if judged != bound && (judged < bound) != r.atMost {
			word = "MISSED"
		}
		all = append(all, sign+strconv.FormatFloat(bound, 'f', -1, 64)+" "+word)
	}
	hold(r.value, r.bound)
	for i, b := range r.bases {
		hold(r.ratios[i], b.bound)
	}
	return strings.Join(all, ", ")
}

// number writes v, below a billion, with three digits that matter and thousands apart.
func number(v float64) string {
	switch {
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	text := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// describeMachine says what the figures are measured on, and how fast the disk of dir is.
func describeMachine(dir string) (string, error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return "", fmt.Errorf("measure the disk: %w", err)
	}
	defer f.Close()
	var times []time.Duration
	for range 200 {
		began := time.Now()
		if _, err := f.Write(make([]byte, 8<<10)); err != nil {
			return "", fmt.Errorf("measure the disk: %w", err)
		}
		if err := f.Sync(); err != nil {
			return "", fmt.Errorf("measure the disk: %w", err)
		}
		times = append(times, time.Since(began))
	}
	ms := percentiles(times)[0]
	text := fmt.Sprintf("%s/%s, %d cores, %s, sync of 8 KB takes %.2f ms", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), runtime.Version(), ms)
	if ms < 0.02 { // no disk is so fast
		text += "\nThe folder is in memory: name one on a disk with -dir, or no figure shows what durability costs."
	}
	return text, nil
}
