package edge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/policy"
)

func TestTheCentreIsToldInFullOfAChangeAndNotOfEachProbe(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		w.pass(20 * time.Second)
		before := len(c.inFull())
		if before == 0 {
			t.Fatal("nothing was said in full")
		}
		for range 60 {
			w.report("web", "")
			w.pass(time.Second)
		}
		if n := len(c.inFull()) - before; n != 0 {
			t.Errorf("%d more although nothing but probes happened", n)
		}
		w.report("web", "refused")
		w.pass(detailSoon + time.Second)
		all := c.inFull()
		last := all[len(all)-1]
		if len(all) == before || last.GetStatus().GetServices()[0].GetState() != "withdrawn" || len(last.GetDecisions()) == 0 {
			t.Errorf("%d more after a failure, the last says %v", len(all)-before, last.GetStatus().GetServices()[0])
		}
	})
}

func TestANewStreamBeginsWithAllInFull(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		w.pass(20 * time.Second)
		before := len(c.inFull())
		c.kill()
		w.pass(time.Second)
		c.revive()
		w.pass(20 * time.Second)
		if len(c.inFull()) == before {
			t.Error("the centre that is back was told nothing in full")
		}
	})
}

// TestADetailIsBounded makes it of more than anybody has.
func TestADetailIsBounded(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, tc := range []struct {
		name                         string
		services, neighbors, routes  int
		decisions, inputs            int
		wantRoutes, wantLeast, wants int
	}{
		{"as usual", 2, 3, 4, 20, 20, 24, 6, 0},
		{"a full table", 1, 200, 1000, 0, 0, detailRoutes, 200, 1},
		{"long decisions", 1, 2, 1, 20, 400, 2, 2, 1},
		{"many of everything", 20, 200, 2, 20, 40, 0, 0, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &centralv1.Detail{Status: &edgev1.StatusResponse{}}
			for range tc.services {
				s := &edgev1.Service{Name: "video"}
				for range tc.neighbors {
					n := &edgev1.Neighbor{Name: "transit-a", Detail: long}
					for range tc.routes {
						n.Routes = append(n.Routes, &edgev1.Route{Prefix: "198.51.100.0/24"})
					}
					s.Neighbors = append(s.Neighbors, n)
				}
				d.Status.Services = append(d.Status.Services, s)
			}
			for range tc.decisions {
				d.Decisions = append(d.Decisions, &edgev1.Decision{Inputs: slices.Repeat([]string{long}, tc.inputs)})
			}
			bound(d)
			routes, neighbors := 0, 0
			eachNeighbor(d, func(n *edgev1.Neighbor) { routes += len(n.Routes); neighbors++ })
			if proto.Size(d) > detailBytes {
				t.Errorf("%d bytes", proto.Size(d))
			}
			if routes != tc.wantRoutes || neighbors < tc.wantLeast || len(d.LeftOut) < tc.wants {
				t.Errorf("%d routes, %d neighbours, left out: %q", routes, neighbors, d.LeftOut)
			}
		})
	}
}

// TestASeriesIsThatOfAPlainSum compares with all figures kept as they came.
func TestASeriesIsThatOfAPlainSum(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		s, now := &linkSeries{}, start
		type figure struct {
			at   int64
			load float64
		}
		var all []figure
		for range rapid.IntRange(1, 300).Draw(t, "samples") {
			now = now.Add(time.Duration(rapid.IntRange(1, 1200).Draw(t, "seconds")) * time.Second)
			load := float64(rapid.IntRange(0, 1e6).Draw(t, "load"))
			s.add(now, policy.Sample{Load: load, At: now})
			s.add(now, policy.Sample{Load: 7e9, At: now}) // the same moment: not news
			all = append(all, figure{now.Unix() / 300, load})
		}
		last := all[len(all)-1].at
		sum, most, n := map[int64]float64{}, map[int64]float64{}, map[int64]int{}
		for _, f := range all {
			if f.at > last-seriesSteps {
				sum[f.at], most[f.at], n[f.at] = sum[f.at]+f.load, max(most[f.at], f.load), n[f.at]+1
			}
		}
		p := s.proto("a")
		first := p.GetStart().AsTime().Unix() / 300
		if len(p.Mean) > seriesSteps || len(p.Mean) != len(p.Most) {
			t.Fatalf("%d and %d steps", len(p.Mean), len(p.Most))
		}
		for i := range p.Mean {
			at := first + int64(i)
			want, wantMost := float32(-1), float32(-1)
			if n[at] > 0 {
				want, wantMost = float32(sum[at]/float64(n[at])), float32(most[at])
			}
			if p.Mean[i] != want || p.Most[i] != wantMost {
				t.Fatalf("step %d: %v and %v, not %v and %v", i, p.Mean[i], p.Most[i], want, wantMost)
			}
			delete(n, at)
		}
		if len(n) != 0 {
			t.Fatalf("steps are missing: %v", n)
		}
	})
}

func TestAClockThatWasSetBackLeavesNoFutureOnTheCurve(t *testing.T) {
	s, noon := &linkSeries{}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s.add(noon, policy.Sample{Load: 1, At: noon})
	s.add(noon.Add(-time.Hour), policy.Sample{Load: 2, At: noon.Add(time.Second)})
	if got := fmt.Sprint(s.proto("a").Mean); got != "[2]" {
		t.Errorf("the series is %s", got)
	}
}
