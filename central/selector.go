package central

import (
	"maps"
	"slices"
	"strings"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/maintenance"
)

// selector reads a selector: one that is empty, or selects nothing, is an error,
// and so is "all" without the number that the caller expects.
func (w *world) selector(s *centralv1.Selector) (maintenance.Selector, error) {
	out := maintenance.Selector{Nodes: s.GetNodes(), Sites: s.GetSites(), Services: s.GetServices()}
	switch {
	case s.GetAll() && len(s.GetNodes())+len(s.GetSites())+len(s.GetLabels()) > 0:
		return out, badf("all nodes, or some by name: not both")
	case s.GetAll() && int(s.GetExpect()) != len(w.nodes):
		return out, badf("all would be %d nodes, and %d are expected", len(w.nodes), s.GetExpect())
	case s.GetAll():
		out.Nodes = slices.Sorted(maps.Keys(w.nodes))
	case s.GetExpect() != 0:
		return out, badf("the expected number goes with all; what is named needs none")
	}
	if err := w.neighborsInto(&out, s.GetNeighbors()); err != nil {
		return out, err
	}
	targets := w.targets("")
	for _, k := range slices.Sorted(maps.Keys(s.GetLabels())) {
		if err := labelInto(&out, k+"="+s.GetLabels()[k], targets); err != nil {
			return out, err
		}
	}
	if err := out.Check(targets); err != nil {
		return out, badInput{err}
	}
	return out, nil
}

// neighborsInto takes NAME and NODE/NAME; the latter for one node only, since the
// lists of a selector are held against each other.
func (w *world) neighborsInto(out *maintenance.Selector, entries []string) error {
	for _, e := range entries {
		node, name, both := strings.Cut(e, "/")
		if !both {
			out.Neighbors = append(out.Neighbors, e)
			continue
		}
		if len(out.Nodes) > 0 && !slices.Equal(out.Nodes, []string{node}) {
			return badf("neighbour %s is of another node than %s; write one window for each", e, strings.Join(out.Nodes, ", "))
		}
		out.Nodes, out.Neighbors = []string{node}, append(out.Neighbors, name)
	}
	return nil
}

// labelInto finds out whose label it is: nodes go before neighbours.
func labelInto(out *maintenance.Selector, entry string, targets []maintenance.Target) error {
	for _, list := range []struct {
		selector maintenance.Selector
		into     *[]string
	}{{maintenance.Selector{Nodes: []string{entry}}, &out.Nodes}, {maintenance.Selector{Neighbors: []string{entry}}, &out.Neighbors}} {
		if slices.ContainsFunc(targets, list.selector.Matches) {
			*list.into = append(*list.into, entry)
			return nil
		}
	}
	return badf("label %s: no node and no neighbour has it", entry)
}

// pair is a service of a node.
type pair struct{ node, service string }

// covered returns the services of nodes that the selectors together take away at
// every neighbour, and those that they touch at some.
func covered(targets []maintenance.Target, selectors []maintenance.Selector) (whole, part []pair) {
	all, hit := map[pair]int{}, map[pair]int{}
	for _, t := range targets {
		p := pair{t.Node, t.Service}
		all[p]++
		if slices.ContainsFunc(selectors, func(s maintenance.Selector) bool { return s.Matches(t) }) {
			hit[p]++
		}
	}
	for p, n := range hit {
		if n == all[p] {
			whole = append(whole, p)
		} else {
			part = append(part, p)
		}
	}
	byName := func(a, b pair) int { return strings.Compare(a.node+"/"+a.service, b.node+"/"+b.service) }
	slices.SortFunc(whole, byName)
	slices.SortFunc(part, byName)
	return whole, part
}
