package server

import (
	"context"
	"encoding/json"

	"github.com/nudgewire/nudgewire/internal/mask"
)

// Shown is v as JSON for who asks: whole for those with the scope phones. For everybody else this is the one place that masks answers, each field by
// its kind (internal/mask/kinds.go).
func Shown(ctx context.Context, v any) ([]byte, error) {
	if who, _ := WhoOf(ctx); !who.May(Phones) {
		v = mask.Masked(v)
	}
	return json.Marshal(v)
}
