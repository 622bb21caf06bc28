package app

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A trouble that comes every ten seconds is told each minute, for as long as it lasts.
func TestATroubleOfTheCollectorIsToldEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		trouble := onceAMinute(func(error) { told++ })
		for range 18 {
			trouble(errors.New("connection refused"))
			time.Sleep(10 * time.Second)
		}
		if told != 3 {
			t.Errorf("told %d times in three minutes", told)
		}
	})
}
