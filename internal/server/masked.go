package server

import (
	"context"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/mask"
)

// Seen is v as who asks may see it: as it is for those with the scope phones. For everybody else this is the one place that masks answers, each
// field by its kind (internal/mask/kinds.go), in a copy.
func Seen[T any](ctx context.Context, v T) T {
	if who, _ := access.WhoOf(ctx); !who.May(access.Phones) {
		return mask.Masked(v).(T)
	}
	return v
}
