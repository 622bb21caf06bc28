package store_test

// The statements of features stand in folders above this one. What holds for all statements is tested here for theirs, too.
import (
	_ "github.com/nudgewire/nudgewire/internal/alerts"
	_ "github.com/nudgewire/nudgewire/internal/auth"
	_ "github.com/nudgewire/nudgewire/internal/outbox"
)
