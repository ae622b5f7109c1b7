package policy

import (
	"fmt"
	"math"
	"net/netip"
	"testing"
	"time"

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

// site plays a node's links: the demand of each, and what its rung sheds after a
// dead time.
type site struct {
	c      Config
	s      State
	buf    Buffer
	now    time.Duration
	demand func(t time.Duration, link int) float64
	truth  []float64 // sheds by rung
	dead   time.Duration
	shed   []float64
	d      Decision
	log    []string
	over   []int // seconds over capacity
	moves  int
	lands  bool // what one link sheds lands on the others
	rungs  []int
	loads  []float64
}

func (p *site) run(until time.Duration) {
	n := len(p.c.Load.Links)
	if p.shed == nil {
		p.shed, p.over, p.rungs, p.loads = make([]float64, n), make([]int, n), make([]int, n), make([]float64, n)
	}
	for ; p.now < until; p.now += time.Second {
		in := Input{Now: at(p.now), Health: map[string]Health{"video": {Hard: Up, Soft: Up}}, WayBack4: Up, WayBack6: Up, Samples: map[string]Sample{}}
		gone := 0.0
		for l := range n {
			gone += p.demand(p.now, l) * p.shed[l]
		}
		for l := range n {
			d := p.demand(p.now, l)
			load := d * (1 - p.shed[l])
			if p.lands && n > 1 {
				load += (gone - d*p.shed[l]) / float64(n-1)
			}
			p.loads[l] = load
			if load > 1 {
				p.over[l]++
			}
			in.Samples[p.c.Load.Links[l].Name] = Sample{Load: load, At: at(p.now)}
		}
		p.s, p.d = p.buf.Next(p.c, p.s, in)
		for l := range n {
			want := 0.0
			if r := p.d.Climbers[l].Rung; r > 0 {
				want = p.truth[r-1]
			}
			p.shed[l] += (want - p.shed[l]) * (1 - math.Exp(-3/p.dead.Seconds()))
			if r := p.d.Climbers[l].Rung; r != p.rungs[l] {
				p.log = append(p.log, fmt.Sprintf("%v %s %d->%d load %.2f", p.now, p.d.Climbers[l].Name, p.rungs[l], r, p.loads[l]))
				p.rungs[l] = r
				p.moves++
			}
		}
	}
}

func TestFlash(t *testing.T) {
	for _, ramp := range []time.Duration{time.Second, 30 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute} {
		for _, dead := range []time.Duration{10 * time.Second, 60 * time.Second, 180 * time.Second} {
			p := &site{c: loadNode("a"), truth: []float64{0.2, 0.5, 0.8}, dead: dead, demand: func(t time.Duration, l int) float64 {
				up := min(1, max(0, float64(t-10*time.Minute)/float64(ramp)))
				down := min(1, max(0, float64(t-70*time.Minute)/float64(ramp)))
				return 0.6 + 0.6*up - 0.6*down + 0.01*math.Sin(t.Seconds()*1.3) + 0.01*math.Sin(t.Seconds()/7)
			}}
			p.run(4 * time.Hour)
			t.Logf("ramp %v dead %v: over %v, %v", ramp, dead, p.over, p.log)
		}
	}
}
