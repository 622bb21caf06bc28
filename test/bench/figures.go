package main

import (
	"net/http"
	"regexp"
	"slices"
)

// A figure is one row of the table: what is measured, against what, and what it must reach.
type figure struct {
	name, unit string
	bases      []base  // what it is put in ratio to
	bound      float64 // of the value; 0 asks for nothing
	atMost     bool    // bounds are upper ones
	offered    int     // webhooks that arrive each second, in an open loop
}

// A base is another figure, and what the ratio to it must reach; 0 asks for nothing.
type base struct {
	name  string
	short string // in the table; "" is what the name begins with
	bound float64
}

// contests lists everything that can be measured, in the order of the table.
func contests(big bool) []*contest {
	all := []*contest{
		handlerContest(),
		clientContest(figO, http.MethodPost, "/send-template", sendBody),
		clientContest(figP, http.MethodGet, "/message-status/1000000001", ""),
		closedContest(64, 0.45),
		answerContest(1_000, 3),
		callContest(1, 2),
		sendsContest(0.33),
		ruledContest(0.33),
		pollsContest(0.50),
		wholeContest(0.12),
		rawContest(figR),
	}
	all = append(all, postgresContests(1)...)
	if big {
		all = append(all, closedContest(256, 0), openContest(5_000), openContest(10_000), ruledWholeContest(0.12))
		for nodes := 2; nodes <= mostNodes; nodes++ {
			all = append(all, postgresContests(nodes)...)
		}
		all = append(all, besideContest(64, storedEvents), claimContest(onSQLite, 1.5), claimContest(1, 1.5), processContest(1_000_000, 300, 150))
	}
	return all
}

// choose keeps the contests with a figure that matches the pattern, and those of their bases.
func choose(all []*contest, pattern *regexp.Regexp) []*contest {
	bases := map[string]bool{}
	wanted := func(f figure) bool { return bases[f.name] || pattern.MatchString(f.name) }
	for _, c := range slices.Backward(all) { // bases come first, and may have bases
		if slices.ContainsFunc(c.figures, wanted) {
			for _, f := range c.figures {
				for _, b := range f.bases {
					bases[b.name] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c *contest) bool { return !slices.ContainsFunc(c.figures, wanted) })
}
