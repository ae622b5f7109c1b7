package central

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// crowd is a centre with so many edges that have reported.
func crowd(b *testing.B, n int) (*Fleet, []*session, *centralv1.Report) {
	b.Helper()
	f := NewFleet(store.NewMemory(), Settings{ASN: 57629, Services: map[string]fleet.Limits{video: {MinAnnouncing: 2}}})
	r := &centralv1.Report{Links: []*centralv1.LinkReport{{Name: "a", Load: 4e9, Capacity: 10e9, Known: true}},
		Services:  []*centralv1.ServiceReport{{Name: video, State: stateAnnounced, Hard: "up"}},
		Neighbors: []*centralv1.NeighborReport{{Name: "transit-a", Session: "established"}}}
	var sessions []*session
	for i := range n {
		m := hello(fmt.Sprintf("n%05d", i)).GetHello()
		m.Neighbors[0].Asn = uint32(65000 + i%50)
		s, err := f.open(context.Background(), m)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.report(context.Background(), s, r); err != nil {
			b.Fatal(err)
		}
		s.opened = time.Now().Add(-time.Minute)
		sessions = append(sessions, s)
	}
	f.renew(time.Now())
	return f, sessions, r
}

// sizes show growth.
var sizes = []int{100, 1000, 10000}

// BenchmarkReport is what a report costs that says nothing new, with the intent
// that answers it if any.
func BenchmarkReport(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, sessions, r := crowd(b, n)
			for i := 0; b.Loop(); i++ {
				s := sessions[i%n]
				if err := f.report(b.Context(), s, r); err != nil {
					b.Fatal(err)
				}
				f.tell(s)
			}
		})
	}
}

// BenchmarkWrite is what a write that concerns all edges costs for each of them, but
// for the network: the intent, and the report that confirms it.
func BenchmarkWrite(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, sessions, r := crowd(b, n)
			for i := 0; b.Loop(); i++ {
				if i%n == 0 {
					f.w.fleet["freeze"] = entry[freezeDoc]{doc: freezeDoc{Reason: strings.Repeat("x", i/n%2)}}
				}
				s := sessions[i%n]
				in, _ := f.tell(s)
				if in == nil {
					b.Fatal("nothing is told")
				}
				if _, err := proto.Marshal(in); err != nil {
					b.Fatal(err)
				}
				ack := proto.CloneOf(r)
				ack.Generation = in.Generation
				if err := f.report(b.Context(), s, ack); err != nil {
					b.Fatal(err)
				}
				f.tell(s)
			}
		})
	}
}

// BenchmarkView is what is worked out once for all edges, ten times less often than
// it takes.
func BenchmarkView(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, _, _ := crowd(b, n)
			for b.Loop() {
				f.renew(time.Now())
			}
		})
	}
}

// BenchmarkSteer is what the leading centre decides with each view.
func BenchmarkSteer(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f, _, _ := crowd(b, n)
			v := f.view.Load()
			for b.Loop() {
				if _, err := f.w.steer(v.fleet, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
