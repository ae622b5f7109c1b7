package labcmd

import (
	"cmp"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/router"
)

// glass is the JSON of `lab lg`, a contract with scripts.
type glass struct {
	Paths    []seen            `json:"paths"`
	Meanings map[string]string `json:"meanings"` // of the communities in paths that the registry knows
	Failed   []string          `json:"failed"`   // the routers that did not answer
}

// seen is one path at one router.
type seen struct {
	Node        string       `json:"node"`
	Kind        string       `json:"kind"`
	Prefix      netip.Prefix `json:"prefix"`
	ASPath      []uint32     `json:"as_path"`
	Origin      string       `json:"origin"`
	Communities []string     `json:"communities"` // standard, large, then extended
	MED         *uint32      `json:"med"`
	LocalPref   *uint32      `json:"local_pref"`
	OTC         *uint32      `json:"otc"`
	NextHops    []netip.Addr `json:"next_hops"`
	From        netip.Addr   `json:"from"`     // empty: the node announces it
	To          netip.Addr   `json:"to"`       // empty: the node learned it
	Neighbor    string       `json:"neighbor"` // the node that has From or To by the topology; empty: none, or not one alone
	Best        bool         `json:"best"`
}

// some is a list that is never null.
func some[T any](lists ...[]T) []T { return append([]T{}, slices.Concat(lists...)...) }

// view puts paths into one order: by node as in the topology, prefix, the best first, then by neighbour.
func view(list []clab.Node, found [][]router.Path, meanings func(string) string, owners map[netip.Addr]string) glass {
	g := glass{Paths: []seen{}, Meanings: map[string]string{}}
	for i, n := range list {
		var at []seen
		for _, p := range found[i] {
			at = append(at, seen{
				Node: n.Name, Kind: n.Role(), Prefix: p.Prefix, ASPath: some(p.ASPath), Origin: p.Origin,
				Communities: some(p.Communities, p.LargeCommunities, p.ExtCommunities),
				MED:         p.MED, LocalPref: p.LocalPref, OTC: p.OTC, NextHops: some(p.NextHop), From: p.From, To: p.To, Best: p.Best,
				Neighbor: owners[cmp.Or(p.From, p.To)],
			})
		}
		slices.SortStableFunc(at, func(a, b seen) int {
			return cmp.Or(a.Prefix.Compare(b.Prefix), cmp.Compare(rank(a), rank(b)), a.From.Compare(b.From), a.To.Compare(b.To))
		})
		g.Paths = append(g.Paths, at...)
	}
	for _, p := range g.Paths {
		for _, c := range p.Communities {
			if text := meanings(c); text != "" {
				g.Meanings[c] = text
			}
		}
	}
	return g
}

// ownersOf says which node has an address by the topology; of an address that several have nothing is said.
func ownersOf(t *clab.Topology) map[netip.Addr]string {
	owners := map[netip.Addr]string{}
	for _, n := range t.Nodes {
		for _, a := range planned(n) {
			if other, taken := owners[a]; taken && other != n.Name {
				owners[a] = ""
				continue
			}
			owners[a] = n.Name
		}
	}
	return owners
}

func rank(s seen) int {
	if s.Best {
		return 0
	}
	return 1
}

// meaningsOf reads what communities mean from a file; none knows nothing.
func meaningsOf(file string) (func(string) string, error) {
	if file == "" {
		return func(string) string { return "" }, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, exit.Inputf("--registry: %w", err)
	}
	defer f.Close() // of a file that was read only
	read, err := importer.Read(f, file, importer.Auto, importer.Options{})
	if err != nil {
		return nil, exit.Inputf("--registry: %w", err)
	}
	known := registry.New(read.Entries...)
	return func(text string) string {
		v, err := community.Parse(text)
		if err != nil {
			return ""
		}
		if all := known.Explain(v); len(all) > 0 {
			return strings.Join(strings.Fields(all[0].Meaning), " ")
		}
		return ""
	}, nil
}

func (g *lg) print(v glass) error {
	if g.format == "json" {
		return g.json(v)
	}
	grid := output.Grid{Titles: []string{"NODE", "PREFIX", "AS PATH", "COMMUNITIES", "MED", "PREF", "NEXT HOP", "NEIGHBOR", "BEST"}}
	for _, p := range v.Paths {
		neighbour := "from " + cmp.Or(p.Neighbor, p.From.String())
		switch {
		case p.To.IsValid():
			neighbour = "to " + cmp.Or(p.Neighbor, p.To.String())
		case !p.From.IsValid():
			neighbour = ""
		}
		grid.Row(texts(p.Node, p.Prefix.String(), spaced(p.ASPath), strings.Join(p.Communities, " "), value(p.MED), value(p.LocalPref),
			spaced(p.NextHops), neighbour, map[bool]string{true: "best"}[p.Best])...)
	}
	if len(grid.Rows) == 0 {
		return g.say("no router that answers has such a path")
	}
	if err := grid.Write(g.env.Stdout); err != nil || len(v.Meanings) == 0 {
		return err
	}
	meanings := output.Grid{Titles: []string{"COMMUNITY", "MEANING"}}
	told := map[string]bool{}
	for _, p := range v.Paths {
		for _, c := range p.Communities {
			if text := v.Meanings[c]; text != "" && !told[c] {
				meanings.Row(texts(c, text)...)
			}
			told[c] = true
		}
	}
	if _, err := fmt.Fprintln(g.env.Stdout); err != nil {
		return err
	}
	return meanings.Write(g.env.Stdout)
}

// texts are cells that a terminal may be shown: routers and files wrote them.
func texts(words ...string) []output.Cell {
	var cells []output.Cell
	for _, w := range words {
		cells = append(cells, output.Cell{Text: output.OneLine(w)})
	}
	return cells
}

func spaced[T any](list []T) string {
	var words []string
	for _, v := range list {
		words = append(words, fmt.Sprint(v))
	}
	return strings.Join(words, " ")
}

func value(n *uint32) string {
	if n == nil {
		return ""
	}
	return strconv.FormatUint(uint64(*n), 10)
}
