package jobs

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nudgewire/nudgewire/cmd/nudgewire/internal/terminal"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestAReasonIsOneLine(t *testing.T) {
	if got := oneLine("the disk is full\nthe disk is full\nfree some space\n"); got != "the disk is full; free some space" {
		t.Errorf("%q", got)
	}
}

func TestAForecastTellsThreeReasonsAboutPhones(t *testing.T) {
	var out bytes.Buffer
	tally := messaging.Tally{Rows: 60, Kept: 1}
	for i := range 10 {
		tally.Excluded = append(tally.Excluded, messaging.Excluded{Kind: "phone", Reason: fmt.Sprintf("the phone has sign %d", i), Count: int64(10 - i)})
	}
	commands{&terminal.CLI{Streams: terminal.Streams{Out: &out, Err: &out}}}.tellTally(tally, false)
	if got := out.String(); strings.Count(got, "the phone has sign") != 3 || !strings.Contains(got, "and 7 more reasons about phones") {
		t.Errorf("%s", got)
	}
}
