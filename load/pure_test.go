package load

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestEWMAForgetsByTime(t *testing.T) {
	e := EWMA{Tau: 10 * time.Second}
	if _, ok := e.Value(); ok {
		t.Error("an average of nothing")
	}
	for _, c := range []struct{ value, at, want float64 }{
		{100, 0, 100},
		{0, 10, 100 / math.E},
		{0, 10, 100 / math.E}, // not newer
		{50, 5, 100 / math.E}, // older
		{0, 20, 100 / math.E / math.E},
		{80, 1e6, 80}, // all else is forgotten
	} {
		if got := e.Add(c.value, after(c.at)); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("after %v at %v: %v, want %v", c.value, c.at, got, c.want)
		}
	}
	e.Reset()
	if got := e.Add(7, after(0)); got != 7 || e.Tau != 10*time.Second {
		t.Errorf("after Reset: %v with %v", got, e.Tau)
	}
	var none EWMA
	none.Add(1, after(0))
	if got := none.Add(9, after(1)); got != 9 {
		t.Errorf("without a time constant: %v, want the last figure", got)
	}
}

func TestEWMAIsWithinItsFiguresAndIndifferentToSplitting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tau := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "tau"))
		one, two := EWMA{Tau: tau}, EWMA{Tau: tau}
		at, low, high := start, math.Inf(1), math.Inf(-1)
		for range rapid.IntRange(1, 30).Draw(t, "figures") {
			v := rapid.Float64Range(-1e12, 1e12).Draw(t, "value")
			half := time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "half"))
			low, high = min(low, v), max(high, v)
			// The same figure twice in the time is the figure once.
			_, had := two.Value()
			if had {
				two.Add(v, at.Add(half))
			}
			at = at.Add(2 * half)
			a, b := one.Add(v, at), two.Add(v, at)
			if math.Abs(a-b) > 1e-3 {
				t.Fatalf("once %v, in two parts %v", a, b)
			}
			if slack := 1e-9 * max(math.Abs(low), math.Abs(high)); a < low-slack || a > high+slack {
				t.Fatalf("average %v of figures within %v and %v", a, low, high)
			}
		}
	})
}

func TestGateRefusesLies(t *testing.T) {
	now := after(100)
	for name, c := range map[string]struct {
		s    Sample
		want Reason
	}{
		"negative":             {Sample{Load: -1, At: now}, Negative},
		"NaN":                  {Sample{Load: math.NaN(), At: now}, NotANumber},
		"infinite":             {Sample{Load: math.Inf(1), At: now}, NotANumber},
		"minus infinite":       {Sample{Load: math.Inf(-1), At: now}, NotANumber},
		"future":               {Sample{Load: 1, At: now.Add(future + 1)}, Future},
		"older":                {Sample{Load: 1, At: after(89.9)}, Older},
		"eleven capacities":    {Sample{Load: 11e9, Capacity: 1e9, At: now}, OverCapacity},
		"just over":            {Sample{Load: 10e9 + 1, Capacity: 1e9, At: now}, OverCapacity},
		"lies in two respects": {Sample{Load: math.NaN(), At: now.Add(time.Hour)}, NotANumber},
	} {
		g := Gate{last: after(90)}
		err := g.Check(c.s, now)
		t.Run(name, func(t *testing.T) { wantReason(t, err, c.want) })
		if !g.last.Equal(after(90)) {
			t.Errorf("%s: the refused figure was remembered", name)
		}
	}
}

func TestGateLetsTheTruthPass(t *testing.T) {
	now := after(100)
	for name, s := range map[string]Sample{
		"zero":                    {At: now},
		"ten capacities":          {Load: 10e9, Capacity: 1e9, At: now},
		"capacity unknown":        {Load: 1e18, At: now},
		"a little ahead":          {Load: 1, At: now.Add(future)},
		"an hour old, but newest": {Load: 1, At: now.Add(-time.Hour)},
	} {
		g := Gate{last: now.Add(-2 * time.Hour)}
		if err := g.Check(s, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := g.Check(s, now); !errors.Is(err, errNothingNew) {
			t.Errorf("%s once more: %v, want nothing new", name, err)
		}
	}
}

func TestWhatPassesTheGateIsSoundAndGoesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var g Gate
		var last time.Time
		for range rapid.IntRange(1, 50).Draw(t, "figures") {
			now := after(rapid.Float64Range(0, 1000).Draw(t, "now"))
			s := Sample{
				Load:     rapid.Float64().Draw(t, "load"),
				Capacity: rapid.SampledFrom([]float64{0, 1e9}).Draw(t, "capacity"),
				At:       after(rapid.Float64Range(-10, 1010).Draw(t, "at")),
			}
			if g.Check(s, now) != nil {
				continue
			}
			if !(s.Load >= 0) || math.IsInf(s.Load, 0) || !s.At.After(last) || s.At.Sub(now) > future || s.Capacity > 0 && s.Load > 10*s.Capacity {
				t.Fatalf("%+v passed at %v after %v", s, now, last)
			}
			last = s.At
		}
	})
}

func TestRatesOfCounters(t *testing.T) {
	base := Counters{Index: 3, Rx: 1000, Tx: 5000, At: start}
	for name, c := range map[string]struct {
		now    Counters
		rx, tx float64
		ok     bool
	}{
		"one second":        {Counters{3, 2000, 5500, after(1)}, 8000, 4000, true},
		"two and a half":    {Counters{3, 2000, 5500, after(2.5)}, 3200, 1600, true},
		"idle":              {Counters{3, 1000, 5000, after(1)}, 0, 0, true},
		"rx set back":       {Counters{3, 999, 5500, after(1)}, 0, 0, false},
		"tx set back":       {Counters{3, 2000, 0, after(1)}, 0, 0, false},
		"another interface": {Counters{4, 2000, 5500, after(1)}, 0, 0, false},
		"no time":           {Counters{3, 2000, 5500, start}, 0, 0, false},
		"time went back":    {Counters{3, 2000, 5500, after(-1)}, 0, 0, false},
		"asleep":            {Counters{3, 2000, 5500, after(3600)}, 0, 0, false},
	} {
		rx, tx, ok := c.now.Rates(base)
		if rx != c.rx || tx != c.tx || ok != c.ok {
			t.Errorf("%s: %v, %v, %v; want %v, %v, %v", name, rx, tx, ok, c.rx, c.tx, c.ok)
		}
	}
	// 32-bit counters of some drivers wrap, 64-bit ones could.
	for _, last := range []uint64{math.MaxUint32, math.MaxUint64} {
		if _, _, ok := (Counters{3, 5, 5, after(1)}).Rates(Counters{3, last, last, start}); ok {
			t.Errorf("a figure across the wrap at %d", last)
		}
	}
}

func TestRatesAddUpToWhatWasCarried(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Counters{Index: 1, At: start}
		var carried uint64
		sum := 0.0
		for range rapid.IntRange(1, 50).Draw(t, "readings") {
			octets := rapid.Uint64Range(0, 1<<40).Draw(t, "octets")
			next := Counters{1, c.Rx, c.Tx + octets, c.At.Add(time.Duration(rapid.Int64Range(1, int64(longestGap)).Draw(t, "span")))}
			_, tx, ok := next.Rates(c)
			if !ok || !(tx >= 0) {
				t.Fatalf("rate %v, %v", tx, ok)
			}
			sum += tx * next.At.Sub(c.At).Seconds() / 8
			carried += octets
			c = next
		}
		if math.Abs(sum-float64(carried)) > 1e-6*float64(carried)+1 {
			t.Fatalf("%v octets by rates, %d carried", sum, carried)
		}
	})
}

func TestDirections(t *testing.T) {
	for d, want := range map[Direction]float64{Busier: 9, Transmit: 9, Receive: 2, 200: 9} {
		if got := d.of(2, 9); got != want {
			t.Errorf("direction %d: %v, want %v", d, got, want)
		}
	}
	if got := Busier.of(9, 2); got != 9 {
		t.Errorf("the busier of 9 in and 2 out: %v", got)
	}
}

func TestCapacityIsBoundedByRealSpeedsOnly(t *testing.T) {
	for _, c := range []struct {
		configured, speed float64
		kind              string
		want              float64
	}{
		{10e9, 0, "", 10e9},
		{10e9, 1e9, "", 1e9},
		{10e9, 40e9, "", 10e9},
		{20e9, 10e9, "bond", 10e9}, // one of two members is gone
		{20e9, 10e9, "vlan", 10e9},
		{20e9, 10e9, "veth", 20e9},
		{1e9, 10e6, "tun", 1e9},
		{0, 10e9, "veth", 10e9},
		{0, 0, "", 0},
	} {
		if got := bounded(c.configured, c.speed, c.kind); got != c.want {
			t.Errorf("configured %v, %q at %v: %v, want %v", c.configured, c.kind, c.speed, got, c.want)
		}
	}
	for speed, want := range map[uint32]float64{0: 0, 1<<32 - 1: 0, 10_000: 10e9, 400_000: 400e9} {
		if got := megabits(speed); got != want {
			t.Errorf("speed %d is %v bit/s, want %v", speed, got, want)
		}
	}
}

func TestUtilizationNeedsACapacity(t *testing.T) {
	if u, ok := (Sample{Load: 5, Capacity: 10}).Utilization(); u != 0.5 || !ok {
		t.Errorf("%v, %v; want 0.5", u, ok)
	}
	if u, ok := (Sample{Load: 5}).Utilization(); ok {
		t.Errorf("%v of an unknown capacity", u)
	}
}

func TestPeriodOfALinkIsItsSlowestSources(t *testing.T) {
	slow := &Source{Prometheus: &Prometheus{Period: time.Minute}}
	for _, c := range []struct {
		link Link
		want time.Duration
	}{
		{Link{}, 0},
		{Link{Fast: &Source{Interface: "eth0"}}, time.Second},
		{Link{Exact: slow}, time.Minute},
		{Link{Fast: &Source{Interface: "eth0"}, Exact: slow}, time.Minute},
		{Link{Fast: &Source{Feed: &Feed{Period: 5 * time.Minute}}, Exact: slow}, 5 * time.Minute},
	} {
		if got := c.link.Period(); got != c.want {
			t.Errorf("%+v: %v, want %v", c.link, got, c.want)
		}
	}
}

func TestReasonsHaveWords(t *testing.T) {
	seen := map[string]bool{}
	for r := Unreachable; r < reasons; r++ {
		if s := r.String(); s == "" || seen[s] {
			t.Errorf("reason %d is %q", r, s)
		} else {
			seen[s] = true
		}
	}
	if got := Reason(99).String(); got != "reason_99" {
		t.Errorf("an unknown reason is %q", got)
	}
}
