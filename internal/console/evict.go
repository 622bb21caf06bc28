package console

import (
	"slices"
	"time"
)

// evict takes out what is over, and then the first by at until there are at most most.
func evict[K comparable, V any](all map[K]V, most int, over func(V) bool, at func(V) time.Time) {
	for key, one := range all {
		if over(one) {
			delete(all, key)
		}
	}
	if len(all) <= most {
		return
	}
	keys := make([]K, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b K) int { return at(all[a]).Compare(at(all[b])) })
	for _, key := range keys[:len(keys)-most] {
		delete(all, key)
	}
}
