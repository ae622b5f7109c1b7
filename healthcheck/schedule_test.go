package healthcheck

import (
	"context"
	"errors"
	"math"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// bench is a Checker in a bubble: virtual time, scripted probes, no sockets.
type bench struct {
	checker *Checker
	began   time.Time
	starts  []time.Duration // of the probes, since the bench began
	reports []Status
}

// newBench makes probe the probe of c; it is told how many probes came before.
func newBench(c Check, probe func(ctx context.Context, n int) error) *bench {
	b := &bench{began: time.Now()}
	b.checker = &Checker{check: c.withDefaults(), random: func() float64 { return 0 }}
	b.checker.probe = func(ctx context.Context) error {
		n := len(b.starts)
		b.starts = append(b.starts, time.Since(b.began))
		return probe(ctx, n)
	}
	return b
}

// run runs the checker for d and waits for its end.
func (b *bench) run(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	b.checker.Run(ctx, func(s Status) { b.reports = append(b.reports, s) })
}

func (b *bench) wantStarts(t *testing.T, ms ...int) {
	t.Helper()
	var got []int
	for _, s := range b.starts {
		got = append(got, int(s.Milliseconds()))
	}
	if !slices.Equal(got, ms) {
		t.Errorf("probes at %v ms, want %v", got, ms)
	}
}

// script makes a probe of a list of errors; the last stands for all further ones.
func script(errs ...error) func(context.Context, int) error {
	return func(_ context.Context, n int) error { return errs[min(n, len(errs)-1)] }
}

var errBusy = errors.New("status 503, want 200-299")

const ms = time.Millisecond

func benchCheck() Check {
	return Check{Name: "web", Interval: 1000 * ms, FastInterval: 200 * ms, Timeout: 500 * ms, Rise: 2, Fall: 2}
}

func TestFastIntervalHoldsWhileUndecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(benchCheck(), script(nil, nil, nil, errBusy, nil, errBusy, errBusy, errBusy, nil))
		b.run(5000 * ms)
		b.wantStarts(t, 0, 200, 1200, 2200, 2400, 3400, 3600, 4600)
		got := ""
		for _, s := range b.reports {
			got += verdict(s.Up, !s.Decided)
		}
		if got != "dUUUUUDD" {
			t.Errorf("verdicts %s", got)
		}
	})
}

func TestStatusTellsWhatHappenedAndWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := benchCheck()
		check.Soft, check.Rise, check.Fall = true, 1, 1
		b := newBench(check, func(ctx context.Context, n int) error {
			sleep(ctx, 30*ms)
			return script(errBusy, nil, nil, errBusy)(ctx, n)
		})
		b.run(3500 * ms)
		since := func(ms int) time.Time { return b.began.Add(time.Duration(ms) * time.Millisecond) }
		want := []Status{
			{Decided: true, Since: since(0), Last: since(30), Error: errBusy.Error()},
			{Decided: true, Up: true, Since: since(1030), Last: since(1030)},
			{Decided: true, Up: true, Since: since(1030), Last: since(2030)},
			{Decided: true, Since: since(3030), Last: since(3030), Error: errBusy.Error()},
		}
		for i := range want {
			want[i].Name, want[i].Soft, want[i].Duration = "web", true, 30*ms
		}
		if !slices.Equal(b.reports, want) {
			t.Errorf("reports\n%+v, want\n%+v", b.reports, want)
		}
	})
}

func TestHungProbeFailsAndDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(benchCheck(), func(ctx context.Context, _ int) error {
			<-ctx.Done()
			return ctx.Err()
		})
		b.run(4000 * ms)
		// 200 ms are shorter than the time that a probe hangs: two moments are skipped.
		b.wantStarts(t, 0, 600, 1600, 2600, 3600)
		for _, s := range b.reports {
			if s.Error != "timeout after 500ms" || s.Up || s.Duration != 500*ms {
				t.Errorf("report %+v", s)
			}
		}
		if len(b.reports) != 4 {
			t.Errorf("%d reports, want 4: the probe that the end cut short is none", len(b.reports))
		}
	})
}

func TestProbeThatPassesTooLateHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(benchCheck(), func(context.Context, int) error {
			sleep(context.Background(), 700*ms) // deaf to its context
			return nil
		})
		b.run(1900 * ms)
		for _, s := range b.reports {
			if s.Up || s.Error != "timeout after 500ms" {
				t.Errorf("report %+v", s)
			}
		}
		b.wantStarts(t, 0, 800, 1800)
	})
}

func TestJitterShortensTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := benchCheck()
		check.Rise, check.Jitter = 1, 0.4
		b := newBench(check, script(nil))
		draws := []float64{0, 0.5, math.Nextafter(1, 0), 0.25}
		b.checker.random = func() float64 {
			d := draws[0]
			draws = append(draws[1:], d)
			return d
		}
		b.run(4200 * ms)
		b.wantStarts(t, 0, 1000, 1800, 2400, 3300)
	})
}

func TestRunEndsWithItsContextAndStartsAfresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := benchCheck()
		check.Rise = 1
		b := newBench(check, script(nil))
		b.run(100 * ms)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		b.checker.Run(ended, func(Status) { t.Error("a report after the end") })
		b.checker.probe = func(context.Context) error { return errBusy }
		b.run(100 * ms)
		if len(b.reports) != 2 || !b.reports[0].Up || b.reports[1].Up {
			t.Errorf("reports %+v, want up, and down in the second run", b.reports)
		}
	})
}

// fakeWatch replaces the bench's watch: its connections last for the times
// given, and then for ever.
func (b *bench) fakeWatch(lives ...time.Duration) *[]time.Duration {
	opened := &[]time.Duration{}
	b.checker.watch = func(ctx context.Context) bool {
		n := len(*opened)
		*opened = append(*opened, time.Since(b.began))
		if n >= len(lives) {
			<-ctx.Done()
			return true
		}
		sleep(ctx, lives[n])
		return true
	}
	return opened
}

func TestEndOfTheWatchedConnectionStartsAProbeAndIsNoVerdict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := benchCheck()
		check.Rise = 1
		b := newBench(check, script(nil))
		opened := b.fakeWatch(6300 * ms)
		b.run(8000 * ms)
		b.wantStarts(t, 0, 1000, 2000, 3000, 4000, 5000, 6000, 6300, 7300)
		if want := []time.Duration{0, 6310 * ms}; !slices.Equal(*opened, want) {
			t.Errorf("connections at %v, want %v", *opened, want)
		}
		for _, s := range b.reports {
			if !s.Up {
				t.Errorf("report %+v", s)
			}
		}
	})
}

func TestRefusedProbesAreOneVerdict(t *testing.T) {
	for _, c := range []struct {
		name   string
		grace  time.Duration
		starts []int
	}{
		{"without grace", 0, []int{0, 300, 310, 320, 1320}},
		{"with grace", 100 * ms, []int{0, 300, 310, 320, 330, 350, 390, 400, 1400}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				check := benchCheck()
				check.Rise, check.Fall, check.RestartGrace = 1, 3, c.grace
				b := newBench(check, script(nil, syscall.ECONNREFUSED))
				b.fakeWatch(300 * ms)
				b.run(1500 * ms)
				b.wantStarts(t, c.starts...)
				for i, s := range b.reports {
					up := i < len(c.starts)-2
					if s.Up != up || (s.Error == "") != (i == 0) {
						t.Errorf("report %d: %+v, want up %v", i, s, up)
					}
				}
			})
		})
	}
}

func TestReturnAfterAVerdictNeedsRise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := syscall.ECONNREFUSED
		b := newBench(benchCheck(), script(nil, nil, refusal, refusal, nil, nil))
		b.fakeWatch(100 * ms)
		b.run(2000 * ms)
		b.wantStarts(t, 0, 200, 300, 310, 1310, 1510)
		if up := b.reports[4].Up; up || !b.reports[5].Up {
			t.Errorf("up after one pass: %v, after two: %v", up, b.reports[5].Up)
		}
	})
}

func TestServerThatClosesEveryConnectionCausesNoStorm(t *testing.T) {
	for _, c := range []struct {
		name           string
		life           time.Duration
		probes, opened int // at most, in 60 s at 1 Hz
	}{
		{"at once", 0, 130, 70},
		{"after 1 s", 1000 * ms, 125, 40},
		{"after 6 s", 6000 * ms, 75, 11},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				check := benchCheck()
				check.Rise = 1
				b := newBench(check, script(nil))
				opened := b.fakeWatch(slices.Repeat([]time.Duration{c.life}, 1000)...)
				b.run(60 * time.Second)
				if len(b.starts) > c.probes || len(b.starts) < 60 || len(*opened) > c.opened || len(*opened) < 9 {
					t.Errorf("%d probes and %d connections, want at most %d and %d", len(b.starts), len(*opened), c.probes, c.opened)
				}
				within := 0
				for _, o := range *opened {
					if o < 1300*ms {
						within++
					}
				}
				if c.life == 0 && within != 8 {
					t.Errorf("%d connections in the first 1.3 s, want 8 as documented", within)
				}
			})
		})
	}
}

func TestAWatchThatCannotBeOpenedIsNoReasonToProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := benchCheck()
		check.Rise = 1
		b := newBench(check, script(nil))
		tries := 0
		b.checker.watch = func(ctx context.Context) bool {
			tries++
			sleep(ctx, 500*ms) // the opening times out
			return false
		}
		b.run(5500 * ms)
		b.wantStarts(t, 0, 1000, 2000, 3000, 4000, 5000)
		if tries < 3 {
			t.Errorf("tried %d times, want again after passing probes", tries)
		}
	})
}

func TestRunLeavesNothingBehindWheneverItIsStopped(t *testing.T) {
	// synctest.Test fails when a goroutine of the bubble is left.
	for stop := range 40 {
		synctest.Test(t, func(t *testing.T) {
			check := benchCheck()
			check.Rise, check.RestartGrace = 1, 100*ms
			b := newBench(check, script(nil, nil, syscall.ECONNREFUSED, nil))
			b.fakeWatch(20*ms, 30*ms, 10*ms)
			b.run(time.Duration(stop) * 5 * ms)
			if stop > 0 && len(b.reports) == 0 {
				t.Error("no report")
			}
		})
	}
}
