package flap

import (
	"testing"
	"time"
)

// TestSlotByHand. Both profiles have a half-life of 900 s; the window is a third,
// 300 s. Changes in neighbouring slots weigh up to 2^((300+30)/900) = 1.2894 times
// more than those a slot apart. Cisco has room for 1800/1000 - 1 = 0.8 changes
// beside one: 1.2894 * (x + x^2 + ...) = 0.8, so that x/(1-x) = 0.62044 and
// x = 0.38288, which a slot leaves after 900 s * log2(1/0.38288) = 1246.5 s.
func TestSlotByHand(t *testing.T) {
	short := func(halfLife time.Duration) Config {
		p := Cisco()
		p.HalfLife, p.MaxSuppress = halfLife, 4*halfLife
		return only(p)
	}
	with := func(c Config, exploration float64) Config {
		c.Exploration = exploration
		return c
	}
	free := only(Cisco())
	free.Profiles[0].AttributeChange = 0
	for _, c := range []struct {
		name           string
		config         Config
		length, window time.Duration
	}{
		{"both profiles", Default(), 1247 * time.Second, 300 * time.Second},
		{"Cisco's alone", only(Cisco()), 1247 * time.Second, 300 * time.Second},
		// room for 2700/500 - 1 = 4.4: 900 s * log2(1 + 1.2894/4.4) = 333.8 s
		{"Juniper's, without exploration", with(only(Juniper()), 1), 334 * time.Second, 300 * time.Second},
		// 2^(50/60) = 1.7818: 60 s * log2(1 + 1.7818/0.8) = 101.4 s
		{"a half-life of 1 min", short(time.Minute), 102 * time.Second, 20 * time.Second},
		{"changes that cost nothing: windows do not meet", free, 330 * time.Second, 300 * time.Second},
		{"changes that fit just once: 1800 of 1800", with(Default(), 3.6), 0, 0},
		{"a half-life too short for a window", short(2 * time.Second), 0, 0},
		{"a half-life of a month", short(30 * 24 * time.Hour), 0, 0},
		{"no profile", Config{}, 0, 0},
	} {
		if length, window := c.config.Slot(); length != c.length || window != c.window {
			t.Errorf("%s: %v, window %v; want %v, %v", c.name, length, window, c.length, c.window)
		}
	}
}

// TestEachEdgeHasItsWindows: slots count from the epoch; in each, its owner may
// change for as long as the window lasts, once; the others are told their turn.
func TestEachEdgeHasItsWindows(t *testing.T) {
	c := Default()
	length, window := c.Slot()
	for _, first := range []int64{0, 4 * 350_001, -4 * 3} {
		for i := range 4 {
			s := Share{4, i}
			begin := time.Unix((first+int64(i))*int64(length/time.Second), 0)
			round := begin.Add(4 * length)
			for when, want := range map[time.Time]time.Time{
				begin:                                     begin,
				begin.Add(window - 1):                     begin.Add(window - 1),
				begin.Add(window):                         round,
				begin.Add(-1500 * time.Millisecond):       begin,
				begin.Add(length):                         round,
				begin.Add(length).Add(window / 2):         round,
				begin.Add(3*length + 700*time.Nanosecond): round,
			} {
				if ok, next := (Ledger{}).Allow(c, s, when, AttributeChange, video); ok != next.Equal(when) || !next.Equal(want) {
					t.Errorf("edge %d, %v into its slot: allowed is %v, next %v; want %v", i, when.Sub(begin), ok, next, want)
				}
			}
			l := Ledger{}.Charge(c, begin, AttributeChange, video)
			if ok, next := l.Allow(c, s, begin.Add(time.Second), AttributeChange, video); ok || !next.Equal(round) {
				t.Errorf("edge %d: a second change is allowed: %v, next %v; want %v", i, ok, next, round)
			}
			if ok, _ := l.Allow(c, s, begin.Add(time.Second), AttributeChange, key(1, "192.0.2.0/24")); !ok {
				t.Errorf("edge %d: a change at another AS is not allowed", i)
			}
		}
	}
}

// TestOneChangeInATurn: also where the penalty alone would let a second pass. Two
// of 500, and the most that one other edge adds, 500 * 1.2894 * 0.7733/(1-0.5979) =
// 1240, less than that of its own slots, are within 2700.
func TestOneChangeInATurn(t *testing.T) {
	c := only(Juniper())
	c.Exploration = 1
	length, window := c.Slot()
	begin := time.Unix(0, 0)
	for _, first := range []time.Duration{0, window - 1} {
		l := Ledger{}.Charge(c, begin.Add(first), AttributeChange, video)
		for _, then := range []time.Duration{first, window - 1, -2 * length} {
			if ok, _ := l.Allow(c, Share{2, 0}, begin.Add(then), AttributeChange, video); ok {
				t.Errorf("%v into the slot a second change is allowed after one at %v", then, first)
			}
		}
		if ok, next := l.Allow(c, Share{2, 0}, begin.Add(2*length), AttributeChange, video); !ok {
			t.Errorf("in the next turn a change is allowed only at %v", next)
		}
	}
}

// TestAnEmergencyKeepsItsEdgeOutOfTurn. After a withdrawal, 2000, edge 0 of 4 may
// change when its own penalty fits beside what the others may add. A slot leaves
// 2^(-1247/900) = 0.38275. The others add 1000 * 1.2894 * (0.62005 - 0.02193) =
// 771.2; 28.8 are left for its own, after 15 min * log2(2000/28.8) = 91.8 min: not
// in the next turn, 83.1 min later, but in the one after.
func TestAnEmergencyKeepsItsEdgeOutOfTurn(t *testing.T) {
	c, begin := Default(), time.Unix(0, 0)
	length, _ := c.Slot()
	l := Ledger{}.Charge(c, begin, Withdrawal, video)
	want := begin.Add(8 * length)
	if ok, next := l.Allow(c, Share{4, 0}, begin.Add(length), AttributeChange, video); ok || !next.Equal(want) {
		t.Errorf("allowed is %v, next %v; want %v", ok, next.Sub(begin), want.Sub(begin))
	}
}

// TestASharedBudgetHasNoRoomForMore: what the slots do not reckon with is never
// allowed, nor is a share that is none.
func TestASharedBudgetHasNoRoomForMore(t *testing.T) {
	begin, tight := time.Unix(0, 0), Default()
	tight.Exploration = 3.6
	for _, c := range []struct {
		name   string
		config Config
		share  Share
		event  Event
		keys   []Key
	}{
		{"a key twice", only(Juniper()), Share{2, 0}, AttributeChange, []Key{video, video}},
		{"a way back that costs two changes", only(Juniper()), Share{2, 0}, Readvertisement, []Key{video}},
		{"a withdrawal", only(Juniper()), Share{2, 0}, Withdrawal, []Key{video}},
		{"changes that fit just once", tight, Share{2, 0}, AttributeChange, []Key{video}},
		{"an index beyond the edges", Default(), Share{2, 2}, AttributeChange, []Key{video}},
		{"an index below 0", Default(), Share{2, -1}, AttributeChange, []Key{video}},
		{"an index without edges", Default(), Share{1, 1}, AttributeChange, []Key{video}},
		{"edges below 0", Default(), Share{-1, 0}, AttributeChange, []Key{video}},
		{"more edges than can take turns", Default(), Share{mostEdges + 1, 0}, AttributeChange, []Key{video}},
	} {
		if ok, next := (Ledger{}).Allow(c.config, c.share, begin, c.event, c.keys...); ok || !next.IsZero() {
			t.Errorf("%s: allowed is %v, next %v", c.name, ok, next)
		}
	}
	if ok, next := (Ledger{}).Allow(Default(), Share{mostEdges, 1}, begin, AttributeChange, video); ok || next.IsZero() {
		t.Errorf("as many edges as can take turns: allowed is %v, next %v", ok, next)
	}
}

// TestTheWorstOrderReachesTheLimitOnly: edges with slow clocks change at the very
// end of their windows, for a day; then one with a fast clock at the very beginning
// of its own. That is what slots are reckoned for: not a point over the limit, and
// hardly below it, so that no time is given away.
func TestTheWorstOrderReachesTheLimitOnly(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		w := &world{config: Default(), routers: routers(), now: time.Unix(1_700_000_000, 0)}
		for i := range n {
			w.edges = append(w.edges, edge{share: Share{n, i}, skew: -ClockError / 2})
		}
		_, window := w.config.Slot()
		var last int
		for slots := 0; slots < 70; slots++ {
			wait := 10000 * time.Hour
			for i := range w.edges {
				if _, next := w.edges[i].ledger.Allow(w.config, w.edges[i].share, w.clock(i), AttributeChange, video); next.Sub(w.clock(i)) < wait {
					last, wait = i, next.Sub(w.clock(i))
				}
			}
			w.now = w.now.Add(wait + window - time.Nanosecond)
			if ok, next := w.change(last, AttributeChange); !ok {
				t.Fatalf("%d edges: at the end of its window edge %d may only at %v", n, last, next)
			}
		}
		early := (last + 1) % n
		w.edges[early].skew = ClockError / 2
		_, next := w.edges[early].ledger.Allow(w.config, w.edges[early].share, w.clock(early), AttributeChange, video)
		w.now = w.now.Add(next.Sub(w.clock(early)))
		if ok, _ := w.change(early, AttributeChange); !ok {
			t.Fatalf("%d edges: the early one may not", n)
		}
		if p := w.routers[0].penalty(w.now); p > 1800 || p < 1799 {
			t.Errorf("%d edges: the worst is %.2f, want 1799 to 1800", n, p)
		}
	}
}
