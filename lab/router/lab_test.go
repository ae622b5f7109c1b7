package router_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/router"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	origin4 = netip.MustParsePrefix("203.0.113.0/24")
	origin6 = netip.MustParsePrefix("2001:db8:200::/48")
)

// star is BIRD in the middle, which announces two prefixes with every attribute to one router of each other make, and
// what Open makes of the nodes.
type star struct {
	kinds   []string
	readers map[string]router.Reader
	wires   map[string]netlab.Wire
}

func open(t *testing.T, kind string, node *netlab.Node) router.Reader {
	t.Helper()
	r, err := router.Open(kind, node.Run)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newStar(t *testing.T) star {
	lab := netlab.New(t, netlab.FRRouting, netlab.BIRDRouting, netlab.OpenBGPDRouting, netlab.ExaBGPRouting)
	middle := lab.Node("middle")
	s := star{kinds: []string{"frr", "openbgpd", "exabgp"}, readers: map[string]router.Reader{}, wires: map[string]netlab.Wire{}}
	config := netlab.BIRDConfig{ASN: 4200000002, RouterID: "10.77.0.1", Networks: []netip.Prefix{origin4, origin6},
		Global: []string{`filter rich { if source != RTS_STATIC then reject;
 bgp_community.add((57629,101)); bgp_community.add((65535,0)); bgp_large_community.add((57629,1,101));
 bgp_ext_community.add((rt,57629,101)); bgp_med = 50; bgp_path.prepend(4200000002); accept; }`}}
	nodes := map[string]*netlab.Node{}
	for i, kind := range s.kinds {
		nodes[kind] = lab.Node(kind)
		wire := lab.Wire(middle, nodes[kind], fmt.Sprintf("10.77.%d.", i+1), fmt.Sprintf("fd77:%d::", i+1))
		s.wires[kind], s.readers[kind] = wire, open(t, kind, nodes[kind])
		config.Neighbors = append(config.Neighbors, netlab.BIRDNeighbor{Address: wire.Peer4, Local: wire.Edge4,
			ASN: 65001 + uint32(i), IPv4: true, IPv6: true, Export: "filter rich", Options: []string{`description "to ` + kind + `";`}})
	}
	// A neighbour that never comes up.
	config.Neighbors = append(config.Neighbors, netlab.BIRDNeighbor{Name: "absent", Address: netip.MustParseAddr("10.77.9.9"), ASN: 64999, Multihop: 2})
	w := s.wires["frr"]
	nodes["frr"].FRR(netlab.FRRConfig{ASN: 65001, RouterID: "10.77.1.2", Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")},
		Neighbors: []netlab.FRRNeighbor{{Address: w.Edge4, ASN: 4200000002, IPv4: true, IPv6: true, Options: []string{"description the middle"}}}}.String())
	w = s.wires["openbgpd"]
	nodes["openbgpd"].OpenBGPD(netlab.OpenBGPDConfig{ASN: 65002, RouterID: "10.77.2.2", Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")},
		Neighbors: []netlab.OpenBGPDNeighbor{{Address: w.Edge4, Local: w.Peer4, ASN: 4200000002, IPv4: true, IPv6: true, Options: []string{`descr "the middle"`}}}}.String())
	w = s.wires["exabgp"]
	nodes["exabgp"].ExaBGP(netlab.ExaBGPConfig{ASN: 65003, RouterID: "10.77.3.2",
		Neighbors: []netlab.ExaBGPNeighbor{{Address: w.Edge4, Local: w.Peer4, ASN: 4200000002, IPv4: true, IPv6: true, Options: []string{`description "the middle";`}}}}.String())
	middle.BIRD(config.String())
	s.readers["bird"] = open(t, "bird", middle)
	return s
}

// await waits until a router has both prefixes, and has chosen its best paths if it does that.
func (s star) await(t *testing.T, kind string) []router.Path {
	t.Helper()
	var table []router.Path
	netlab.Eventually(t, 30*time.Second, "two paths at "+kind, func() (err error) {
		if table, err = s.readers[kind].Table(t.Context()); err == nil && len(table) != 2 {
			err = fmt.Errorf("%+v", table)
		}
		for _, p := range table {
			if err == nil && !p.Best && kind != "exabgp" {
				err = fmt.Errorf("none is the best: %+v", table)
			}
		}
		return err
	})
	slices.SortFunc(table, func(a, b router.Path) int { return a.Prefix.Compare(b.Prefix) })
	return table
}

func TestReadersTellTheSameOfEveryMakeOfRouter(t *testing.T) {
	s := newStar(t)
	for _, kind := range s.kinds {
		w, r := s.wires[kind], s.readers[kind]
		table := s.await(t, kind)
		want := router.Path{
			Prefix: origin4, ASPath: []uint32{4200000002, 4200000002}, Origin: "igp", NextHop: []netip.Addr{w.Edge4},
			Communities: []string{"57629:101", "65535:0"}, LargeCommunities: []string{"57629:1:101"}, ExtCommunities: []string{"rt:57629:101"},
			MED: new(uint32(50)), LocalPref: table[0].LocalPref, From: w.Edge4, Best: kind != "exabgp", // it chooses none
		}
		if !reflect.DeepEqual(table[0], want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", kind, table[0], want)
		}
		if got := table[1]; got.Prefix != origin6 || len(got.NextHop) == 0 || got.NextHop[0] != w.Edge6 {
			t.Errorf("%s: %+v", kind, got)
		}
		for i, prefix := range []netip.Prefix{origin4, origin6} {
			if one, err := r.Routes(t.Context(), prefix); err != nil || !reflect.DeepEqual(one, table[i:i+1]) {
				t.Errorf("%s: the table has %+v, but the prefix alone %+v, %v", kind, table[i], one, err)
			}
		}
		if none, err := r.Routes(t.Context(), netip.MustParsePrefix("203.0.113.0/25")); err != nil || len(none) != 0 {
			t.Errorf("%s: a prefix that nobody has: %+v, %v", kind, none, err)
		}
		list, err := r.Sessions(t.Context())
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %+v, %v", kind, list, err)
		}
		if n := list[0]; n.Address != w.Edge4 || n.ASN != 4200000002 || n.State != router.Established || n.Description != "the middle" || n.Uptime < 0 {
			t.Errorf("%s: %+v", kind, n)
		}
	}

	list, err := s.readers["bird"].Sessions(t.Context())
	if err != nil || len(list) != 4 {
		t.Fatalf("bird: %+v, %v", list, err)
	}
	for i, kind := range s.kinds {
		if n := list[i]; n.Address != s.wires[kind].Peer4 || n.ASN != 65001+uint32(i) || n.State != router.Established || n.Description != "to "+kind || n.Uptime <= 0 {
			t.Errorf("bird: %+v", n)
		}
	}
	if n := list[3]; n.Name != "absent" || n.State == router.Established || n.Uptime != 0 || n.ASN != 64999 {
		t.Errorf("bird: %+v", n)
	}
	netlab.Eventually(t, 30*time.Second, "two paths at BIRD, one of them the best", func() error {
		learned, err := s.readers["bird"].Routes(t.Context(), netip.MustParsePrefix("198.51.100.0/24"))
		slices.SortFunc(learned, func(a, b router.Path) int { return cmp.Compare(a.ASPath[0], b.ASPath[0]) })
		if err == nil && (len(learned) != 2 || learned[0].ASPath[0] != 65001 || learned[1].ASPath[0] != 65002 || learned[0].Best == learned[1].Best) {
			err = fmt.Errorf("%+v", learned)
		}
		return err
	})
	if none, err := s.readers["bird"].Routes(t.Context(), netip.MustParsePrefix("9.9.9.0/24")); err != nil || len(none) != 0 {
		t.Errorf("bird: a prefix that nobody has: %+v, %v", none, err)
	}
}
