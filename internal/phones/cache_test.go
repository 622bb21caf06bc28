package phones

import (
	"fmt"
	"sync"
	"testing"
)

func TestTheCacheForgetsAndStaysBounded(t *testing.T) {
	c := &cache[int, int]{}
	for i := range generation * 5 {
		c.put(i, i)
	}
	if total := len(c.young) + len(c.old); total > generation*2 {
		t.Errorf("the cache holds %d answers, want at most %d", total, generation*2)
	}
	if _, ok := c.get(0); ok {
		t.Error("the first of very many is still there")
	}
	last := generation*5 - 1
	if a, ok := c.get(last); !ok || a != last {
		t.Errorf("the last one is not there: %v %v", a, ok)
	}
}

func TestAnAnswerInUseSurvivesAGeneration(t *testing.T) {
	c := &cache[string, int]{}
	c.put("kept", 1)
	for i := range generation * 5 {
		c.put(fmt.Sprint(i), 2)
		if _, ok := c.get("kept"); !ok {
			t.Fatalf("forgotten after %d others though it was asked for each time", i)
		}
	}
}

func TestTheCacheIsSafeForMany(t *testing.T) {
	c := &cache[int, int]{}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				c.put(i, i)
				if a, ok := c.get(i); ok && a != i {
					t.Errorf("worker %d: %d has the answer of %d", w, i, a)
				}
			}
		})
	}
	wg.Wait()
}
