package tracker

import (
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nudgewire/nudgewire/internal/messaging"
)

func TestAnEarlyCheckComesBeforeTheSchedule(t *testing.T) {
	const half = time.Second / 2
	for name, tt := range map[string]struct {
		answers []string
		looks   []time.Duration // before the first of the schedule
		want    messaging.Status
	}{
		"it failed":                       {[]string{"failed"}, []time.Duration{half / 2}, messaging.StatusFailed},
		"it fails a little later":         {[]string{"queued", "queued", "failed"}, []time.Duration{half / 2, half, 2 * half}, messaging.StatusFailed},
		"it is sent, so there are points": {[]string{"queued", "sent"}, []time.Duration{half / 2, half}, messaging.StatusAccepted},
		"it stays queued":                 {[]string{"queued"}, []time.Duration{half / 2, half, 2 * half, 4 * half, 8 * half}, messaging.StatusAccepted},
		"a word of the service's own":     {[]string{"pending"}, []time.Duration{half / 2, half, 2 * half, 4 * half, 8 * half}, messaging.StatusAccepted},
		"it was delivered meanwhile":      {[]string{"queued", "delivered"}, []time.Duration{half / 2, half}, messaging.StatusDelivered},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				told := 0
				r := start(t, newMemory(0), &service{answer: tells(tt.answers...)}, func(o *Options) {
					o.Reported = func(*messaging.Message, *messaging.Poll) {
						mu.Lock()
						defer mu.Unlock()
						told++
					}
				})
				synctest.Wait()
				began := time.Now()
				r.accept(began)
				pass(4500 * time.Millisecond)
				var looks []time.Duration
				for _, c := range r.service.made() {
					looks = append(looks, c.at.Sub(began))
				}
				if diff := cmp.Diff(tt.looks, looks); diff != "" {
					t.Errorf("looks (-want +got):\n%s", diff)
				}
				mu.Lock()
				defer mu.Unlock()
				// Its row knows nothing before the end.
				if m := r.store.row(1); m.Status != tt.want || told != len(looks) {
					t.Errorf("%s, told of %d of %d looks; want %s", m.Status, told, len(looks), tt.want)
				}
			})
		})
	}
}

// accept is what the sender does with a message that was taken.
func (r *running) accept(at time.Time) {
	m := messaging.Message{NextPollAt: r.First(at)}
	id := r.store.add(m)
	m = r.store.row(id)
	r.Wake(m.NextPollAt)
	r.CheckEarly(&m)
}

func TestEarlyChecksTakeATenthOfTheRateAtTheMost(t *testing.T) {
	for rate, most := range map[float64]int{0: 10 * 4 * 5, 200: 10 * 200 / 10, 20: 10 * 20 / 10, 1: 5} {
		t.Run(strconv.FormatFloat(rate, 'f', -1, 64), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, newMemory(0), &service{answer: tells("queued")}, func(o *Options) {
					o.Budget.SetRate(rate)
					o.Plan.Schedule = []time.Duration{8 * time.Second}
				})
				for range 10 * 100 { // of every hundredth of a second
					m := messaging.Message{ServiceID: "1", ID: 1, AcceptedAt: time.Now(), Status: messaging.StatusAccepted}
					r.CheckEarly(&m)
					time.Sleep(10 * time.Millisecond)
				}
				if n := len(r.service.made()); n == 0 || n > most {
					t.Errorf("%d looks in ten seconds, want at most %d", n, most)
				}
				pass(time.Minute) // the early checks under way end
			})
		})
	}
}

func TestNothingElseIsCheckedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, newMemory(0), &service{}, nil)
		r.CheckEarly(&messaging.Message{AcceptedAt: time.Now()}) // the service named no id
		r.CheckEarly(&messaging.Message{ServiceID: "1", AcceptedAt: time.Now(), Final: true})
		pass(4 * time.Second)
		if n := len(r.service.made()); n != 0 {
			t.Errorf("%d looks", n)
		}
	})
}
