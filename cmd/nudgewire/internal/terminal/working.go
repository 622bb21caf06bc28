package terminal

import (
	"fmt"
	"sync"
	"time"
)

// quietFor is how long something may take before its line appears: what is done at once needs none.
const quietFor = 2 * time.Second

// Working says in a line of the terminal what is being done and for how long already, from two seconds on, until end is called. detail
// adds how far it is; it may be called from anywhere. Where a line cannot be written over, nothing is said.
func (c *CLI) Working(doing string) (detail func(words string), end func()) {
	if !Redraws(c.Err) || c.JSON || c.Quiet {
		return func(string) {}, func() {}
	}
	return working(doing, func(line string) {
		c.Warn("\r%s\x1b[K", CutTo(line, Columns(c.Err)-1))
	})
}

// working draws a line each second, and an empty one at the end where one was drawn.
func working(doing string, draw func(line string)) (detail func(words string), end func()) {
	began := time.Now()
	var mu sync.Mutex
	far := ""
	over := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		drawn := false
		for next := time.NewTimer(quietFor); ; next.Reset(time.Second) {
			select {
			case <-over:
				next.Stop()
				if drawn {
					draw("")
				}
				return
			case <-next.C:
			}
			mu.Lock()
			line := fmt.Sprintf("%s, %s", doing, time.Since(began).Round(time.Second))
			if far != "" {
				line += ": " + far
			}
			mu.Unlock()
			draw(line)
			drawn = true
		}
	})
	return func(words string) {
			mu.Lock()
			defer mu.Unlock()
			far = words
		}, sync.OnceFunc(func() {
			close(over)
			done.Wait()
		})
}
