package web

import (
	"fmt"
	"testing"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// crowdOf is a fleet of n nodes in sites of ten, each with two links and two tags; one of
// fifty is not as usual.
func crowdOf(n int) *centralv1.FleetStatus {
	f := &centralv1.FleetStatus{Summary: fmt.Sprintf("video: %d nodes announce.", n),
		Services: []*centralv1.FleetService{{Name: "video", Announcing: int32(n), Nodes: int32(n), MinAnnouncing: 2, Capacity: 20e9 * float64(n), Load: 9e9 * float64(n)}}}
	for i := range n {
		node := aNode(fmt.Sprintf("n%05d", i), fmt.Sprintf("site%04d", i/10), "announced", "normal")
		if i%50 == 0 {
			node.State, node.Reason = "steered", "load"
		}
		node.Tags = []*centralv1.Tag{{Value: fmt.Sprintf("57629:%d", i), Meaning: "Moscow, hall 2"}, {Value: fmt.Sprintf("57629:1:%d", i), Meaning: "rack 7"}}
		node.Links = []*centralv1.LinkReport{{Name: "transit-a", Load: 4e9, Capacity: 10e9, Utilization: 0.4, Target: 0.82, Known: true},
			{Name: "transit-b", Load: 5e9, Capacity: 10e9, Utilization: 0.5, Target: 0.82, Known: true}}
		f.Nodes = append(f.Nodes, node)
	}
	return f
}

// BenchmarkFleetPage is what one version of the fleet's page costs, for all who look at it.
func BenchmarkFleetPage(b *testing.B) {
	s, err := New(Config{Source: newSource()})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := crowdOf(n)
			var text []byte
			for b.Loop() {
				if text, err = s.draw("fleet", "live", fleetView(f, time.Now())); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(text)), "bytes/page")
		})
	}
}
