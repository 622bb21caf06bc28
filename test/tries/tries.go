// Package tries says how often a property is tried.
package tries

import (
	"flag"
	"os"
	"strconv"
)

// OfStores is how often a property is tried that opens a store for each try. "make fuzz" tries more.
const OfStores = 30

// Set has each property that is checked from now on tried so often, unless RAPID_CHECKS says how often. back undoes it.
func Set(often int) (back func()) {
	if os.Getenv("RAPID_CHECKS") != "" {
		return func() {}
	}
	known := flag.Lookup("rapid.checks").Value
	before := known.String()
	set := func(text string) {
		if err := known.Set(text); err != nil {
			panic(err) // it takes any number
		}
	}
	set(strconv.Itoa(often))
	return func() { set(before) }
}
