package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A Report is what a run prints.
type Report struct {
	Machine Machine `json:"machine"`
	Rounds  int     `json:"rounds"`
	For     string  `json:"for"`
	Rows    []Row   `json:"rows"`
}

// A Row is one figure as measured and judged.
type Row struct {
	Figure string  `json:"figure"`
	Value  float64 `json:"value"` // median over the rounds
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
	Unit   string  `json:"unit"`
	CPU    float64 `json:"cpu_us,omitempty"` // processor time for each, client and service included

	Base  string  `json:"base,omitempty"`
	Ratio float64 `json:"ratio,omitempty"` // median of the ratios within each round

	Required float64 `json:"required,omitempty"`
	Aim      float64 `json:"aim,omitempty"`
	AtMost   bool    `json:"at_most,omitempty"` // required and aim are upper bounds
	Reached  *bool   `json:"reached,omitempty"`
	AimMet   *bool   `json:"aim_reached,omitempty"`
}

// judge puts each figure in ratio to its base and holds it against what it must reach. A
// figure without a value has no row.
func judge(chosen []*contest, readings map[string][]reading) []Row {
	var rows []Row
	for _, c := range chosen {
		for _, f := range c.figures {
			got := readings[f.name]
			if len(got) == 0 {
				continue
			}
			values := each(got, func(r reading) float64 { return r.value })
			r := Row{
				Figure: f.name, Value: median(values), Least: slices.Min(values), Most: slices.Max(values), Unit: f.unit,
				CPU: median(each(got, func(r reading) float64 { return r.cpu })), Base: f.base, AtMost: f.atMost,
			}
			judged := r.Value
			if f.base != "" {
				r.Ratio = median(ratios(got, readings[f.base]))
				judged = r.Ratio
			}
			r.Required, r.Reached = verdict(f.need, judged, f.atMost)
			r.Aim, r.AimMet = verdict(f.aim, judged, f.atMost)
			rows = append(rows, r)
		}
	}
	return rows
}

func verdict(bound, judged float64, atMost bool) (float64, *bool) {
	if bound == 0 {
		return 0, nil
	}
	ok := judged >= bound
	if atMost {
		ok = judged <= bound
	}
	return bound, &ok
}

func (r Report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func (r Report) writeTable(w io.Writer) error {
	fmt.Fprintln(w, r.Machine)
	fmt.Fprintf(w, "%d rounds of %s each, medians; the range is that of the rounds\n\n", r.Rounds, r.For)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "figure\tmedian\tunit\trange\tCPU each\tratio\trequired\taim")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Figure, number(row.Value), row.Unit, row.spread(), row.cpu(), row.ratio(),
			row.bound(row.Required, row.Reached), row.bound(row.Aim, row.AimMet))
	}
	return t.Flush()
}

func (r Row) spread() string {
	if r.Least == r.Most {
		return ""
	}
	return number(r.Least) + " to " + number(r.Most)
}

func (r Row) cpu() string {
	if r.CPU == 0 {
		return ""
	}
	return number(r.CPU) + " µs"
}

func (r Row) ratio() string {
	if r.Base == "" {
		return ""
	}
	short, _, _ := strings.Cut(r.Base, "  ")
	return strconv.FormatFloat(r.Ratio, 'f', 2, 64) + " of " + short
}

func (r Row) bound(bound float64, ok *bool) string {
	if ok == nil {
		return ""
	}
	sign, word := "≥ ", "reached"
	if r.AtMost {
		sign = "≤ "
	}
	if !*ok {
		word = "MISSED"
	}
	text := strconv.FormatFloat(bound, 'f', -1, 64)
	if r.Base != "" {
		text = strconv.FormatFloat(bound, 'f', 2, 64)
	}
	return sign + text + " " + word
}

// number writes v with three digits that matter, and thousands apart.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "none"
	case v >= 1000:
		text := strconv.FormatFloat(v, 'f', 0, 64)
		for i := len(text) - 3; i > 0; i -= 3 {
			text = text[:i] + "," + text[i:]
		}
		return text
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}
