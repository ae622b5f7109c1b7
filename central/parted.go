package central

import (
	"fmt"
	"slices"
	"strings"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// parted are the links that selectors empty at nodes that go on, each with its share of
// its node's load. unknown says of what sel takes away besides why its load is not known.
func (w *world) parted(f fleet.Fleet, sel maintenance.Selector, selectors []maintenance.Selector, away []string) (parts []fleet.Part, unknown []string) {
	for _, n := range f.Nodes {
		hello, targets := w.nodes.get(n.Name).hello(), w.targets(n.Name)
		hits := slices.ContainsFunc(targets, sel.Matches)
		switch {
		case slices.Contains(away, n.Name):
		case !hits && !slices.ContainsFunc(targets, matchesOne(selectors)):
		case !announcesAny(n):
			if hits {
				unknown = append(unknown, fmt.Sprintf("node %s announces nothing then: it carries no load", n.Name))
			}
		default:
			live, _ := w.heardOf(n.Name)
			p := parting{node: n.Name, hello: hello, links: live.report().GetLinks(), sel: sel}
			p.look(targets, selectors)
			parts = append(parts, p.parts...)
			unknown = append(unknown, p.unknown...)
		}
	}
	return parts, unknown
}

func announcesAny(n fleet.Node) bool {
	for _, s := range n.Services {
		if s.Announcing {
			return true
		}
	}
	return false
}

func matchesOne(selectors []maintenance.Selector) func(maintenance.Target) bool {
	return func(t maintenance.Target) bool {
		return slices.ContainsFunc(selectors, func(s maintenance.Selector) bool { return s.Matches(t) })
	}
}

// parting is one node whose sessions go in part.
type parting struct {
	node  string
	hello *centralv1.Hello
	links []*centralv1.LinkReport
	sel   maintenance.Selector

	parts   []fleet.Part
	unknown []string
}

// look goes through the node's neighbours, and then through its links.
func (p *parting) look(targets []maintenance.Target, selectors []maintenance.Selector) {
	goes := p.neighbors(targets, matchesOne(selectors))
	_, all := figures(p.links)
	for _, link := range p.links {
		gone, stay, ours := p.sharers(link.GetName(), goes)
		switch {
		case len(gone) == 0 || len(stay) > 0 && !ours || !all.Known && !ours:
		case len(stay) > 0:
			p.say("neighbour %s of node %s: its link %s carries %s, too, and whose load how much of it is is not known", strings.Join(gone, ", "), p.node, link.GetName(), strings.Join(stay, ", "))
		case !all.Known:
			p.say("neighbour %s of node %s: not all of the node's links have a fresh figure", strings.Join(gone, ", "), p.node)
		default:
			part := fleet.Part{Node: p.node}
			if all.Value > 0 {
				part.Share = link.GetLoad() / all.Value
			}
			if sane(link.GetCapacity()) {
				part.Capacity = link.GetCapacity()
			}
			p.parts = append(p.parts, part)
		}
	}
}

// neighbors finds those that are left no service. Of the others that the window touches,
// and of those without a link, it says that nothing is known.
func (p *parting) neighbors(targets []maintenance.Target, hit func(maintenance.Target) bool) (goes map[string]bool) {
	goes = map[string]bool{}
	var order []string
	some := map[string][]string{} // neighbours that are left some service, by those that go
	for _, nb := range p.hello.GetNeighbors() {
		var services []string
		ours := false
		for _, t := range targets {
			if t.Neighbor == nb.GetName() && hit(t) {
				services = append(services, t.Service)
				ours = ours || p.sel.Matches(t)
			}
		}
		goes[nb.GetName()] = len(services) == len(p.hello.GetServices())
		switch names := strings.Join(services, ", "); {
		case !ours:
		case !goes[nb.GetName()]:
			if some[names] == nil {
				order = append(order, names)
			}
			some[names] = append(some[names], nb.GetName())
		case nb.GetLink() == "":
			p.say("neighbour %s of node %s: it names no link that its load could be read from", nb.GetName(), p.node)
		case !slices.ContainsFunc(p.links, func(l *centralv1.LinkReport) bool { return l.GetName() == nb.GetLink() }):
			p.say("neighbour %s of node %s: its link %s has no figure", nb.GetName(), p.node, nb.GetLink())
		}
	}
	for _, names := range order {
		p.say("service %s of node %s at %s: other services go on there, and which load is whose is not known", names, p.node, strings.Join(some[names], ", "))
	}
	return goes
}

// sharers are the neighbours of a link that go, and those that stay; ours: the window
// takes one of the former away.
func (p *parting) sharers(link string, goes map[string]bool) (gone, stay []string, ours bool) {
	for _, nb := range p.hello.GetNeighbors() {
		switch {
		case nb.GetLink() != link || link == "":
		case goes[nb.GetName()]:
			gone = append(gone, nb.GetName())
			ours = ours || slices.ContainsFunc(targetsOf(p.node, p.hello), func(t maintenance.Target) bool {
				return t.Neighbor == nb.GetName() && p.sel.Matches(t)
			})
		default:
			stay = append(stay, nb.GetName())
		}
	}
	return gone, stay, ours
}

func (p *parting) say(format string, args ...any) {
	p.unknown = append(p.unknown, fmt.Sprintf(format, args...))
}
