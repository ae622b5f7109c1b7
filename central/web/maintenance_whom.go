package web

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// listFields are the names of a form's lists, which say whom a window is for.
var listFields = []string{"node", "site", "neighbor", "service", "label"}

// choiceGroup is what a window can be for, of one kind.
type choiceGroup struct {
	Name, Title string
	Choices     []choice
}

type choice struct {
	Name, Note string
	On         bool
}

// groupsOf are the nodes, sites, neighbours, services and labels that there are, and what is
// chosen of them. What is chosen and gone stays, for the API to say so.
func groupsOf(nodes []*centralv1.Node, chosen url.Values) []choiceGroup {
	type found map[string]string
	sites, names, services, neighbors, labels := found{}, found{}, found{}, found{}, found{}
	label := func(of string, all map[string]string) {
		for k, v := range all {
			labels[k+"="+v] = of // nodes come last: the API takes a label for theirs first
		}
	}
	for _, n := range nodes {
		for _, nb := range n.GetNeighbors() {
			label("neighbours", nb.GetLabels())
		}
	}
	for _, n := range nodes {
		names[n.GetName()] = n.GetState()
		if n.GetSite() != "" {
			names[n.GetName()] = n.GetSite() + ", " + n.GetState()
			sites[n.GetSite()] = ""
		}
		label("nodes", n.GetLabels())
		for _, svc := range n.GetServices() {
			services[svc.GetName()] = ""
		}
		for _, nb := range n.GetNeighbors() {
			neighbors[nb.GetName()] = nb.GetKind()
		}
	}
	var out []choiceGroup
	for _, g := range []struct {
		name, title string
		all         found
	}{{"node", "Nodes", names}, {"site", "Sites: all nodes of", sites}, {"neighbor", "Only at these neighbours", neighbors}, {"service", "Only these services", services},
		{"label", "With these labels", labels}} {
		group := choiceGroup{Name: g.name, Title: g.title}
		for _, name := range chosen[g.name] {
			if _, ok := g.all[name]; !ok && name != "" {
				g.all[name] = "not there"
			}
		}
		for name, note := range g.all {
			on := slices.Contains(chosen[g.name], name)
			group.Choices = append(group.Choices, choice{name, note, on})
		}
		slices.SortFunc(group.Choices, func(a, b choice) int { return cmp.Compare(a.Name, b.Name) })
		out = append(out, group)
	}
	return out
}

// chosenOf is whom a form is for. It refuses what the command line refuses: what could
// hit more than was meant.
func chosenOf(values url.Values) (*centralv1.Selector, map[string]string) {
	faults := map[string]string{}
	out := &centralv1.Selector{Nodes: values["node"], Sites: values["site"], Neighbors: values["neighbor"], Services: values["service"],
		All: values.Get("all") != ""}
	count := 0
	for _, name := range listFields {
		count += len(values[name])
	}
	if count == 0 && !out.All {
		faults["whom"] = "it hits nothing: choose nodes, sites, neighbours, services or labels, or all nodes"
	}
	for _, l := range values["label"] {
		k, v, ok := strings.Cut(l, "=")
		_, twice := out.Labels[k]
		switch {
		case !ok || k == "":
			faults["whom"] = "label " + l + ": write KEY=VALUE"
		case twice:
			faults["whom"] = "label " + l + ": the key stands there twice; make a window for each"
		case out.Labels == nil:
			out.Labels = map[string]string{k: v}
		default:
			out.Labels[k] = v
		}
	}
	text := strings.TrimSpace(values.Get("expect"))
	n, err := strconv.ParseInt(text, 10, 32)
	out.Expect = int32(n)
	switch {
	case text == "" && out.All:
		faults["expect"] = "say how many nodes you expect to hit"
	case text != "" && (err != nil || n < 1):
		faults["expect"] = "write a number, such as 3"
	case text != "" && !out.All:
		faults["expect"] = "the number goes with all nodes; what is chosen by name needs none"
	}
	return out, faults
}
