package maintenance

import (
	"strings"
	"testing"
)

func fleet() []Target {
	var all []Target
	for _, node := range []struct{ name, site, row string }{{"msk1", "moscow", "a"}, {"msk2", "moscow", "b"}, {"spb1", "spb", "a"}} {
		for _, neighbor := range []string{"transit", "ix"} {
			for _, service := range []string{"video", "dns"} {
				all = append(all, Target{Node: node.name, Site: node.site, Neighbor: neighbor, Service: service,
					NodeLabels:     map[string]string{"row": node.row},
					NeighborLabels: map[string]string{"circuit": "IC-" + node.name + "=" + neighbor}})
			}
		}
	}
	return all
}

func TestSelectorsSelectByNameAndLabel(t *testing.T) {
	for name, c := range map[string]struct {
		selector Selector
		want     string
	}{
		"a node":                  {Selector{Nodes: []string{"msk1"}}, "msk1/transit/video msk1/transit/dns msk1/ix/video msk1/ix/dns"},
		"a label of nodes":        {Selector{Nodes: []string{"row=b"}}, "msk2/transit/video msk2/transit/dns msk2/ix/video msk2/ix/dns"},
		"a site and a node":       {Selector{Nodes: []string{"spb1"}, Sites: []string{"moscow"}, Neighbors: []string{"ix"}, Services: []string{"dns"}}, "msk1/ix/dns msk2/ix/dns spb1/ix/dns"},
		"a neighbour of one node": {Selector{Nodes: []string{"msk1"}, Neighbors: []string{"ix"}}, "msk1/ix/video msk1/ix/dns"},
		"a circuit":               {Selector{Neighbors: []string{"circuit=IC-spb1=ix"}}, "spb1/ix/video spb1/ix/dns"},
		"a service":               {Selector{Services: []string{"dns"}, Nodes: []string{"row=b"}}, "msk2/transit/dns msk2/ix/dns"},
		"nothing":                 {Selector{}, ""},
		"an empty name":           {Selector{Nodes: []string{""}}, ""},
		"a label that nobody has": {Selector{Nodes: []string{"rack=1"}}, ""},
		"a label with no value":   {Selector{Nodes: []string{"rack="}}, ""},
		"a site is no label":      {Selector{Sites: []string{"row=a"}}, ""},
		"a neighbour not there":   {Selector{Nodes: []string{"msk1"}, Neighbors: []string{"circuit=IC-spb1=ix"}}, ""},
	} {
		var got []string
		for _, target := range fleet() {
			if c.selector.Matches(target) {
				got = append(got, target.Node+"/"+target.Neighbor+"/"+target.Service)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

// F4: an empty selector means nothing, and is an error, as is one that selects nothing.
func TestF4SelectorsThatSelectNothingAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		selector Selector
		want     string
	}{
		"nothing":        {Selector{}, "the window is for nothing; name nodes, sites, neighbours or services"},
		"empty lists":    {Selector{Nodes: []string{}, Services: []string{}}, "the window is for nothing; name nodes, sites, neighbours or services"},
		"an empty name":  {Selector{Nodes: []string{""}}, `node "": empty, or with blanks around it; write a name or KEY=VALUE`},
		"blanks":         {Selector{Sites: []string{" moscow"}}, `site " moscow": empty, or with blanks around it; write a name or KEY=VALUE`},
		"a star":         {Selector{Services: []string{"*"}}, `service *: there is no entry for all; write the names`},
		"no key":         {Selector{Neighbors: []string{"=x"}}, `neighbour "=x": no label; write KEY=VALUE for nodes, neighbours and services, a name for sites`},
		"label of sites": {Selector{Sites: []string{"row=a"}}, `site "row=a": no label; write KEY=VALUE for nodes, neighbours and services, a name for sites`},
		"not there":      {Selector{Nodes: []string{"msk1", "msk9"}, Neighbors: []string{"circuit=IC-9"}}, "node \"msk9\": there is none\nneighbour \"circuit=IC-9\": there is none"},
		"not together":   {Selector{Nodes: []string{"msk1"}, Neighbors: []string{"circuit=IC-spb1=ix"}}, "each entry is there, but nothing is all of it at once"},
	} {
		if err := c.selector.Check(fleet()); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
	if err := (Selector{Nodes: []string{"msk1"}}).Check(fleet()); err != nil {
		t.Error(err)
	}
}
