package load

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// script is a reader that tells what a test says, by how often it was asked.
type script struct {
	say    func(n int, now time.Time) (Sample, error)
	times  []time.Time
	closed int
}

func (s *script) read(context.Context) (Sample, error) {
	now := time.Now()
	s.times = append(s.times, now)
	return s.say(len(s.times)-1, now)
}

func (s *script) close() { s.closed++ }

// steady says one load all the time.
func steady(load float64) *script {
	return &script{say: func(_ int, now time.Time) (Sample, error) { return Sample{Load: load, At: now}, nil }}
}

// meterOf is a link's meter with scripts for readers.
func meterOf(l Link, log *slog.Logger, fast, exact *script) *linkMeter {
	m := &linkMeter{link: l, merged: NewEstimator(l), gauge: &gauge{configured: l.Capacity}}
	if fast != nil {
		m.feeds = append(m.feeds, &feedIn{source: l.Fast, reader: fast, track: newTrack(l.Name, "fast", log)})
	}
	if exact != nil {
		m.feeds = append(m.feeds, &feedIn{exact: true, source: l.Exact, reader: exact, track: newTrack(l.Name, "exact", log)})
	}
	return m
}

// runFor runs a meter for a time and returns its figures.
func runFor(m *linkMeter, d time.Duration) (figures []Sample) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var parts sync.WaitGroup
	var handing sync.Mutex
	m.run(ctx, &parts, func(s Sample) { figures = append(figures, s) }, &handing)
	parts.Wait()
	return figures
}

func feedLink(period time.Duration) Link {
	return Link{Name: "a", Capacity: 100, Fast: &Source{Feed: &Feed{Period: period}}}
}

func TestInterfacesAreReadEverySecondAndFeedsWithJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := newLog()
		begin := time.Now()
		nic := steady(50)
		figures := runFor(meterOf(Link{Name: "a", Capacity: 100, Fast: &Source{Interface: "eth0"}}, log, nic, nil), 10*time.Second+1)
		if len(figures) != 11 || nic.closed != 1 {
			t.Errorf("%d figures of an interface in 10 s, closed %d times; want 11, once", len(figures), nic.closed)
		}
		for i, at := range nic.times {
			if want := begin.Add(time.Duration(i) * time.Second); !at.Equal(want) {
				t.Errorf("reading %d after %v, want %v", i, at.Sub(begin), want.Sub(begin))
			}
		}
		begin = time.Now()
		feed := steady(50)
		runFor(meterOf(feedLink(30*time.Second), log, feed, nil), time.Hour)
		moved := false
		for i, at := range feed.times {
			off := at.Sub(begin.Add(time.Duration(i) * 30 * time.Second))
			moved = moved || off != 0
			if off.Abs() > 3*time.Second {
				t.Errorf("request %d is %v off its time, want a tenth of the period at most", i, off)
			}
		}
		if n := len(feed.times); n < 119 || n > 121 || !moved {
			t.Errorf("%d requests in an hour, moved: %v; want 120, moved", n, moved)
		}
	})
}

func TestSlowSourceIsNotAskedTwiceAtOnceNorMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := newLog()
		slow := &script{say: func(n int, now time.Time) (Sample, error) {
			if n == 1 {
				time.Sleep(10 * time.Second)
			}
			return Sample{Load: 1, At: now}, nil
		}}
		figures := runFor(meterOf(Link{Name: "a", Fast: &Source{Interface: "eth0"}}, log, slow, nil), 15*time.Second+500*time.Millisecond)
		// At 0 and 1 s, then from 11 s on again each second.
		if len(figures) != 7 {
			t.Errorf("%d figures, want 7", len(figures))
		}
	})
}

func TestRefusedFiguresAreCountedAndNotAveragedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := newLog()
		lies := map[int]Sample{
			3: {Load: -1}, 4: {Load: math.NaN()}, 5: {Load: 1001}, 6: {Load: 1001}, 7: {Load: math.Inf(1)},
		}
		s := &script{say: func(n int, now time.Time) (Sample, error) {
			lie, ok := lies[n]
			lie.At = now
			switch {
			case ok:
				return lie, nil
			case n == 8:
				return Sample{Load: 50, At: now.Add(time.Hour)}, nil
			case n == 9:
				return Sample{Load: 50, At: now.Add(-time.Hour)}, nil
			case n == 10:
				return Sample{}, refuse(Absent, "nothing")
			case n == 11:
				return Sample{}, errors.New("no route")
			}
			return Sample{Load: 50, At: now}, nil
		}}
		link := Link{Name: "a", Capacity: 100, Smooth: 5 * time.Second, Fast: &Source{Interface: "eth0"}}
		m := meterOf(link, log, s, nil)
		figures := runFor(m, 20*time.Second+1)
		if len(figures) != 21-9 {
			t.Errorf("%d figures, want %d", len(figures), 21-9)
		}
		for _, f := range figures {
			if math.Abs(f.Load-50) > 1e-9 || f.Capacity != 100 || f.Period != time.Second {
				t.Errorf("figure %+v, want 50 of 100", f)
			}
		}
		got := m.feeds[0].track.status()
		want := map[Reason]uint64{Negative: 1, NotANumber: 2, OverCapacity: 2, Future: 1, Older: 1, Absent: 1, Unreachable: 1}
		for r := Unreachable; r < reasons; r++ {
			if got.Refused[r] != want[r] {
				t.Errorf("%v: %d, want %d", r, got.Refused[r], want[r])
			}
		}
		if !got.Up || got.Error != "" || !got.Last.Equal(figures[len(figures)-1].At) {
			t.Errorf("status %+v, want up", got)
		}
		if log := lines.lines(); len(log) != 2 || !strings.Contains(log[0], "negative") || !strings.Contains(log[1], "back") {
			t.Errorf("log %q, want one line that it fails and one that it is back", log)
		}
	})
}

func TestFlappingSourceIsNoNewsEachTime(t *testing.T) {
	log, lines := newLog()
	tr := newTrack("a", "fast", log)
	for range 100 {
		tr.fail(errors.New("refused"))
		tr.ok()
		tr.ok()
	}
	if got := lines.lines(); len(got) != 1 {
		t.Errorf("%d lines, want 1", len(got))
	}
	if s := tr.status(); s.Up || s.Error != "refused" || s.Refused[Unreachable] != 100 {
		t.Errorf("%+v, want it to be down with 100 failures", s)
	}
	tr.ok()
	if s := tr.status(); !s.Up || len(lines.lines()) != 2 {
		t.Errorf("%+v after three good figures in a row, %q; want it up, and a line", s, lines.lines())
	}
}

func TestSameTimestampIsNoNewFigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := newLog()
		begin := time.Now()
		s := &script{say: func(n int, now time.Time) (Sample, error) { // the feed changes each minute
			return Sample{Load: 50, At: now.Truncate(time.Minute)}, nil
		}}
		m := meterOf(feedLink(10*time.Second), log, s, nil)
		figures := runFor(m, 10*time.Minute+30*time.Second)
		if n := len(figures); n != 11 {
			t.Errorf("%d figures, want 11", n)
		}
		for i, f := range figures {
			if want := begin.Truncate(time.Minute).Add(time.Duration(i) * time.Minute); !f.At.Equal(want) {
				t.Errorf("figure %d is of %v, want %v", i, f.At, want)
			}
		}
		if st := m.feeds[0].track.status(); len(st.Refused) != 0 || len(lines.lines()) != 0 {
			t.Errorf("%+v, %q; want no refusal and no line", st, lines.lines())
		}
	})
}

func TestDelayMakesFiguresOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := newLog()
		l := feedLink(10 * time.Second)
		l.Fast.Delay = 15 * time.Second
		begin := time.Now()
		figures := runFor(meterOf(l, log, steady(1), nil), time.Second)
		if len(figures) != 1 || !figures[0].At.Equal(begin.Add(-15*time.Second)) {
			t.Errorf("%+v, want one figure of 15 s before %v", figures, begin)
		}
	})
}

// Both sources of a link, by the timers as they are: the fast one each second, the
// exact one each minute, of a minute ago.
func TestTwoSourcesMakeOneFigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := newLog()
		begin := time.Now()
		own := func(at time.Time) float64 { return 20 + at.Sub(begin).Seconds()/20 }
		fast := &script{say: func(_ int, now time.Time) (Sample, error) { return Sample{Load: own(now), At: now}, nil }}
		exact := &script{say: func(_ int, now time.Time) (Sample, error) {
			at := now.Add(-time.Minute)
			return Sample{Load: own(at) + 15, At: at}, nil
		}}
		l := Link{Name: "a", Capacity: 100, Fast: &Source{Interface: "eth0"}, Exact: &Source{Prometheus: &Prometheus{Period: time.Minute}}}
		m := meterOf(l, log, fast, exact)
		figures := runFor(m, 10*time.Minute)
		settled := 0
		for _, f := range figures {
			if f.At.Sub(begin) < 3*time.Minute {
				continue
			}
			settled++
			if want := own(f.At) + 15; math.Abs(f.Load-want) > 0.06 || f.Period != time.Second {
				t.Errorf("after %v: %+v, want %v", f.At.Sub(begin), f, want)
			}
		}
		if settled < 400 {
			t.Errorf("%d figures, want one each second", settled)
		}
		st := m.status()
		if math.Abs(st.Correction-15) > 0.06 || st.Corrected.IsZero() || st.Capacity != 100 {
			t.Errorf("status %+v, want a correction of 15", st)
		}
	})
}

func TestFiguresEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := newLog()
		ctx, cancel := context.WithCancel(context.Background())
		s := &script{say: func(int, time.Time) (Sample, error) {
			<-ctx.Done() // as a request does
			return Sample{}, ctx.Err()
		}}
		var parts sync.WaitGroup
		var handing sync.Mutex
		meterOf(feedLink(time.Minute), log, s, nil).run(ctx, &parts, func(Sample) { t.Error("a figure") }, &handing)
		synctest.Wait()
		cancel()
		parts.Wait()
		if s.closed != 1 || len(lines.lines()) != 0 {
			t.Errorf("closed %d times, log %q; want once and nothing", s.closed, lines.lines())
		}
	})
}

func TestConfigErrorsNameTheirPlace(t *testing.T) {
	good := &Source{Interface: "eth0"}
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"no name":        {Config{Links: []Link{{Fast: good}}}, "no name"},
		"twice":          {Config{Links: []Link{{Name: "a"}, {Name: "a"}}}, "link a: the name is taken"},
		"capacity":       {Config{Links: []Link{{Name: "a", Capacity: -1}}}, "link a: capacity -1"},
		"NaN":            {Config{Links: []Link{{Name: "a", Capacity: math.NaN()}}}, "capacity NaN"},
		"no origin":      {Config{Links: []Link{{Name: "a", Fast: &Source{}}}}, "link a: fast: 0 origins"},
		"two origins":    {Config{Links: []Link{{Name: "a", Exact: &Source{Interface: "x", Feed: &Feed{}}}}}, "link a: exact: 2 origins"},
		"URL":            {Config{Links: []Link{{Name: "a", Fast: &Source{Feed: &Feed{URL: "ftp://x", Period: time.Second}}}}}, "http://"},
		"query":          {Config{Links: []Link{{Name: "a", Fast: &Source{Prometheus: &Prometheus{URL: "http://x", Period: time.Second}}}}}, "query is empty"},
		"period":         {Config{Links: []Link{{Name: "a", Fast: &Source{Feed: &Feed{URL: "http://x"}}}}}, "period 0s"},
		"delay":          {Config{Links: []Link{{Name: "a", Fast: &Source{Interface: "x", Delay: -1}}}}, "negative"},
		"pressure":       {Config{Resources: Resources{PressureIO: 2}}, "io pressure"},
		"NIC":            {Config{Resources: Resources{Interfaces: []Interface{{}}}}, `interface ""`},
		"sessions":       {Config{Resources: Resources{Sessions: -1}}, "negative"},
		"VIPs":           {Config{Resources: Resources{Sessions: 1}}, "no VIP"},
		"quality":        {Config{Quality: QualityConfig{Period: time.Second}}, "quality: there is no VIP"},
		"quality period": {Config{Quality: QualityConfig{Period: 1, VIPs: vips}}, "at least 1s"},
	} {
		s, err := New(c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) || s != nil {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
