package sim

import (
	"slices"
	"testing"
	"time"
)

// hotSite has one hot site with two neighbours, and two that can help.
const hotSite = `name: hot
duration: 3h
prefixes: [{prefix: 198.51.100.0/24}]
sites:
  - name: hot
    links: [{name: a, capacity: 100Gbps}, {name: b, capacity: 100Gbps}]
    neighbors:
      - {name: a, asn: 65001, link: a, ladder: &l [{steer: 0.2}, {steer: 0.4}, {prepend: 1}, {prepend: 2, steer: 0.4}, {withdraw: true}]}
      - {name: b, asn: 65002, link: b, ladder: *l}
  - name: left
    links: [{name: a, capacity: 100Gbps}]
    neighbors: [{name: a, asn: 65003, link: a, ladder: *l}]
  - name: right
    links: [{name: a, capacity: 100Gbps}]
    neighbors: [{name: a, asn: 65004, link: a, ladder: *l}]
groups:
  - {name: hot, count: 30, demand: 110Gbps, near: [hot, left, right], loyal: 0.2, shapes: [{crowd: {at: 60m, rise: 5m, factor: 2, hold: 30m, fall: 10m}}]}
  - {name: left, count: 10, demand: 50Gbps, near: [left, hot, right]}
  - {name: right, count: 10, demand: 50Gbps, near: [right, hot, left]}
`

func TestTheOracleIsAsGoodAsTryingAll(t *testing.T) {
	sc := parse(t, "hot", hotSite)
	for seed := uint64(1); seed <= 5; seed++ {
		w := newRouted(sc, seed)
		s := w.still()
		p := w.phase(65*time.Minute, 95*time.Minute)
		s.demands, s.down = p.demands, p.down
		before := make([]int, len(w.routes))
		found := w.choose(s, before)
		s.set(found)
		cost := s.judge(before)
		for n := range 6 * 6 * 6 * 6 { // all there are
			rungs := []int{n % 6, n / 6 % 6, n / 36 % 6, n / 216}
			s.set(rungs)
			if c := s.judge(before); cost.compare(c) > 0 {
				t.Fatalf("seed %d: the oracle found %v, %+v; there is %v, %+v", seed, found, cost, rungs, c)
			}
		}
	}
}

func TestSearchingPartByPartIsNearlyAsGood(t *testing.T) {
	sc := parse(t, "hot", hotSite)
	w := newRouted(sc, 1)
	s := w.still()
	p := w.phase(65*time.Minute, 95*time.Minute)
	s.demands, s.down = p.demands, p.down
	before := make([]int, len(w.routes))
	s.set(w.choose(s, before))
	all := s.judge(before)
	b := search{w: w, s: s, before: before}
	b.start(before)
	b.climb()
	one := b.cost
	b.pairs([]int{0, 1, 2})
	if all.compare(b.cost) > 0 || b.cost.compare(one) > 0 {
		t.Errorf("all at once %+v, two sites at a time %+v, one %+v", all, b.cost, one)
	}
}

func TestTheOracleNeverLosesTrafficToSaveALink(t *testing.T) {
	sc := load(t, "all-hot")
	sc.Duration, sc.Window = time.Hour, Window{0, time.Hour}
	if f := Run(sc, Oracle, 1, nil); f[UnservedShare] > 0 {
		t.Errorf("%g of the demand is lost", f[UnservedShare])
	}
}

func TestTheOracleMovesBeforeTheCrowdAndGoesHomeAfterIt(t *testing.T) {
	w := newRouted(parse(t, "hot", hotSite), 1)
	moves := w.foresee().moves
	if len(moves) < 3 {
		t.Fatalf("it plans %+v", moves)
	}
	if early := moves[1]; early.at != 57*time.Minute || slices.Max(early.rungs) == 0 {
		t.Errorf("its first move is %+v, want one at 57m", early)
	}
	if last := moves[len(moves)-1]; last.at < 95*time.Minute || slices.Max(last.rungs) != 0 {
		t.Errorf("its last move is %+v, want all home after 95m", last)
	}
}

func TestTheStillWorldIsTheMovingOneAtRest(t *testing.T) {
	sc := load(t, "flash-crowd")
	for i := range sc.Groups {
		sc.Groups[i].Noise = 0
	}
	w := newRouted(sc, 1)
	h := &hands{routed: w}
	s := w.still()
	for r := range w.routes {
		s.rungs[r] = r % 4
		w.set(w.routes[r].site, 0, w.routes[r].neighbor, r%4)
	}
	h.pass(10 * time.Minute)
	for i := range w.groups {
		g := &w.groups[i]
		s.demands[i] = w.cities[g.spec].demand * g.share
	}
	s.set(s.rungs)
	for l := range w.links {
		about(t, "the load", s.loads[l]/w.links[l].load, 1, 1e-9)
	}
	about(t, "what is away", s.away/w.away, 1, 1e-9)
}
