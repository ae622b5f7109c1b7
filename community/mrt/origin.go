package mrt

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/catchment-bgp/catchment/community"
)

// Peer is a route to the prefix that a peer of the collector has.
type Peer struct {
	ASN         uint32        `json:"asn"`
	Address     netip.Addr    `json:"address"`
	PathID      uint32        `json:"path_id,omitempty"` // with ADD-PATH
	Path        Path          `json:"as_path"`           // as text: see Path.String
	Communities community.Set `json:"communities"`
	// Node is where the route comes from, by its tag; "" if it has none, or those of
	// several nodes.
	Node string `json:"node"`
}

// Report says which node each peer's route comes from. In JSON an array is never null.
type Report struct {
	Prefix netip.Prefix `json:"prefix"`
	// Peers has one element for each route: several of one peer with ADD-PATH, or where
	// the collector has several.
	Peers  []Peer         `json:"peers"`
	Totals map[string]int `json:"totals"` // routes by node
	// Untagged is how many routes are of no node; with Totals it makes up Peers.
	Untagged int `json:"untagged"`
	// Withdrawn is how many routes were withdrawn at last; they are not in Peers.
	Withdrawn int       `json:"withdrawn"`
	Problems  []Problem `json:"problems"`
}

// MarshalJSON writes prefix, peers, totals, untagged, withdrawn and problems, none of them
// null.
func (r Report) MarshalJSON() ([]byte, error) {
	type plain Report // without this method
	p := plain(r)
	if p.Peers == nil {
		p.Peers = []Peer{}
	}
	if p.Totals == nil {
		p.Totals = map[string]int{}
	}
	if p.Problems == nil {
		p.Problems = []Problem{}
	}
	return json.Marshal(p)
}

// Origin reports where the routes to prefix come from that r has. Tags says which node a
// community stands for, if it is a tag of one; nil knows of none.
//
// A route with tags of several nodes is counted as untagged, with a Problem. What the
// collector itself sent is left out, since it says nothing about the peer's route.
func Origin(r *Reader, prefix netip.Prefix, tags func(community.Value) (node string, ok bool)) Report {
	report := originOf(r.Routes(prefix), tags)
	report.Prefix = prefix.Masked()
	report.Problems = append(r.Problems(), report.Problems...)
	return report
}

// originOf is Origin for routes that were read.
func originOf(routes iter.Seq[Entry], tags func(community.Value) (string, bool)) Report {
	report := Report{Totals: map[string]int{}}
	for e := range routes {
		if e.Local {
			continue
		}
		if e.Withdrawn {
			report.Withdrawn++
			continue
		}
		p := Peer{ASN: e.PeerASN, Address: e.Peer, PathID: e.PathID, Path: e.Path, Communities: e.Communities}
		switch nodes := nodesOf(e.Communities, tags); len(nodes) {
		case 0:
			report.Untagged++
		case 1:
			p.Node = nodes[0]
			report.Totals[p.Node]++
		default:
			report.Untagged++
			report.Problems = append(report.Problems, Problem{Reason: fmt.Sprintf(
				"the route of AS %d at %v has tags of several nodes, %s; it is counted for none", e.PeerASN, e.Peer, strings.Join(nodes, ", "))})
		}
		report.Peers = append(report.Peers, p)
	}
	return report
}

// nodesOf returns the nodes whose tags are in s, sorted.
func nodesOf(s community.Set, tags func(community.Value) (string, bool)) []string {
	var nodes []string
	for _, v := range s {
		if tags == nil {
			break
		}
		if node, ok := tags(v); ok {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
