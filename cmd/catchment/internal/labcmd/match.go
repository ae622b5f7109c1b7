package labcmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/graph"
	"github.com/catchment-bgp/catchment/lab/router"
)

// told is what one router said.
type told struct {
	node      string
	addresses []netip.Addr
	neighbors []router.Neighbor
}

// parseAddresses reads `ip -j addr show`: those by which others can name the machine.
func parseAddresses(text []byte) ([]netip.Addr, error) {
	var links []struct {
		Addresses []struct {
			Local netip.Addr `json:"local"`
		} `json:"addr_info"`
	}
	if err := json.Unmarshal(text, &links); err != nil {
		return nil, fmt.Errorf("ip -j addr show: %w: %s", err, tail(string(text)))
	}
	var list []netip.Addr
	for _, l := range links {
		for _, a := range l.Addresses {
			if a.Local.IsValid() && !a.Local.IsLoopback() && !a.Local.IsLinkLocalUnicast() {
				list = append(list, a.Local)
			}
		}
	}
	return list, nil
}

// planned are the addresses that a topology's exec: gives a node, so that one which does not run is known, too.
func planned(n clab.Node) []netip.Addr {
	var list []netip.Addr
	for _, words := range n.Exec {
		for i, word := range words {
			if prefix, err := netip.ParsePrefix(word); err == nil && words[0] == "ip" && words[i-1] == "add" && slices.Contains(words, "addr") {
				list = append(list, prefix.Addr())
			}
		}
	}
	return list
}

// side is the view that one node has of another.
type side struct{ node, other string }

// match tells which node a router means by a neighbour.
type match struct {
	owners    map[netip.Addr]string    // "": more than one node has the address
	far       map[clab.Endpoint]string // the node behind an interface
	views     map[side][]router.Neighbor
	asns      map[string]uint32 // of a node, as its neighbours have it
	strangers []string          // a line on each neighbour that is no node
}

func newMatch(t *clab.Topology, all []told) *match {
	m := &match{owners: map[netip.Addr]string{}, far: map[clab.Endpoint]string{}, views: map[side][]router.Neighbor{}, asns: map[string]uint32{}}
	for _, l := range t.Links {
		m.far[l.A], m.far[l.B] = l.B.Node, l.A.Node
	}
	for _, one := range all {
		for _, a := range one.addresses {
			if owner, taken := m.owners[a]; taken && owner != one.node {
				m.owners[a] = "" // an anycast address
			} else {
				m.owners[a] = one.node
			}
		}
	}
	for _, one := range all {
		for _, n := range one.neighbors {
			other := m.node(one.node, n)
			if other == "" || other == one.node {
				m.strangers = append(m.strangers, output.OneLine(one.node+": its neighbour "+called(n)+" is no router of the lab"))
				continue
			}
			key := side{one.node, other}
			m.views[key] = append(m.views[key], n)
			if n.ASN != 0 {
				m.asns[other] = n.ASN
			}
		}
	}
	return m
}

// called is a neighbour's name and its address, as far as it has them.
func called(n router.Neighbor) string {
	switch {
	case n.Name == "":
		return n.Address.String()
	case !n.Address.IsValid():
		return n.Name
	}
	return n.Name + " at " + n.Address.String()
}

// node is whom a router means by a neighbour; a link-local address is known by the interface.
func (m *match) node(from string, n router.Neighbor) string {
	if owner := m.owners[n.Address.WithZone("")]; owner != "" {
		return owner
	}
	if n.Address.IsLinkLocalUnicast() && n.Address.Zone() != "" {
		return m.far[clab.Endpoint{Node: from, Interface: n.Address.Zone()}]
	}
	return m.far[clab.Endpoint{Node: from, Interface: n.Name}]
}

// label is what is written below a node's name beside its kind.
func (m *match) label(node string) string {
	if asn := m.asns[node]; asn != 0 {
		return fmt.Sprintf("AS %d", asn)
	}
	return ""
}

// sessions puts the two views of each pair of nodes together. A session is up when both say so, or the one that was heard.
func (m *match) sessions() []graph.Session {
	var list []graph.Session
	for key := range m.views {
		back := side{key.other, key.node}
		if _, both := m.views[back]; both && key.node > key.other {
			continue // told from the other side
		}
		s := graph.Session{A: key.node, B: key.other}
		var details []string
		s.Up, s.Of, details = m.count(key)
		if up, of, more := m.count(back); of > 0 {
			s.Up, s.Of = min(s.Up, up), max(s.Of, of)
			details = append(details, more...)
		}
		s.Detail = strings.Join(details, "; ")
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b graph.Session) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
	return list
}

// count is how many sessions one node has with another, and what it says of those that are not up.
func (m *match) count(key side) (up, of int, details []string) {
	for _, n := range m.views[key] {
		of++
		if n.State == router.Established {
			up++
			continue
		}
		text := fmt.Sprintf("%s says %s of %s", key.node, n.State, cmp.Or(n.Name, n.Address.String()))
		if n.LastError != "" {
			text += " (" + n.LastError + ")"
		}
		details = append(details, text)
	}
	return up, of, details
}
