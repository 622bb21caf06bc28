package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
)

// A sample is what one round of a contest brought, by the names of its figures.
type sample map[string]reading

// A reading is a figure in one round.
type reading struct {
	value float64
	cpu   float64 // processor time for each thing counted, in microseconds; 0 where none are
}

// plain is a reading of something that is not a rate.
func plain(value float64) reading { return reading{value: value} }

// A figure is one row to be: what is measured, against what, and what it must reach.
type figure struct {
	name, unit string
	base       string  // name of the figure it is put in ratio to; "" when it stands alone
	need, aim  float64 // of the ratio, or of the value where there is no base; 0 asks for nothing
	atMost     bool    // need and aim are upper bounds
}

// A contest measures some figures together.
type contest struct {
	name    string
	figures []figure
	once    bool // measured in the first round alone: it takes long and holds its own repetitions
	round   func(context.Context, *lab) (sample, error)
}

func (c *contest) has(figureName string) bool {
	return slices.ContainsFunc(c.figures, func(f figure) bool { return f.name == figureName })
}

// choose keeps the contests that match the pattern by one of their names, and those that
// hold their bases.
func choose(all []*contest, pattern *regexp.Regexp) []*contest {
	wanted := map[*contest]bool{}
	var want func(c *contest)
	want = func(c *contest) {
		if wanted[c] {
			return
		}
		wanted[c] = true
		for _, f := range c.figures {
			for _, other := range all {
				if f.base != "" && other.has(f.base) {
					want(other)
				}
			}
		}
	}
	for _, c := range all {
		if pattern.MatchString(c.name) || slices.ContainsFunc(c.figures, func(f figure) bool { return pattern.MatchString(f.name) }) {
			want(c)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(c *contest) bool { return !wanted[c] })
}

// measure runs the rounds. The result holds for each figure one value a round.
func measure(ctx context.Context, l *lab, chosen []*contest, rounds int) (map[string][]reading, error) {
	values := map[string][]reading{}
	defer l.tell("")
	for round := range rounds {
		l.last = round == rounds-1
		for _, c := range chosen {
			if c.once && round > 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			l.tell(fmt.Sprintf("round %d of %d: %s", round+1, rounds, c.name))
			got, err := c.round(ctx, l)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			for name, v := range got {
				values[name] = append(values[name], v)
			}
		}
	}
	return values, nil
}
