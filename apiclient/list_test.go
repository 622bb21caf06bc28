package apiclient

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// The answer to an upload may list a message for each of its rows, which is far longer than the
// answer to a send.
func TestTheAnswerToAnUploadIsReadToItsEnd(t *testing.T) {
	const n = 200_000
	var list strings.Builder
	list.WriteString(`{"campaign_id":"5","message_ids":[1`)
	for i := 2; i <= n; i++ {
		list.WriteString("," + strconv.Itoa(i))
	}
	list.WriteString("]}")
	base := answer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, list.String())
	})
	const file = "phone\n447700900101\n"
	a, err := open(t, base).CreateCampaign(t.Context(), "n", 1, "a.csv", strings.NewReader(file), int64(len(file)))
	if err != nil || len(a.MessageIDs) != n || a.MessageIDs[n-1] != strconv.Itoa(n) || a.CampaignID != "5" || len(a.Raw) != maxRaw {
		t.Errorf("%d messages, campaign %q, %d bytes kept, %v", len(a.MessageIDs), a.CampaignID, len(a.Raw), err)
	}
	if a, err := open(t, base).SendTemplate(t.Context(), message); err != nil || a.MessageIDs != nil {
		t.Errorf("the answer to a send: %d messages, %v", len(a.MessageIDs), err)
	}
}
