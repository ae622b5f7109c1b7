package policy

import (
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// loadNode is a node with a transit and a peer, each on a link of its own.
func loadNode(links ...string) Config {
	c := Config{
		Services:    []Service{{Name: "video", Prefixes: []netip.Prefix{prefixA}}},
		ReturnAfter: ladder, Grace: 5 * time.Second,
		Load: LoadConfig{
			Control: control.Default(control.PI), Flap: flap.Default(),
			DwellUp: 120 * time.Second, DwellDown: 15 * time.Minute, DownAfter: 10 * time.Minute, Seed: "moscow",
		},
	}
	for i, l := range links {
		c.Services[0].Neighbors = append(c.Services[0].Neighbors, Neighbor{Name: l, IPv4: true})
		c.Load.Links = append(c.Load.Links, Link{Name: l, Capacity: 1, Period: time.Second, Landing: 1})
		c.Load.Climbers = append(c.Load.Climbers, Climber{
			Name: l, ASN: 65001 + uint32(i), Link: l, Rungs: []Rung{{Sheds: 0.2}, {Sheds: 0.5}, {Sheds: 0.8}},
		})
	}
	return c
}

// site plays a node and its links: the demand of each, and what its rung sheds of
// it, which shows within a dead time. It writes down each change of a rung.
type site struct {
	c      Config
	s      State
	d      Decision
	buf    Buffer
	demand func(t time.Duration, link int) float64
	truth  []float64 // what each rung sheds
	dead   time.Duration
	lands  bool            // what one link sheds lands on the others
	shape  func(in *Input) // for what else is the case
	now    time.Duration
	shed   []float64
	rungs  []int
	loads  []float64
	over   []int // s over the capacity
	log    []string
}

func (p *site) run(until time.Duration) {
	n := len(p.c.Load.Links)
	if p.shed == nil {
		p.shed, p.over, p.rungs, p.loads = make([]float64, n), make([]int, n), make([]int, len(p.c.Load.Climbers)), make([]float64, n)
	}
	for ; p.now < until; p.now += time.Second {
		in := Input{Now: at(p.now), Health: map[string]Health{"video": {Hard: Up, Soft: Up}}, WayBack4: Up, WayBack6: Up, Samples: map[string]Sample{}}
		p.load()
		for l := range n {
			in.Samples[p.c.Load.Links[l].Name] = Sample{Load: p.loads[l], At: at(p.now)}
		}
		if p.shape != nil {
			p.shape(&in)
		}
		p.s, p.d = p.buf.Next(p.c, p.s, in)
		p.steer()
	}
}

// load is what is on each link now.
func (p *site) load() {
	gone := 0.0
	for l := range p.loads {
		gone += p.demand(p.now, l) * p.shed[l]
	}
	for l := range p.loads {
		d := p.demand(p.now, l)
		p.loads[l] = d * (1 - p.shed[l])
		if p.lands && len(p.loads) > 1 {
			p.loads[l] += (gone - d*p.shed[l]) / float64(len(p.loads)-1)
		}
		if p.loads[l] > 1 {
			p.over[l]++
		}
	}
}

// steer lets the rungs take effect.
func (p *site) steer() {
	want := make([]float64, len(p.loads))
	for i, c := range p.d.Climbers {
		if c.Rung > 0 {
			l := find(p.c.Load.Links, i, p.c.Load.Climbers[i].Link, func(l *Link) string { return l.Name })
			for k := range p.c.Load.Links {
				if l == &p.c.Load.Links[k] {
					want[k] += p.truth[c.Rung-1] * p.c.weightOf(i)
				}
			}
		}
		if c.Rung != p.rungs[i] {
			p.log = append(p.log, fmt.Sprintf("%v %s %d->%d", p.now, c.Name, p.rungs[i], c.Rung))
			p.rungs[i] = c.Rung
		}
	}
	for l := range want {
		p.shed[l] += (want[l] - p.shed[l]) * (1 - math.Exp(-3/p.dead.Seconds()))
	}
}

func (c Config) weightOf(i int) float64 {
	n := 0
	for _, o := range c.Load.Climbers {
		if o.Link == c.Load.Climbers[i].Link {
			n++
		}
	}
	return 1 / float64(n)
}

// crowd is a demand that comes within a ramp after 10 min and goes after 70.
func crowd(from, to float64, ramp time.Duration) func(time.Duration, int) float64 {
	return func(t time.Duration, _ int) float64 {
		up := clamp01(float64(t-10*time.Minute) / float64(ramp))
		down := clamp01(float64(t-70*time.Minute) / float64(ramp))
		return from + (to-from)*(up-down) + 0.01*math.Sin(t.Seconds()*1.3) + 0.01*math.Sin(t.Seconds()/7)
	}
}

func TestAFlashCrowdIsMetWithAJumpOfTheRightSize(t *testing.T) {
	for _, tt := range []struct {
		ramp, dead time.Duration
		over       int // s, at most
		first      string
	}{
		{time.Second, 10 * time.Second, 25, "0->2"}, {time.Second, time.Minute, 30, "0->2"}, {time.Second, 3 * time.Minute, 50, "0->2"},
		{30 * time.Second, 10 * time.Second, 15, "0->3"}, {30 * time.Second, 3 * time.Minute, 30, "0->3"},
		{time.Minute, 10 * time.Second, 0, "0->2"}, {time.Minute, 3 * time.Minute, 0, "0->2"},
		{3 * time.Minute, 10 * time.Second, 0, "0->1"}, {3 * time.Minute, 3 * time.Minute, 10, "0->1"},
		{10 * time.Minute, 3 * time.Minute, 0, "0->1"},
	} {
		p := &site{c: loadNode("a"), truth: []float64{0.2, 0.5, 0.8}, dead: tt.dead, demand: crowd(0.6, 1.2, tt.ramp)}
		p.run(70*time.Minute + tt.ramp + 45*time.Minute)
		if p.over[0] > tt.over || !strings.HasSuffix(p.log[0], tt.first) || p.rungs[0] != 0 || len(p.log) > 4 {
			t.Errorf("ramp %v, dead time %v: %d s over, on rung %d after 45 min: %v", tt.ramp, tt.dead, p.over[0], p.rungs[0], p.log)
		}
	}
}

func TestWhereNothingHelpsTheNodeAbsorbsAndComesBack(t *testing.T) {
	p := &site{c: loadNode("a"), truth: []float64{0, 0, 0}, dead: 10 * time.Second, demand: func(time.Duration, int) float64 { return 1.3 }}
	p.run(10 * time.Minute)
	if l := p.d.Links[0]; !l.Absorb || l.Restraint.Hindrance != Futile || p.d.Climbers[0].Restraint.Hindrance != Futile || p.d.Climbers[0].Shed != 0 {
		t.Errorf("after the first step: %+v, %+v", l, p.d.Climbers[0])
	}
	p.run(time.Hour)
	if len(p.log) > 3 || p.d.Services[0].Severity == Withdrawn {
		t.Errorf("in an hour: %v, %v", p.log, p.d.Services[0].Cause)
	}
	if len(p.s.Load.Climbers[0].Learned) != 0 {
		t.Errorf("learned from a step that did nothing: %+v", p.s.Load.Climbers[0].Learned)
	}
	p.run(6 * time.Hour)
	if most := 6 * 3; len(p.log) > most {
		t.Errorf("in 6 hours %d changes: %v", len(p.log), p.log)
	}
}

func TestWhatHelpedNothingIsTriedEverMoreSeldom(t *testing.T) {
	p := &site{c: loadNode("a"), truth: []float64{0, 0, 0}, dead: 10 * time.Second, demand: func(d time.Duration, _ int) float64 {
		if d > 31*time.Hour && d < 32*time.Hour { // for an hour all is well
			return 0.5
		}
		return 1.3
	}}
	climbs := func() (hours []int) { // the first of each hour
		for _, line := range p.log {
			var at, name string
			var from, to int
			if _, err := fmt.Sscanf(line, "%s %s %d->%d", &at, &name, &from, &to); err != nil {
				t.Fatal(err)
			}
			d, err := time.ParseDuration(at)
			if err != nil {
				t.Fatal(err)
			}
			if h := int(d.Round(time.Hour).Hours()); to > from && !slices.Contains(hours, h) {
				hours = append(hours, h)
			}
		}
		return hours
	}
	p.run(35 * time.Hour)
	if got, want := fmt.Sprint(climbs()), "[0 1 3 7 15 32 33]"; got != want {
		t.Errorf("climbs at the hours %v, want %v: %v", got, want, p.log)
	}
}

func TestAShedThatWouldLandOnOurselvesIsRefused(t *testing.T) {
	p := &site{c: loadNode("a", "b"), truth: []float64{0.2, 0.5, 0.8}, dead: 10 * time.Second, lands: true,
		demand: func(_ time.Duration, l int) float64 { return []float64{0.93, 0.74}[l] }}
	p.run(time.Hour)
	if l := p.d.Links[0]; len(p.log) != 0 || !l.Absorb || l.Restraint != (Restraint{WouldLand, time.Time{}, "b"}) {
		t.Errorf("%v, %+v", p.log, l)
	}
	roomy := &site{c: p.c, truth: p.truth, dead: p.dead, lands: true,
		demand: func(_ time.Duration, l int) float64 { return []float64{0.95, 0.5}[l] }}
	roomy.run(time.Hour)
	if len(roomy.log) != 1 || !strings.Contains(roomy.log[0], "a 0->1") || roomy.loads[1] > brim {
		t.Errorf("with room on the other link: %v, %v", roomy.log, roomy.loads)
	}
	if seen := roomy.s.Load.Links[0].Landed; len(seen) != 1 || seen[0].Link != "b" || seen[0].Share < 0.9 {
		t.Errorf("seen to land: %+v", seen)
	}
}

// Three links in each other's way, one of them with room to spare: the search for
// a step must end.
func TestLinksInEachOthersWayAreTriedOnce(t *testing.T) {
	p := &driver{c: loadNode("a", "b", "c")}
	loads := map[string]float64{"a": 0.94, "b": 0.93, "c": 0.70}
	if p.hold(0, 40*time.Second, loads); p.rung("a")+p.rung("b")+p.rung("c") != 0 || !p.d.Links[0].Absorb || !p.d.Links[1].Absorb {
		t.Errorf("%s: %+v", hindrances(p.d), p.d.Links)
	}
}

func TestANearlyFullLinkIsRelievedByAll(t *testing.T) {
	p := &driver{c: loadNode("a", "b")}
	if p.hold(0, 40*time.Second, map[string]float64{"a": 1.05, "b": 0.70}); p.rung("a") == 0 || p.rung("b") == 0 {
		t.Errorf("%s: %+v", hindrances(p.d), p.d.Links)
	}
}

func TestASiteOfHotLinksMovesAsOne(t *testing.T) {
	p := &site{c: loadNode("a", "b"), truth: []float64{0.2, 0.5, 0.8}, dead: 10 * time.Second, demand: crowd(0.6, 1.2, time.Minute)}
	p.run(30 * time.Minute)
	if len(p.log) != 2 || !strings.HasSuffix(p.log[0], "a 0->2") || !strings.HasSuffix(p.log[1], "b 0->2") {
		t.Fatalf("%v", p.log)
	}
	if p.s.Load.Climbers[0].Since != p.s.Load.Climbers[1].Since || p.over[0]+p.over[1] > 0 {
		t.Errorf("%v, %v s over", p.log, p.over)
	}
}

func TestTwoLinksOfASiteNeverSwingInAntiphase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(0.3, 1.4).Draw(t, "a"), rapid.Float64Range(0.3, 1.4).Draw(t, "b")
		wave := rapid.Float64Range(0, 0.2).Draw(t, "wave")
		period := rapid.Float64Range(60, 3600).Draw(t, "period")
		p := &site{c: loadNode("a", "b"), truth: []float64{0.2, 0.5, 0.8}, dead: time.Duration(rapid.IntRange(10, 180).Draw(t, "dead")) * time.Second, lands: true,
			demand: func(t time.Duration, l int) float64 {
				return []float64{a, b}[l] + wave*math.Sin(2*math.Pi*t.Seconds()/period)
			}}
		p.run(time.Hour)
		for i := 1; i < len(p.log); i++ {
			var was, is time.Duration
			was, _ = time.ParseDuration(strings.Fields(p.log[i-1])[0])
			is, _ = time.ParseDuration(strings.Fields(p.log[i])[0])
			if one, other := strings.Fields(p.log[i-1])[1], strings.Fields(p.log[i])[1]; one != other && is != was && is-was < 180*time.Second {
				t.Fatalf("%s moved %v after %s: %v", other, is-was, one, p.log)
			}
		}
		if len(p.log) > 8 {
			t.Fatalf("%d changes in an hour: %v", len(p.log), p.log)
		}
	})
}

func TestTwoNeighborsOfALinkShareItsShed(t *testing.T) {
	c := loadNode("a", "b")
	c.Load.Links = c.Load.Links[:1]
	c.Load.Climbers[1].Link = "a"
	p := &site{c: c, truth: []float64{0.2, 0.5, 0.8}, dead: 10 * time.Second, demand: crowd(0.6, 1.0, time.Minute)}
	p.run(30 * time.Minute)
	if len(p.log) != 1 || p.s.Load.Links[0].InForce < 0.15 || p.s.Load.Links[0].InForce > 0.42 || p.loads[0] > 0.9 {
		t.Errorf("%v: load %v, in force %v", p.log, p.loads, p.s.Load.Links[0].InForce)
	}
	p = &site{c: c, truth: p.truth, dead: p.dead, demand: crowd(0.6, 1.7, time.Minute)}
	p.run(30 * time.Minute)
	if in := p.s.Load.Links[0].InForce; in < 0.48 || in > 0.66 || p.loads[0] > 0.95 {
		t.Errorf("with more to shed than one has: %v, load %v, in force %v", p.log, p.loads, in)
	}
}

func TestWhatARungShedsIsLearned(t *testing.T) {
	p := &site{c: loadNode("a"), truth: []float64{0.1, 0.35, 0.6}, dead: 10 * time.Second,
		demand: func(t time.Duration, _ int) float64 { return 1.3 - 0.75*clamp01(t.Minutes()-60) }}
	p.run(10 * time.Minute)
	learned := p.s.Load.Climbers[0].Learned
	if len(learned) != 3 || p.rungs[0] < 2 || math.Abs(learned[1].Shed-0.35) > 0.03 {
		t.Fatalf("%v: %+v, load %v", p.log, learned, p.loads)
	}
	p.run(3 * time.Hour)
	learned = p.s.Load.Climbers[0].Learned
	if p.rungs[0] != 0 || math.Abs(learned[0].Shed-0.1) > 0.03 {
		t.Fatalf("back home: %v: %+v", p.log, learned)
	}
	p.s = restart(t, p.s)
	if !reflect.DeepEqual(p.s.Load.Climbers[0].Learned, learned) {
		t.Errorf("after a restart: %+v", p.s.Load.Climbers[0])
	}
	p.c.Load.Climbers[0].Epoch = "another address"
	p.run(3*time.Hour + time.Second)
	if st := p.s.Load.Climbers[0]; st.Learned != nil || st.Epoch != "another address" {
		t.Errorf("after the neighbour changed: %+v", st)
	}
}

func TestTheNodesOwnLoadMovesWhatHelpsIt(t *testing.T) {
	cpu := func(load *float64) func(in *Input) {
		return func(in *Input) { in.Node = Sample{Load: *load, At: in.Now} }
	}
	load := 0.95
	low := func(time.Duration, int) float64 { return 0.4 }
	p := &site{c: loadNode("a", "b"), truth: []float64{0.2, 0.5, 0.8}, dead: 10 * time.Second, demand: low, shape: cpu(&load)}
	p.run(2 * time.Minute)
	if len(p.log) != 2 || !strings.HasSuffix(p.log[0], "a 0->1") || !strings.HasSuffix(p.log[1], "b 0->1") {
		t.Errorf("where one link's shed lands on the other, all move: %v", p.log)
	}
	c := loadNode("a", "b")
	c.Load.Links[0].Landing, c.Load.Links[1].Landing = 0, 0
	p = &site{c: c, truth: p.truth, dead: p.dead, demand: low, shape: cpu(&load)}
	p.run(2 * time.Minute)
	if len(p.log) != 1 || !strings.HasSuffix(p.log[0], "a 0->2") {
		t.Errorf("where it does not, one does: %v", p.log)
	}
	load = 0.76
	p.run(2 * time.Hour)
	if p.rungs[0] != 2 {
		t.Errorf("while the node would be too full without the rung: %v", p.log)
	}
	load = 0.4
	p.run(4 * time.Hour)
	if p.rungs[0] != 0 {
		t.Errorf("when it would not: %v", p.log)
	}
}

func TestANodeWithoutKnownLinksHasNothingToMove(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.c.Load.Climbers[0].Link = "elsewhere"
	p.hold(0, time.Minute, nil, func(in *Input) { in.Node = Sample{Load: 1.2, At: in.Now} })
	if p.rung("a") != 0 {
		t.Errorf("%+v", p.d.Climbers[0])
	}
}

// The default curve sheds from 0.70 on, a step down is safe up to 0.75.
func TestACurveThatStillShedsKeepsItsRung(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.c.Load.Control = control.Default(control.Curve)
	p.c.Load.Flap = flap.Config{}
	p.c.Load.Climbers[0].Rungs = []Rung{{Sheds: 0.01}}
	moves := 0
	for d := time.Duration(0); d < 50*time.Minute; d += time.Second {
		if p.at(d, one(0.74)).Climbers[0].Moved {
			moves++
		}
	}
	if moves > 2 { // up, and back from what moved nothing
		t.Errorf("moved %d times: %+v", moves, p.d.Climbers[0])
	}
}
