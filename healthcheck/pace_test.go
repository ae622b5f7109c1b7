package healthcheck

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// pacers are benches that share a pace, with jitter 0.1 and draws that repeat.
func pacers(n int, probe func(ctx context.Context, i int) error) []*bench {
	pace := &Pace{}
	var all []*bench
	for i := range n {
		check := benchCheck()
		check.Rise, check.Jitter = 1, 0.1
		b := newBench(check, func(ctx context.Context, _ int) error { return probe(ctx, i) })
		b.checker.random = rand.New(rand.NewPCG(1, uint64(i))).Float64
		b.checker.Pace = pace
		all = append(all, b)
	}
	return all
}

// runAll runs benches side by side, each after a pause of its own.
func runAll(all []*bench, d time.Duration, pause func(i int) time.Duration) {
	var running sync.WaitGroup
	for i, b := range all {
		running.Go(func() {
			sleep(context.Background(), pause(i))
			b.run(d - pause(i))
		})
	}
	running.Wait()
}

// atOnce counts the probes of each moment from then on.
func atOnce(all []*bench, from time.Duration) map[time.Duration]int {
	count := map[time.Duration]int{}
	for _, b := range all {
		for _, s := range b.starts {
			if s >= from {
				count[s]++
			}
		}
	}
	return count
}

func wantGaps(t *testing.T, b *bench, least, most time.Duration) {
	t.Helper()
	for i := range len(b.starts) - 1 {
		if gap := b.starts[i+1] - b.starts[i]; gap < least || gap > most {
			t.Errorf("%v between probes, want %v to %v", gap, least, most)
		}
	}
}

func noPause(int) time.Duration { return 0 }

func pass(context.Context, int) error { return nil }

func TestChecksThatStartTogetherProbeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := pacers(10, pass)
		runAll(all, 60*time.Second, noPause)
		moments := atOnce(all, 0)
		for at, n := range moments {
			if n != 10 {
				t.Errorf("%d probes at %v, want 10", n, at)
			}
		}
		if len(moments) < 60 || len(moments) > 67 {
			t.Errorf("%d moments in 60 s, want one for each interval of 0.9 to 1 s", len(moments))
		}
		wantGaps(t, all[0], 900*ms, 1000*ms)
	})
}

// A check that a reload adds, or whose service was slow, comes back to the others.
func TestChecksThatStartApartComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := pacers(10, pass)
		runAll(all, 30*time.Minute, func(i int) time.Duration { return time.Duration(i) * 97 * ms })
		for at, n := range atOnce(all, 29*time.Minute) {
			if n != 10 {
				t.Errorf("%d probes at %v, want 10", n, at)
			}
		}
		for _, b := range all {
			wantGaps(t, b, 900*ms, 1000*ms)
		}
	})
}

func TestSlowCheckDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := pacers(3, func(ctx context.Context, i int) error {
			switch i {
			case 0:
				sleep(ctx, 400*ms)
			case 1:
				<-ctx.Done() // hangs
			}
			return nil
		})
		all[1].checker.check.FastInterval = 1000 * ms
		runAll(all, 60*time.Second, noPause)
		for _, b := range all {
			wantGaps(t, b, 900*ms, 1000*ms)
		}
		for at, n := range atOnce(all, 0) {
			if n != 3 {
				t.Errorf("%d probes at %v, want 3: how long one takes moves none", n, at)
			}
		}
	})
}

func TestNoMoreThanACrowdProbesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := pacers(3*crowd+1, pass)
		runAll(all, 30*time.Second, noPause)
		moments := atOnce(all, ms) // the first probes come at once
		for at, n := range moments {
			if n > crowd {
				t.Errorf("%d probes at %v, want %d at most", n, at, crowd)
			}
		}
		if len(moments) > 5*34 {
			t.Errorf("%d moments in 30 s: checks do not share them", len(moments))
		}
	})
}

func TestRefusedProbesWaitForNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := benchCheck()
		check.Rise, check.Jitter = 1, 0.5
		b := newBench(check, script(nil, syscall.ECONNREFUSED))
		b.checker.Pace = &Pace{moments: []moment{{time.Now().Add(305 * ms), 1}, {time.Now().Add(405 * ms), 1}}}
		b.fakeWatch(300 * ms)
		b.run(400 * ms)
		b.wantStarts(t, 0, 300, 310)
	})
}

func TestPaceKeepsToTheWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Pace
		now := time.Unix(1e9, 0)
		chosen := map[time.Time]int{}
		for range rapid.IntRange(1, 100).Draw(t, "checks") {
			now = now.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "later")) * ms)
			window := []int{rapid.IntRange(0, 100).Draw(t, "a"), rapid.IntRange(0, 100).Draw(t, "b"), rapid.IntRange(0, 100).Draw(t, "c")}
			slices.Sort(window)
			after := func(i int) time.Time { return now.Add(time.Duration(window[i]) * ms) }
			at := p.choose(now, after(0), after(2), after(1))
			if at.Before(after(0)) || at.After(after(2)) {
				t.Fatalf("%v is not in the window from %v to %v", at, after(0), after(2))
			}
			if chosen[at]++; at != after(1) && chosen[at] > crowd {
				t.Fatalf("%d checks at %v", chosen[at], at)
			}
		}
		for _, m := range p.moments {
			if m.at.Before(now) {
				t.Fatalf("%v has passed at %v and is still known", m.at, now)
			}
		}
	})
}
