package receiver

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nudgewire/nudgewire/internal/secret"
)

// dripping takes everything at once and never comes to the end of its answer.
type dripping struct{}

func (dripping) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(endless{r.Context()}), Request: r}, nil
}

type endless struct{ context.Context }

func (e endless) Read(p []byte) (int, error) {
	select {
	case <-e.Done():
		return 0, e.Err()
	case <-time.After(time.Second):
		return copy(p, "x"), nil
	}
}

// What a receiver took is delivered, however long the rest of its answer takes: the next change of the same message waits for it.
func TestAnAnswerThatDripsHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := NewClient("test", 1)
		c.guarded.Transport = dripping{}
		if err := c.Post(t.Context(), Address{URL: secret.New("https://crm.example.com/hook")}, nil, []byte("{}")); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
