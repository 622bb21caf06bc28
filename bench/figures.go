package main

import (
	"net/http"
	"regexp"
	"slices"
)

// A figure is one row of the table: what is measured, against what, and what it must reach.
type figure struct {
	name, unit string
	base       string  // name of the figure it is put in ratio to; "" for none
	bound      float64 // of the ratio, or of the value where there is no base; 0 asks for nothing
	atMost     bool    // bound is an upper one
	offered    int     // webhooks that arrive each second, in an open loop
}

// contests lists everything that can be measured, in the order of the table.
func contests(big bool) []*contest {
	all := []*contest{
		handlerContest(),
		clientContest(figO, http.MethodPost, "/send-template", sendBody),
		clientContest(figP, http.MethodGet, "/message-status/1000000001", ""),
		closedContest(64, 0.50),
		closedContest(256, 0),
		openContest(1_000),
		openContest(5_000),
		openContest(10_000),
		callContest(1, 2),
		sendsContest(0.40),
		ruledContest(0.40),
		pollsContest(0.45),
		wholeContest(0.12),
		ruledWholeContest(0.12),
	}
	if big {
		all = append(all, claimContest(1.5), processContest(1_000_000, 300, 150))
	}
	return all
}

// choose keeps the contests with a figure that matches the pattern, and those of their bases.
func choose(all []*contest, pattern *regexp.Regexp) []*contest {
	bases := map[string]bool{}
	wanted := func(f figure) bool { return bases[f.name] || pattern.MatchString(f.name) }
	for _, c := range all {
		if slices.ContainsFunc(c.figures, wanted) {
			for _, f := range c.figures {
				bases[f.base] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c *contest) bool { return !slices.ContainsFunc(c.figures, wanted) })
}
