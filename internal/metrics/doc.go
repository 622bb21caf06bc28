// Package metrics shows the daemon in figures, for Prometheus.
//
// What happens is counted where it is seen: Metrics has a method for each of the few things of which a time or a
// label matters, and package app calls them. All else is read when a scrape asks, out of what status shows, so that
// nothing is counted twice. Labels are bounded by the config and by lists of this program: no label ever holds what a
// stranger wrote, a phone, or a number of a row. docs/metrics.md lists each figure, and a test holds that page to
// this package.
package metrics
