package netlab

import "net/netip"

// Upstreams is an edge node with two upstream routers' nodes: the topology of most tests.
//
//	        10.77.1.1/30   10.77.1.2/30
//	      +--- fd77:1::1 --- fd77:1::2 --- frr
//	edge -+
//	      +--- fd77:2::1 --- fd77:2::2 --- bird
//	        10.77.2.1/30   10.77.2.2/30
//
// The default routes of edge, for both families, lead to frr. The routers themselves are not started.
type Upstreams struct {
	Lab             *Lab
	Edge, FRR, BIRD *Node
	ToFRR, ToBIRD   Wire
}

// Wire is one link of the edge node.
type Wire struct {
	Edge4, Peer4, Edge6, Peer6 netip.Addr
	EdgeIf, PeerIf             string
}

// TwoUpstreams builds the topology, after Require(t, Root, wanted...).
func TwoUpstreams(t TB, wanted ...Need) *Upstreams {
	t.Helper()
	lab := New(t, wanted...)
	u := &Upstreams{Lab: lab, Edge: lab.Node("edge"), FRR: lab.Node("frr"), BIRD: lab.Node("bird")}
	u.ToFRR = lab.Wire(u.Edge, u.FRR, "10.77.1.", "fd77:1::")
	u.ToBIRD = lab.Wire(u.Edge, u.BIRD, "10.77.2.", "fd77:2::")
	u.Edge.DefaultRoute(u.ToFRR.Peer4.String())
	u.Edge.DefaultRoute(u.ToFRR.Peer6.String())
	return u
}

// Wire links two nodes with a /30 and a /64, given as their first part ("10.77.1.", "fd77:1::"): a has address 1, b 2.
func (l *Lab) Wire(a, b *Node, net4, net6 string) Wire {
	l.t.Helper()
	w := Wire{
		Edge4: netip.MustParseAddr(net4 + "1"), Peer4: netip.MustParseAddr(net4 + "2"),
		Edge6: netip.MustParseAddr(net6 + "1"), Peer6: netip.MustParseAddr(net6 + "2"),
	}
	w.EdgeIf, w.PeerIf = l.Link(a, b,
		[]string{w.Edge4.String() + "/30", w.Edge6.String() + "/64"},
		[]string{w.Peer4.String() + "/30", w.Peer6.String() + "/64"})
	return w
}
