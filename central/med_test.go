package central

import (
	"slices"
	"testing"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

func TestMEDsThatDifferBetweenSitesAreWarnedOf(t *testing.T) {
	const ours, carrier, transit = 57629, 65010, 65001
	type session = *centralv1.EdgeNeighbor
	at := func(asn, med uint32) session { return &centralv1.EdgeNeighbor{Name: "n", Asn: asn, Med: med} }
	node := func(name, site string, sessions ...session) *centralv1.Hello {
		return &centralv1.Hello{Node: name, Site: site, Asn: ours, Neighbors: sessions}
	}
	rung := at(carrier, 0)
	rung.MedRungs = true
	const remedy = ": its routers compare MED before distance, so the nearest node loses its clients there; write the same at all of these nodes, or prepend in its place"
	for name, c := range map[string]struct {
		hellos []*centralv1.Hello
		want   []string
	}{
		"at one node only": {[]*centralv1.Hello{node("ekb1", "", at(carrier, 50)), node("msk1", "", at(carrier, 0)), node("spb1", "", at(carrier, 0))},
			[]string{"AS 65010 hears no MED from msk1 and spb1, MED 50 from ekb1" + remedy}},
		"the same at all":             {[]*centralv1.Hello{node("ekb1", "e", at(carrier, 50)), node("msk1", "m", at(carrier, 50))}, nil},
		"of one site":                 {[]*centralv1.Hello{node("msk1", "m", at(carrier, 50)), node("msk2", "m", at(carrier, 0))}, nil},
		"of nodes without sites":      {[]*centralv1.Hello{node("msk1", "", at(carrier, 5)), node("msk2", "", at(carrier, 6))}, []string{"AS 65010 hears MED 5 from msk1, MED 6 from msk2" + remedy}},
		"the lowest of a node counts": {[]*centralv1.Hello{node("ekb1", "e", at(carrier, 50), at(carrier, 10)), node("msk1", "m", at(carrier, 10))}, nil},
		"at ASes of their own":        {[]*centralv1.Hello{node("ekb1", "e", at(transit, 50)), node("msk1", "m", at(carrier, 0))}, nil},
		"over iBGP":                   {[]*centralv1.Hello{node("ekb1", "e", at(ours, 50)), node("msk1", "m", at(ours, 0))}, nil},
		"as a rung":                   {[]*centralv1.Hello{node("ekb1", "e", rung), node("msk1", "m", at(carrier, 0))}, []string{"AS 65010 hears a MED as a rung of ekb1" + remedy}},
		"as a rung, at the only node": {[]*centralv1.Hello{node("ekb1", "e", rung)}, nil},
		"of nobody":                   {nil, nil},
	} {
		if got := differingMEDs(c.hellos); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
