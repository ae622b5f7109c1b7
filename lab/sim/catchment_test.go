package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// hands drives a routed world by hand.
type hands struct {
	*routed
	step int
}

func byHand(t testing.TB, text string) *hands {
	t.Helper()
	return &hands{routed: newRouted(parse(t, "by hand", text), 1)}
}

// pass lets time pass.
func (h *hands) pass(d time.Duration) {
	for range int(d / h.sc.Step) {
		h.begin(time.Duration(h.step) * h.sc.Step)
		h.advance(h.step)
		h.step++
	}
}

// at is the share of the demand on a link.
func (h *hands) at(link int) float64 { return h.links[link].load / h.demand }

func about(t *testing.T, what string, got, want, off float64) {
	t.Helper()
	if math.Abs(got-want) > off {
		t.Errorf("%s is %.3f, want %.3f", what, got, want)
	}
}

// plainPaths has clients whose paths differ by the sites alone.
const plainPaths = `name: paths
duration: 1h
prefixes:
  - {prefix: 198.51.100.0/24, weight: 3}
  - {prefix: 203.0.113.0/24}
sites:
  - name: east
    edges: 2
    links: [{name: up, capacity: 100Gbps}]
    neighbors:
      - {name: carrier, asn: 65001, link: up, ladder: [{steer: 0.3}, {prepend: 1}, {prepend: 2}, {gshut: true}, {prepend: 2, prefixes: [203.0.113.0/24]}, {withdraw: true}]}
  - name: west
    links: [{name: up, capacity: 100Gbps}]
    neighbors: [{name: carrier, asn: 65002, link: up}]
groups:
  - {name: most, count: 1000, demand: 80Gbps, noise: 0, via: [{site: east, neighbor: carrier, path: 2}, {site: west, neighbor: carrier, path: 3}]}
  - {name: loyal, demand: 20Gbps, noise: 0, via: [{site: east, neighbor: carrier, path: 2, preference: 200}, {site: west, neighbor: carrier, path: 3}]}
`

func TestClientsGoWhereTheAnnouncementsLeadThem(t *testing.T) {
	for _, tc := range []struct {
		what string
		rung int
		east float64
	}{
		{"as configured", 0, 1},
		{"a steering community moves its share, the loyal too", 1, 0.8 * 0.7},
		{"one prepend makes a tie, which splits", 2, 0.2 + 0.4},
		{"two prepends move all but the loyal", 3, 0.2},
		{"GSHUT moves all who can go elsewhere", 4, 0},
		{"a rung for one prefix moves that one, the other stands on the rung below", 5, 0.2 * 0.25},
		{"withdrawal moves all", 6, 0},
	} {
		h := byHand(t, plainPaths)
		h.pass(time.Minute)
		for edge := range 2 {
			h.set(0, edge, 0, tc.rung)
		}
		h.pass(5 * time.Minute)
		off := 0.001
		if tc.rung == 1 {
			off = 0.03 // the loyal are one group, which this seed has among the steered
		}
		about(t, tc.what+": the share in the east", h.at(0), tc.east, off)
		about(t, tc.what+": all", h.at(0)+h.at(1), 1, 1e-9)
		about(t, tc.what+": away", h.away/h.demand, 1-h.at(0), 1e-6)
	}
}

func TestNothingLeavesBeforeTheLastSiblingMoves(t *testing.T) {
	h := byHand(t, plainPaths)
	h.pass(time.Minute)
	h.set(0, 0, 0, 3)
	h.pass(5 * time.Minute)
	about(t, "with one of two edges prepended the share in the east", h.at(0), 1, 1e-9)
	h.set(0, 1, 0, 3)
	h.pass(5 * time.Minute)
	about(t, "with both the share in the east", h.at(0), 0.2, 1e-9)
}

func TestClientsFollowWithinTheDeadTime(t *testing.T) {
	h := byHand(t, plainPaths)
	h.pass(time.Minute)
	h.set(0, 0, 0, 6)
	h.set(0, 1, 0, 6)
	h.pass(9 * time.Second)
	about(t, "after 9 s the share in the east", h.at(0), 1, 1e-9)
	h.pass(86 * time.Second)
	if half := h.at(0); half < 0.3 || half > 0.7 {
		t.Errorf("in the middle of the dead time %.2f are in the east", half)
	}
	h.pass(86 * time.Second)
	about(t, "after 181 s the share in the east", h.at(0), 0, 1e-9)
	about(t, "broken sessions", h.broken, h.demand/h.sc.Sessions.Bitrate, 1)
}

func TestTheNewestWordCountsWhicheverComesFirst(t *testing.T) {
	h := byHand(t, plainPaths)
	h.pass(time.Minute)
	for i := range 20 { // each before the last one has been heard
		for edge := range 2 {
			h.set(0, edge, 0, 6*(i%2))
		}
		h.pass(3 * time.Second)
	}
	h.pass(5 * time.Minute)
	about(t, "after the last word, withdraw, the share in the east", h.at(0), 0, 1e-9)
}

func TestADeadSiteLosesTrafficUntilItsClientsLeave(t *testing.T) {
	h := byHand(t, plainPaths)
	h.pass(time.Minute)
	h.fall(0, true)
	h.pass(5 * time.Second)
	about(t, "lost at once", h.lost/h.demand, 1, 1e-9)
	h.pass(3 * time.Minute)
	about(t, "lost later", h.lost/h.demand, 0, 1e-9)
	about(t, "the share in the west", h.at(1), 1, 1e-9)
	h.fall(0, false)
	h.pass(4 * time.Minute)
	about(t, "back in the east", h.at(0), 1, 1e-9)
}

func TestNoTrafficAppearsOrVanishes(t *testing.T) {
	sc := load(t, "flash-crowd")
	sc.BGP.Damping = []Damping{{0.2, Cisco}, {0.2, Juniper}}
	rapid.Check(t, func(t *rapid.T) {
		w := newRouted(sc, rapid.Uint64().Draw(t, "seed"))
		h := &hands{routed: w}
		for range rapid.IntRange(1, 30).Draw(t, "moves") {
			site := rapid.IntRange(0, 11).Draw(t, "site")
			if rapid.IntRange(0, 9).Draw(t, "what") == 0 {
				h.fall(site, rapid.Bool().Draw(t, "down"))
			} else {
				h.set(site, 0, rapid.IntRange(0, 1).Draw(t, "neighbor"), rapid.IntRange(0, 6).Draw(t, "rung"))
			}
			h.pass(time.Duration(rapid.IntRange(1, 100).Draw(t, "seconds")) * time.Second)
			sum := h.lost
			for _, l := range h.links {
				sum += l.load
			}
			if math.Abs(sum-h.demand) > 1e-6*h.demand || h.away < 0 || h.away > h.demand*(1+1e-9) {
				t.Fatalf("of %g are %g on links or lost, %g away", h.demand, sum, h.away)
			}
		}
	})
}

func TestSteeringAtAllNeighboursEmptiesTheSiteByItsShare(t *testing.T) {
	text := `name: two
duration: 1h
sites:
  - name: east
    links: [{name: a, capacity: 100Gbps}, {name: b, capacity: 100Gbps}]
    neighbors:
      - {name: a, asn: 65001, link: a, ladder: [{steer: 0.3}]}
      - {name: b, asn: 65003, link: b, ladder: [{steer: 0.3}]}
  - name: west
    links: [{name: a, capacity: 100Gbps}]
    neighbors: [{name: a, asn: 65002, link: a}]
groups:
  - {name: all, count: 1000, demand: 80Gbps, noise: 0, near: [east, west]}
`
	h := byHand(t, text)
	h.pass(time.Minute)
	site := h.at(0) + h.at(1)
	h.set(0, 0, 0, 1)
	h.pass(4 * time.Minute)
	about(t, "with one neighbour steered, what left the site", site-h.at(0)-h.at(1), 0, 0.08)
	h.set(0, 0, 1, 1)
	h.pass(4 * time.Minute)
	about(t, "with both, what is left", h.at(0)+h.at(1), 0.7*site, 0.05)
}

func TestADampedPrefixIsNotReachedThroughThatAS(t *testing.T) {
	text := strings.Replace(plainPaths, "sites:", "bgp: {damping: [{share: 1, maker: cisco}]}\nsites:", 1)
	h := byHand(t, text)
	h.pass(time.Minute)
	for range 3 { // withdrawn and announced thrice: 2000 points each, doubled
		for _, rung := range []int{6, 0} {
			h.set(0, 0, 0, rung)
			h.set(0, 1, 0, rung)
			h.pass(4 * time.Minute)
		}
	}
	about(t, "although it is announced, the share in the east", h.at(0), 0, 1e-9)
	if len(h.damped) != 2 {
		t.Errorf("damped: %v", h.damped)
	}
	h.pass(61 * time.Minute)
	about(t, "an hour later, the share in the east", h.at(0), 1, 1e-9)
}

func TestBelievedShedsAreWrongByTheError(t *testing.T) {
	for _, e := range []float64{0, 0.3} {
		sc := load(t, "lying-prediction")
		sc.Load.Error = e
		w := newRouted(sc, 1)
		truth, told := w.sheds(), w.believed()
		high, low := 0, 0
		for r := range told {
			for k := range told[r] {
				off := told[r][k]/max(truth[r][k], 1e-9) - 1
				if math.Abs(math.Abs(off)-e) > 1e-9 && told[r][k] != 1 {
					t.Errorf("error %g: told %g of %g", e, told[r][k], truth[r][k])
				}
				if off > 0 {
					high++
				} else if off < 0 {
					low++
				}
			}
		}
		if e > 0 && (high == 0 || low == 0) {
			t.Errorf("%d are too high, %d too low", high, low)
		}
	}
}

func TestDamperKeepsTheFiguresOfRFC2439(t *testing.T) {
	type event struct {
		at   time.Duration
		best int64
	}
	m := time.Minute
	for _, tc := range []struct {
		what       string
		maker      Maker
		events     []event
		penalty    float64 // after the last event
		suppressed bool
	}{
		{"a withdrawal", Cisco, []event{{m, none}}, 1000, false},
		{"its return costs nothing at Cisco", Cisco, []event{{m, none}, {m, 1}}, 1000, false},
		{"and as much again at Juniper", Juniper, []event{{m, none}, {m, 1}}, 2000, false},
		{"another path", Cisco, []event{{m, 2}}, 500, false},
		{"half of it is left after a half-life", Cisco, []event{{m, none}, {16 * m, 1}}, 500, false},
		{"the threshold itself does not suppress", Cisco, []event{{m, none}, {m, 1}, {m, none}}, 2000, false},
		{"more does", Cisco, []event{{m, none}, {m, 1}, {m, none}, {m, 1}, {m, 2}}, 2500, true},
		{"Juniper waits for 3000", Juniper, []event{{m, none}, {m, 1}, {m, 2}, {m, 3}, {m, 2}}, 3500, true},
		{"there is a ceiling", Cisco, []event{{m, 2}, {m, 3}, {m, none}, {m, 1}, {m, none}, {m, 1}, {m, none}, {m, 1},
			{m, none}, {m, 1}, {m, none}, {m, 1}, {m, none}, {m, 1}, {m, none}, {m, 1}, {m, none}, {m, 1}, {m, none}, {m, 1},
			{m, none}, {m, 1}, {m, none}, {m, 1}, {m, none}, {m, 1}, {m, none}}, 12000, true},
	} {
		d := damper{best: 1}
		f := makerFigures[tc.maker]
		for _, e := range tc.events {
			f.hear(&d, e.at, e.best, 1)
		}
		if math.Abs(d.penalty-tc.penalty) > 1 || d.suppressed != tc.suppressed {
			t.Errorf("%s: penalty %.0f, suppressed %v, want %.0f, %v", tc.what, d.penalty, d.suppressed, tc.penalty, tc.suppressed)
		}
	}
	d, f := damper{best: 1, penalty: 1500, suppressed: true}, makerFigures[Cisco]
	if f.reused(&d, 14*time.Minute) || !f.reused(&d, 16*time.Minute) {
		t.Error("1500 points are 750 after 15 minutes, not before and not later")
	}
	d.penalty = 12000
	if f.reused(&d, 59*time.Minute) || !f.reused(&d, time.Hour) {
		t.Error("nothing is suppressed for over an hour")
	}
}

func TestEachSeedIsAWorldOfItsOwn(t *testing.T) {
	sc := load(t, "flash-crowd")
	a, b := newRouted(sc, 1), newRouted(sc, 2)
	if fmt.Sprint(a.groups[0].cands) == fmt.Sprint(b.groups[0].cands) && fmt.Sprint(a.groups[1].cands) == fmt.Sprint(b.groups[1].cands) {
		t.Error("two seeds drew the same paths")
	}
}
