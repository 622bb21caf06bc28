package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/regular"
)

// Who asks for what is stored about them gets a file, which a person sends them. The file is what is still to be done: a request
// is open for as long as its file lies there.

// A RequestFile is what such a file holds.
type RequestFile struct {
	Event     messaging.EventID `json:"event"`
	Connector string            `json:"connector"`
	Note      string            `json:"note,omitempty"` // why there is no data
	*DataView `json:",omitempty"`
}

// A DataRequestView is a request that is open.
type DataRequestView struct {
	Event     messaging.EventID `json:"event"`
	Connector string            `json:"connector,omitempty" kind:"ours"`
	Phone     messaging.Phone   `json:"phone,omitempty"` // none where the event names none
	Since     time.Time         `json:"since"`           // when the file was written
	File      string            `json:"file" kind:"ours"`
}

// RequestsFolder is where those files lie, beside the database.
func RequestsFolder(database string) string {
	return filepath.Join(filepath.Dir(database), "data-requests")
}

// MaxRequestFile is as much of such a file as is read; what one holds of a contact is far less.
const MaxRequestFile = 64 << 20

// RequestPath is the file of a request.
func RequestPath(database string, event messaging.EventID) string {
	return filepath.Join(RequestsFolder(database), fmt.Sprintf("event-%d.json", event))
}

// openRequests are the requests whose files lie there, the oldest first, without what stands in them.
func openRequests(database string) (open []DataRequestView, err error) {
	files, err := os.ReadDir(RequestsFolder(database))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("files of data requests: %w", err)
	}
	for _, one := range files {
		var event messaging.EventID
		if n, _ := fmt.Sscanf(one.Name(), "event-%d.json", &event); n == 0 || one.Name() != filepath.Base(RequestPath(database, event)) {
			continue
		}
		info, err := one.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // a person removed it meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("files of data requests: %w", err)
		}
		open = append(open, DataRequestView{Event: event, Since: info.ModTime().UTC(), File: RequestPath(database, event)})
	}
	slices.SortFunc(open, func(a, b DataRequestView) int { return int(a.Event - b.Event) })
	return open, nil
}

func (a admin) dataRequests(ctx context.Context, _ None) ([]DataRequestView, error) {
	open, err := openRequests(a.Storage)
	for i := range open {
		text, err := regular.Read(ctx, open[i].File, MaxRequestFile)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("files of data requests: %w", err)
		}
		var v RequestFile
		if json.Unmarshal(text, &v) == nil { // one that a person changed is a request all the same
			if open[i].Connector = v.Connector; v.DataView != nil {
				open[i].Phone = v.Contact.Phone
			}
		}
	}
	if open == nil {
		open = []DataRequestView{}
	}
	return open, err
}

// closeRequest removes the file of a request that a person carried out.
func (a admin) closeRequest(ctx context.Context, id messaging.EventID) (DataRequestView, error) {
	v := DataRequestView{Event: id, File: RequestPath(a.Storage, id)}
	err := os.Remove(v.File)
	if errors.Is(err, fs.ErrNotExist) {
		return DataRequestView{}, refusal.Newf(http.StatusNotFound, `"nudgewire contacts requests" shows them`, "no request of data by event %d is open", id)
	}
	if err != nil {
		return DataRequestView{}, fmt.Errorf("close the request of event %d: %w", id, err)
	}
	return v, nil
}
