// Package app builds every room from a config, starts them, and stops them in reverse.
//
// The order is the road of a webhook backwards: what sends starts before what receives, so
// nothing arrives that cannot leave; and the hooks close first at the end, so nothing is
// taken that will not be looked after. It holds the one place where a config is replaced
// while running.
package app
