package phones

import (
	"fmt"
	"sync"
	"testing"
)

func TestTheCacheForgetsAndStaysBounded(t *testing.T) {
	c := &cache{}
	for i := range generation * 5 {
		c.put(fmt.Sprint(i), "GB", fmt.Sprint(i), nil)
	}
	if total := len(c.young) + len(c.old); total > generation*2 {
		t.Errorf("the cache holds %d answers, want at most %d", total, generation*2)
	}
	if _, ok := c.get("0", "GB"); ok {
		t.Error("the first of very many is still there")
	}
	last := fmt.Sprint(generation*5 - 1)
	if a, ok := c.get(last, "GB"); !ok || a.digits != last {
		t.Errorf("the last one is not there: %v %v", a, ok)
	}
}

func TestAnAnswerInUseSurvivesAGeneration(t *testing.T) {
	c := &cache{}
	c.put("kept", "", "1", nil)
	for i := range generation * 5 {
		c.put(fmt.Sprint(i), "", "2", nil)
		if _, ok := c.get("kept", ""); !ok {
			t.Fatalf("forgotten after %d others though it was asked for each time", i)
		}
	}
}

func TestTheCacheIsSafeForMany(t *testing.T) {
	c := &cache{}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				text := fmt.Sprint(i)
				c.put(text, "", text, nil)
				if a, ok := c.get(text, ""); ok && a.digits != text {
					t.Errorf("worker %d: %q has the answer of %q", w, text, a.digits)
				}
			}
		})
	}
	wg.Wait()
}
