package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
	"pgregory.net/rapid"
)

// anyLoadConfig is a node with up to four links and ladders of all kinds.
func anyLoadConfig(t *rapid.T) Config {
	var names []string
	for i := range rapid.IntRange(1, 4).Draw(t, "links") {
		names = append(names, fmt.Sprintf("l%d", i))
	}
	c := loadNode(names...)
	lc := &c.Load
	lc.Control.Mode = rapid.SampledFrom([]control.Mode{control.Off, control.Threshold, control.Curve, control.Damped, control.PI}).Draw(t, "mode")
	lc.AllowWithdraw = rapid.Bool().Draw(t, "allow withdraw")
	if rapid.Bool().Draw(t, "without exploration") {
		lc.Flap.Exploration = 1
	}
	if rapid.IntRange(0, 5).Draw(t, "unbudgeted") == 0 {
		lc.Flap = flap.Config{}
	}
	period := time.Duration(rapid.SampledFrom([]int{1, 10, 60}).Draw(t, "period")) * time.Second
	for i := range lc.Links {
		lc.Links[i].Period = period
		lc.Links[i].Landing = rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "landing")
	}
	for i := range lc.Climbers {
		cl := &lc.Climbers[i]
		cl.ASN = 65000 + uint32(rapid.IntRange(0, 1).Draw(t, "asn"))
		cl.Link = rapid.SampledFrom(names).Draw(t, "link")
		cl.Weight = rapid.SampledFrom([]float64{0, 0.3, 1}).Draw(t, "weight")
		cl.Rungs = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Rung {
			return Rung{Sheds: rapid.Float64Range(0, 1).Draw(t, "sheds"), Withdraw: rapid.IntRange(0, 5).Draw(t, "withdraw") == 0, Leave: rapid.IntRange(0, 5).Draw(t, "leave") == 0}
		}), 0, 4).Draw(t, "rungs")
	}
	return c
}

// weather makes inputs that follow each other: loads that walk, figures that are
// late, missing or of clocks that were set, sessions, pins and failures.
type weather struct {
	t      *rapid.T
	c      Config
	now    time.Time
	loads  []float64
	losses uint64
	calm   bool // nothing but loads
}

func (w *weather) next() Input {
	t := w.t
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(t, "pause")) * time.Second)
	in := healthy(w.now)
	in.Samples, in.Sessions = map[string]Sample{}, map[string]Session{}
	for i, l := range w.c.Load.Links {
		if len(w.loads) <= i {
			w.loads = append(w.loads, 0.7)
		}
		w.loads[i] = max(0, w.loads[i]+rapid.Float64Range(-0.2, 0.2).Draw(t, "walk"))
		if rapid.IntRange(0, 9).Draw(t, "missing") == 0 {
			continue
		}
		age := time.Duration(rapid.IntRange(0, 3).Draw(t, "late")) * l.Period
		if !w.calm && rapid.IntRange(0, 9).Draw(t, "lies") == 0 {
			age = time.Duration(rapid.IntRange(-300, 4000).Draw(t, "clock")) * time.Second
		}
		in.Samples[l.Name] = Sample{Load: w.loads[i], At: w.now.Add(-age)}
	}
	if w.calm {
		return in
	}
	in.Node = Sample{Load: rapid.Float64Range(0, 1.2).Draw(t, "node"), At: w.now}
	if rapid.IntRange(0, 9).Draw(t, "others") == 0 {
		in.OthersMoved = w.now
	}
	name := rapid.SampledFrom(w.c.Load.Climbers).Draw(t, "neighbour").Name
	switch rapid.IntRange(0, 12).Draw(t, "event") {
	case 0:
		w.losses++
		in.Sessions[name] = Session{Up: false, Losses: w.losses}
	case 1:
		in.Pins = []Pin{{Neighbor: name, Rung: rapid.IntRange(-1, 6).Draw(t, "rung"), Reason: "x", Until: w.now.Add(time.Minute)}}
	case 2:
		in.Health = map[string]Health{"video": {Hard: Down, Soft: Up, HardDetail: "web"}}
	case 3:
		in.Overrides = []Override{{Service: "video", Verb: Drain, Reason: "x", Since: w.now, WithdrawAt: w.now.Add(time.Minute)}}
	}
	return in
}

func TestNoInputBreaksTheRulesOfLoadControl(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyLoadConfig(t)
		w := &weather{t: t, c: c, now: t0}
		var s State
		var buf Buffer
		var reused State
		changed := map[string]time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			in := w.next()
			was := s
			before := mustJSON(t, MemoryOf(was))
			var d Decision
			s, d = Next(c, was, in)
			if mustJSON(t, MemoryOf(was)) != before {
				t.Fatal("Next changed its arguments")
			}
			if again, same := Next(c, was, in); !reflect.DeepEqual(d, same) || !reflect.DeepEqual(s, again) {
				t.Fatalf("the same arguments gave another answer")
			}
			var bd Decision
			if reused, bd = buf.Next(c, reused, in); !reflect.DeepEqual(bd, d) || mustJSON(t, MemoryOf(reused)) != mustJSON(t, MemoryOf(s)) {
				t.Fatalf("a buffer decides otherwise: %+v, want %+v", bd, d)
			}
			checkMoves(t, c, was, s, in, d, changed)
			if !d.Wake.IsZero() && !d.Wake.After(in.Now) {
				t.Fatalf("wake %v is not after %v", d.Wake, in.Now)
			}
		}
	})
}

func mustJSON(t rapid.TB, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkMoves holds each change of a rung that the controller made to the rules.
func checkMoves(t *rapid.T, c Config, was, is State, in Input, d Decision, changed map[string]time.Time) {
	for i, cd := range d.Climbers {
		old := rungOf(was, i)
		if cd.Rung < 0 || cd.Rung > len(c.Load.Climbers[i].Rungs) || !(cd.Shed >= 0 && cd.Shed <= 1) {
			t.Fatalf("%+v", cd)
		}
		if cd.Rung == old {
			continue
		}
		st := is.Load.Climbers[i]
		automatic := !st.Pinned && c.Load.Control.Mode != control.Off
		if automatic {
			checkMove(t, c, was, in, d, i, old, changed)
		}
		changed[cd.Name] = in.Now
	}
}

// rungOf is the rung on which climber i stood.
func rungOf(s State, i int) int {
	if i < len(s.Load.Climbers) {
		return s.Load.Climbers[i].Rung
	}
	return 0
}

func checkMove(t *rapid.T, c Config, was State, in Input, d Decision, i, old int, changed map[string]time.Time) {
	cd, cl := d.Climbers[i], c.Load.Climbers[i]
	var link LinkDecision
	var period time.Duration
	for l, ld := range d.Links {
		if ld.Name == cl.Link {
			link, period = ld, c.Load.Links[l].Period
		}
	}
	if !link.Known || link.Stale {
		t.Fatalf("moved %d to %d on a figure that is %+v", old, cd.Rung, link)
	}
	dwell := c.Load.DwellDown
	if cd.Rung > old {
		if dwell = c.Load.DwellUp; link.Utilization > full {
			dwell /= 2
		}
	} else if cd.Rung < old-1 && !was.Load.Climbers[i].Idle {
		t.Fatalf("stepped down from %d to %d", old, cd.Rung)
	}
	if last, moved := changed[cd.Name]; moved && in.Now.Sub(last) < dwell-period {
		t.Fatalf("moved %v after the last time", in.Now.Sub(last))
	}
	for _, g := range cl.Rungs[:cd.Rung] {
		if cd.Rung > old && cl.Rungs[cd.Rung-1].Withdraw && !c.Load.AllowWithdraw {
			t.Fatalf("took %+v without leave", g)
		}
	}
	// the ledger of before would have allowed it
	for _, p := range c.Services[0].Prefixes {
		key := flap.Key{ASN: cl.ASN, Prefix: p}
		event := cl.charged(old, cd.Rung)
		if ok, _ := was.Load.Ledger.Allow(c.Load.Flap, cl.Share, in.Now, event, key); !ok {
			t.Fatalf("moved %d to %d past the budget: penalty %v", old, cd.Rung, was.Load.Ledger.Penalty(c.Load.Flap, key, in.Now))
		}
	}
}

// The routers' side, kept independently and by the true time of each change.
func TestTheLoadAloneNeverPassesTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyLoadConfig(t)
		w := &weather{t: t, c: c, now: t0, calm: true}
		var s State
		penalties := map[uint32]float64{}
		last := t0
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			in := w.next()
			was := s
			var d Decision
			s, d = Next(c, s, in)
			for asn := range penalties {
				penalties[asn] *= math.Exp2(-in.Now.Sub(last).Minutes() / 15)
			}
			last = in.Now
			for i, cl := range c.Load.Climbers {
				if !d.Climbers[i].Moved || len(c.Load.Flap.Profiles) == 0 || was.Load.Shown == nil {
					continue // the last: the first announcement, which is no change
				}
				if was, is := rungOf(was, i), d.Climbers[i].Rung; was > 0 && is > 0 && cl.Rungs[was-1].Withdraw && cl.Rungs[is-1].Withdraw {
					continue // withdrawn it was before
				}
				charge := map[flap.Event]float64{flap.Withdrawal: 1000, flap.AttributeChange: 500}[cl.charged(rungOf(was, i), d.Climbers[i].Rung)]
				if penalties[cl.ASN] += charge * c.Load.Flap.Exploration; penalties[cl.ASN] >= 2000 {
					t.Fatalf("AS %d suppresses at %v: %+v", cl.ASN, penalties[cl.ASN], d.Climbers[i])
				}
			}
		}
	})
}

func TestAConstantLoadDoesNotFlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyLoadConfig(t)
		loads := map[string]float64{}
		for _, l := range c.Load.Links {
			loads[l.Name] = rapid.Float64Range(0, 2).Draw(t, "load")
		}
		p := &driver{c: c}
		turns := map[string]int{}
		last := map[string]int{}
		for d := time.Duration(0); d < 50*time.Minute; d += c.Load.Links[0].Period {
			was := p.s
			p.at(d, loads)
			for i, cd := range p.d.Climbers {
				if cd.Rung == rungOf(was, i) {
					continue
				}
				way := 1
				if cd.Rung < rungOf(was, i) {
					way = -1
				}
				if last[cd.Name] != 0 && last[cd.Name] != way {
					turns[cd.Name]++
				}
				last[cd.Name] = way
			}
		}
		for name, n := range turns {
			if n > 1 { // up, and back down from what moved nothing
				t.Fatalf("%s turned round %d times", name, n)
			}
		}
	})
}

func TestSiblingsOnOneFeedTakeTheSameRungs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := loadNode("a", "b")
		feed := 30 * time.Second
		for i := range c.Load.Links {
			c.Load.Links[i].Period = feed
		}
		edges := make([]driver, 4)
		phases := make([]time.Duration, len(edges))
		every := time.Duration(rapid.IntRange(1, 30).Draw(t, "poll")) * time.Second
		for i := range edges {
			edges[i].c = c
			phases[i] = time.Duration(rapid.IntRange(0, int(every/time.Second)-1).Draw(t, "phase")) * time.Second
		}
		loads := [2]float64{0.7, 0.7}
		figures := map[string]Sample{}
		taken := make([][]string, len(edges))
		for d := time.Duration(0); d < 30*time.Minute; d += time.Second {
			if d%feed == 0 {
				for l, name := range []string{"a", "b"} {
					loads[l] = max(0, loads[l]+rapid.Float64Range(-0.2, 0.25).Draw(t, "walk"))
					figures[name] = Sample{Load: loads[l], At: at(d)}
				}
			}
			for i := range edges {
				if (d+phases[i])%every != 0 {
					continue
				}
				p := &edges[i]
				p.at(d, nil, func(in *Input) { in.Samples = map[string]Sample{"a": figures["a"], "b": figures["b"]} })
				for _, cd := range p.d.Climbers {
					if cd.Moved {
						taken[i] = append(taken[i], fmt.Sprintf("%s %d for the figure of %v", cd.Name, cd.Rung, p.s.Load.Moved.Sub(t0)))
					}
				}
			}
		}
		longest := taken[0]
		for _, other := range taken {
			if len(other) > len(longest) {
				longest = other
			}
		}
		for i, own := range taken { // one may not have looked yet
			if len(longest)-len(own) > 1 || !reflect.DeepEqual(own, longest[:len(own)]) && len(own) > 0 {
				t.Fatalf("edge %d, polling every %v at %v: %v; another %v", i, every, phases[i], own, longest)
			}
		}
	})
}

func TestNothingChangesBeforeTheWake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyLoadConfig(t)
		w := &weather{t: t, c: c, now: t0}
		var s State
		var in Input
		var d Decision
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			in = w.next()
			s, d = Next(c, s, in)
		}
		for i := range d.Climbers { // what was news is none the second time
			d.Climbers[i].Moved = false
		}
		until := in.Now.Add(time.Hour)
		if !d.Wake.IsZero() {
			until = d.Wake
		}
		again := in
		again.Now = in.Now.Add(time.Duration(rapid.Int64Range(1, int64(until.Sub(in.Now)-1)).Draw(t, "sooner")))
		_, early := Next(c, s, again)
		for i := range d.Services {
			if !reflect.DeepEqual(d.Services[i].Neighbors, early.Services[i].Neighbors) {
				t.Fatalf("at %v, before the wake at %v: %+v, was %+v", again.Now, d.Wake, early.Services[i], d.Services[i])
			}
		}
		for i := range d.Links {
			if d.Links[i].Stale != early.Links[i].Stale || d.Links[i].Drop != early.Links[i].Drop {
				t.Fatalf("at %v, before the wake at %v: %+v, was %+v", again.Now, d.Wake, early.Links[i], d.Links[i])
			}
		}
	})
}
