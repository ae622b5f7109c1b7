package graph

import "fmt"

func node(name, kind, label string) Node { return Node{Name: name, Kind: kind, Label: label} }

func link(a, b string) Link { return Link{A: End{a, "eth1"}, B: End{b, "eth2"}} }

// five is the smallest lab: an edge with two transits, and a client behind each.
func five() Graph {
	return Graph{
		Title: "two-upstreams",
		Nodes: []Node{
			node("transit1", "frr", "AS 65001"), node("transit2", "bird", "AS 65002"), node("edge1", "catchment-edge", "AS 57629"),
			node("client1", "client", ""), node("client2", "client", ""),
		},
		Links: []Link{
			link("edge1", "transit1"), link("edge1", "transit2"), link("transit1", "transit2"), link("client1", "transit1"), link("client2", "transit2"),
		},
		Sessions: []Session{
			{A: "edge1", B: "transit1", Up: 1, Of: 1}, {A: "transit2", B: "edge1", Up: 0, Of: 1, Detail: "edge1 says Idle: hold timer expired"},
			{A: "transit1", B: "transit2", Up: 1, Of: 2, Detail: "fd77:3::1 is Active"},
		},
	}
}

// fifteen is an exchange with a route server, and a carrier whose cities have sessions with its reflector over other nodes.
func fifteen() Graph {
	g := Graph{Title: "exchange and carrier", Nodes: []Node{node("centre", "catchment-central", ""), node("edge1", "catchment-edge", "AS 57629"),
		node("edge2", "catchment-edge", "AS 57629"), node("ix", "switch", ""), node("rs", "bird", "route server"), node("rr", "bird", "AS 64512")}}
	join := func(a, b string, up int) {
		g.Links = append(g.Links, link(a, b))
		g.Sessions = append(g.Sessions, Session{A: a, B: b, Up: up, Of: 1})
	}
	g.Links = append(g.Links, link("edge1", "ix"), link("ix", "rs"), link("centre", "edge1"), link("centre", "edge2"))
	g.Sessions = append(g.Sessions, Session{A: "edge1", B: "rs", Up: 2, Of: 2})
	for i := range 3 {
		name := fmt.Sprintf("member%d", i+1)
		g.Nodes = append(g.Nodes, node(name, "openbgpd", fmt.Sprintf("AS %d", 65101+i)))
		g.Links = append(g.Links, link(name, "ix"))
		g.Sessions = append(g.Sessions, Session{A: name, B: "rs", Up: min(i, 1), Of: 1})
	}
	for i, city := range []string{"moscow", "kazan", "samara", "omsk"} {
		g.Nodes = append(g.Nodes, node(city, "frr", "AS 64512"))
		g.Sessions = append(g.Sessions, Session{A: city, B: "rr", Up: 1, Of: 1})
		if i > 0 {
			g.Links = append(g.Links, link(city, "moscow"))
		}
	}
	g.Links = append(g.Links, link("rr", "kazan"))
	join("edge2", "moscow", 1)
	join("edge1", "member1", 1)
	for i, at := range []string{"omsk", "member3"} {
		name := fmt.Sprintf("client%d", i+1)
		g.Nodes = append(g.Nodes, node(name, "client", ""))
		g.Links = append(g.Links, link(name, at))
	}
	return g
}

// forty is a fleet: six edges, three transits, an exchange with its route server, fourteen ASes of clients with a client
// each, and the centre.
func forty() Graph {
	g := Graph{Title: "fleet", Nodes: []Node{node("central", "catchment-central", ""), node("ix", "switch", "")}}
	join := func(a, b string) {
		g.Links = append(g.Links, link(a, b))
		g.Sessions = append(g.Sessions, Session{A: a, B: b, Up: len(g.Links)%9/8*-1 + 1, Of: 1})
	}
	for i := range 3 {
		g.Nodes = append(g.Nodes, node(fmt.Sprintf("transit%d", i+1), []string{"frr", "bird", "openbgpd"}[i], fmt.Sprintf("AS %d", 65001+i)))
	}
	g.Nodes = append(g.Nodes, node("rs", "bird", "AS 65100"))
	g.Links = append(g.Links, link("rs", "ix"))
	join("transit1", "transit2")
	join("transit2", "transit3")
	join("transit1", "transit3")
	for i := range 6 {
		name := fmt.Sprintf("edge%d", i+1)
		g.Nodes = append(g.Nodes, node(name, "catchment-edge", "AS 57629"))
		join(name, fmt.Sprintf("transit%d", i%3+1))
		join(name, fmt.Sprintf("transit%d", (i+1)%3+1))
		g.Links = append(g.Links, link(name, "central"))
	}
	g.Links = append(g.Links, link("edge1", "ix"), link("edge4", "ix"))
	g.Sessions = append(g.Sessions, Session{A: "edge1", B: "rs", Up: 1, Of: 1}, Session{A: "edge4", B: "rs", Up: 0, Of: 1})
	for i := range 14 {
		as, client := fmt.Sprintf("as%d", i+1), fmt.Sprintf("client%d", i+1)
		g.Nodes = append(g.Nodes, node(as, []string{"frr", "bird"}[i%2], fmt.Sprintf("AS %d", 65201+i)), node(client, "client", ""))
		join(as, fmt.Sprintf("transit%d", i%3+1))
		if i%4 == 0 {
			g.Links = append(g.Links, link(as, "ix"))
		}
		g.Links = append(g.Links, link(client, as))
	}
	return g
}
