package units

import (
	"fmt"
	"time"
)

// Brief is a span as people say it: 26h, 3h20m, 12m. What is small beside the rest is left
// out.
func Brief(d time.Duration) string {
	hours, minutes := int(d.Hours()), int(d.Minutes())%60
	switch {
	case hours >= 10 || (hours > 0 && minutes == 0):
		return fmt.Sprintf("%dh", hours)
	case hours > 0:
		return fmt.Sprintf("%dh%dm", hours, minutes)
	case minutes > 0:
		return fmt.Sprintf("%dm", minutes)
	default:
		return d.Truncate(time.Second).String()
	}
}
