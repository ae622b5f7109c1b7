package identity

import (
	"sync"
	"time"
)

const (
	// A source may be refused refusalBurst times at once and then once in
	// refusalEvery before it is only told to wait.
	refusalBurst = 20
	refusalEvery = 3 * time.Second
	maxSources   = 1024
)

// Allowance bounds how much a caller can have written down, so that nobody fills a
// disk by being refused. It forgets sources instead of growing. The zero value allows
// nothing; it is safe for use by several goroutines.
type Allowance struct {
	// Each source may take Burst at once and then one in Every, and all of them
	// together AllBurst and AllEvery.
	Burst, AllBurst int
	Every, AllEvery time.Duration

	mu      sync.Mutex
	sources map[string]*bucket
	all     bucket
	missed  uint64
}

// NamedRefusals is how many refusals of callers with a name may be written down: at
// most 1540 in a day.
func NamedRefusals() *Allowance {
	return &Allowance{Burst: 10, Every: 10 * time.Minute, AllBurst: 100, AllEvery: time.Minute}
}

// strangerRefusals is the same for those without: at most 44 in a day, as they cost
// nothing but a connection.
func strangerRefusals() *Allowance {
	return &Allowance{Burst: 5, Every: time.Hour, AllBurst: 20, AllEvery: time.Hour}
}

// Take reports whether the source may have one more, and if so how many were not
// allowed since the last that was, of all sources.
func (a *Allowance) Take(source string, now time.Time) (ok bool, missed uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !bucketOf(&a.sources, source).take(now, a.Burst, a.Every) || !a.all.take(now, a.AllBurst, a.AllEvery) {
		a.missed++
		return false, 0
	}
	missed, a.missed = a.missed, 0
	return true, missed
}

// bucketOf returns the bucket of a source.
func bucketOf(sources *map[string]*bucket, source string) *bucket {
	b := (*sources)[source]
	if b == nil {
		if *sources == nil || len(*sources) >= maxSources {
			*sources = map[string]*bucket{} // forgetting bounds the memory; what bounds all sources still holds
		}
		b = &bucket{}
		(*sources)[source] = b
	}
	return b
}

// bucket is a token bucket; full when it is new.
type bucket struct {
	left float64
	at   time.Time
}

// take takes a token, if there is one.
func (b *bucket) take(now time.Time, burst int, every time.Duration) bool {
	if b.at.IsZero() {
		b.left, b.at = float64(burst), now
	}
	if gone := now.Sub(b.at); gone > 0 {
		b.left, b.at = min(float64(burst), b.left+gone.Seconds()/every.Seconds()), now
	}
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// limiter bounds how fast refusals are worked on.
type limiter struct {
	mu      sync.Mutex
	sources map[string]*bucket
}

// spent reports whether a source has been refused too often of late; it costs
// nothing.
func (l *limiter) spent(source string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.sources[source]
	return b != nil && b.left+now.Sub(b.at).Seconds()/refusalEvery.Seconds() < 1
}

// refused charges a source.
func (l *limiter) refused(source string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bucketOf(&l.sources, source).take(now, refusalBurst, refusalEvery)
}
