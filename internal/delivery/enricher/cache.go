package enricher

import (
	"container/list"
	"sync"
	"time"
)

// A cache keeps answers for as long as their connector says: the least used go first when
// there are too many, by count or by bytes.
type cache struct {
	mu      sync.Mutex
	entries int   // most
	bytes   int64 // most
	held    int64
	byKey   map[string]*list.Element
	order   *list.List // the latest used first
	beside  int64      // what an entry weighs beside its answer
}

type cached struct {
	key    string
	answer []byte
	until  time.Time
}

func newCache(entries int, bytes int64) *cache {
	return &cache{entries: entries, bytes: bytes, byKey: map[string]*list.Element{}, order: list.New(), beside: 256}
}

func (c *cache) get(key string, now time.Time) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byKey[key]
	if !ok {
		return nil, false
	}
	one := at.Value.(*cached) // the list holds nothing else
	if !now.Before(one.until) {
		c.drop(at)
		return nil, false
	}
	c.order.MoveToFront(at)
	return one.answer, true
}

func (c *cache) put(key string, answer []byte, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		c.drop(at)
	}
	if c.weight(key, answer) > c.bytes {
		return
	}
	c.byKey[key] = c.order.PushFront(&cached{key, answer, until})
	c.held += c.weight(key, answer)
	for c.order.Len() > c.entries || c.held > c.bytes {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(at *list.Element) {
	one := c.order.Remove(at).(*cached)
	delete(c.byKey, one.key)
	c.held -= c.weight(one.key, one.answer)
}

func (c *cache) weight(key string, answer []byte) int64 {
	return int64(len(key)+len(answer)) + c.beside
}
