package central

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// metrics warns of MEDs that defeat nearest-site routing: routers of an AS compare the MEDs of all routes that the AS has from
// us before the distances to them (RFC 4271, section 9.1.2.2, c and e), so that a node with a higher MED than others loses the
// clients of its own city, too.
func (w *world) metrics() []string {
	hellos := make([]*centralv1.Hello, 0, len(w.nodes))
	for _, name := range sorted(w.nodes) {
		hellos = append(hellos, w.nodes.get(name).hello())
	}
	return differingMEDs(hellos)
}

// told is what one AS hears of nodes: of each the lowest MED over its sessions, which is the one that counts.
type told struct {
	med   map[string]uint32
	site  map[string]string
	rungs []string // nodes of which a rung sets a MED
}

// oneSite says whether all nodes share their links: between those a MED is a choice.
func (t *told) oneSite() bool {
	sites := slices.Compact(slices.Sorted(maps.Values(t.site)))
	return len(t.med) < 2 || len(sites) == 1 && sites[0] != ""
}

// differingMEDs has a sentence for each AS to which nodes of several sites announce with MEDs that differ, or might.
func differingMEDs(hellos []*centralv1.Hello) (warnings []string) {
	all := map[uint32]*told{}
	for _, h := range hellos {
		for _, n := range h.GetNeighbors() {
			if n.GetAsn() == h.GetAsn() {
				continue // iBGP
			}
			t := all[n.GetAsn()]
			if t == nil {
				t = &told{med: map[string]uint32{}, site: map[string]string{}}
				all[n.GetAsn()] = t
			}
			if was, ok := t.med[h.GetNode()]; !ok || n.GetMed() < was {
				t.med[h.GetNode()] = n.GetMed()
			}
			t.site[h.GetNode()] = h.GetSite()
			if n.GetMedRungs() && !slices.Contains(t.rungs, h.GetNode()) {
				t.rungs = append(t.rungs, h.GetNode())
			}
		}
	}
	for _, asn := range slices.Sorted(maps.Keys(all)) {
		if said := all[asn].differences(); len(said) > 0 && !all[asn].oneSite() {
			warnings = append(warnings, fmt.Sprintf("AS %d hears %s: its routers compare MED before distance, so the nearest node loses its clients there; write the same at all of these nodes, or prepend in its place",
				asn, strings.Join(said, ", ")))
		}
	}
	return warnings
}

// differences are the MEDs and who sends them, lowest first; empty where all are, and stay, the same.
func (t *told) differences() (said []string) {
	by := map[uint32][]string{}
	for _, node := range slices.Sorted(maps.Keys(t.med)) {
		by[t.med[node]] = append(by[t.med[node]], node)
	}
	if len(by) > 1 {
		for _, med := range slices.Sorted(maps.Keys(by)) {
			what := "no MED"
			if med > 0 {
				what = fmt.Sprintf("MED %d", med)
			}
			said = append(said, what+" from "+strings.Join(by[med], " and "))
		}
	}
	if len(t.rungs) > 0 {
		said = append(said, "a MED as a rung of "+strings.Join(t.rungs, " and "))
	}
	return said
}
