package importer

import (
	"runtime"
	"sync"
)

// largestBatch bounds the octets of the objects that one worker reads at a time; the last
// of them may be larger.
const largestBatch = 64 << 10

// mostKept is the attributes of an object whose memory is used again.
const mostKept = 1024

// batch is some objects that follow each other, and what they hold.
type batch struct {
	objects []object
	results []Result
	size    int
	done    chan struct{} // has room for the only word that it is read
}

// crew reads objects on all processors and yields what they hold in their order. It keeps
// two batches for each worker at most, and uses their memory again.
type crew struct {
	name    string
	yield   func(Result) error
	jobs    chan *batch
	workers sync.WaitGroup
	now     *batch
	waiting []*batch // in the order of the objects
	free    []*batch
	failed  bool // yield returned an error
}

// newCrew starts the workers, which end with close.
func newCrew(name string, yield func(Result) error) *crew {
	n := runtime.GOMAXPROCS(0)
	c := &crew{name: name, yield: yield, jobs: make(chan *batch, 2*n)}
	for range 2 * n {
		c.free = append(c.free, &batch{done: make(chan struct{}, 1)})
	}
	for range n {
		c.workers.Go(c.work)
	}
	return c
}

func (c *crew) work() {
	words := newLexicon()
	for b := range c.jobs {
		for i := range b.objects {
			b.results = append(b.results, readObjectWith(words, &b.objects[i], c.name, Options{}))
		}
		b.done <- struct{}{}
	}
}

// add takes a copy of an object. The error is that of yield, for objects before it.
func (c *crew) add(o *object) error {
	if c.now == nil {
		if len(c.free) == 0 {
			if err := c.oldest(); err != nil {
				return err
			}
		}
		last := len(c.free) - 1
		c.now, c.free = c.free[last], c.free[:last]
	}
	c.now.take(o)
	if c.now.size >= largestBatch {
		c.send()
	}
	return nil
}

// take copies an object into the memory of one before it.
func (b *batch) take(o *object) {
	n := len(b.objects)
	if n < cap(b.objects) {
		b.objects = b.objects[:n+1]
	} else {
		b.objects = append(b.objects, object{})
	}
	kept := append(b.objects[n].attributes[:0], o.attributes...)
	b.objects[n] = *o
	b.objects[n].attributes = kept
	b.size += o.size
}

func (c *crew) send() {
	c.waiting = append(c.waiting, c.now)
	c.jobs <- c.now // has room for all batches
	c.now = nil
}

// oldest waits for the first of the batches and yields what it holds.
func (c *crew) oldest() error {
	b := c.waiting[0]
	c.waiting = append(c.waiting[:0], c.waiting[1:]...)
	<-b.done
	for _, r := range b.results {
		if len(r.Entries)+len(r.InUse)+len(r.Problems) == 0 {
			continue
		}
		if err := c.yield(r); err != nil {
			c.failed = true
			return err
		}
	}
	b.empty()
	c.free = append(c.free, b)
	return nil
}

// empty makes room for other objects; that of a large one is not kept.
func (b *batch) empty() {
	for i := range b.objects {
		if cap(b.objects[i].attributes) > mostKept {
			b.objects[i].attributes = nil
		}
	}
	clear(b.results)
	b.objects, b.results, b.size = b.objects[:0], b.results[:0], 0
}

// flush yields what is left.
func (c *crew) flush() error {
	if c.now != nil {
		c.send()
	}
	for len(c.waiting) > 0 {
		if err := c.oldest(); err != nil {
			return err
		}
	}
	return nil
}

// close ends the workers and waits for them.
func (c *crew) close() {
	close(c.jobs)
	c.workers.Wait()
}
