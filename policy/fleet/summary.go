package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func sortedServices(n Node) []string { return slices.Sorted(maps.Keys(n.Services)) }

// Services returns the names of all services that some node has, sorted.
func (f Fleet) Services() []string {
	all := map[string]bool{}
	for _, n := range f.Nodes {
		for service := range n.Services {
			all[service] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Summary says in one sentence how the fleet stands: for each service who is away
// and why, and whether it is frozen.
func Summary(f Fleet) string {
	var parts []string
	for _, service := range f.Services() {
		parts = append(parts, f.summarize(service))
	}
	if len(parts) == 0 {
		parts = append(parts, "No node has a service")
	}
	if f.Frozen != "" {
		parts = append(parts, "the fleet is frozen: "+f.Frozen)
	}
	return strings.Join(parts, "; ") + "."
}

func (f Fleet) summarize(service string) string {
	c := f.Count(service)
	text := fmt.Sprintf("%s: %d of %d nodes announce", service, c.Announcing, c.Nodes)
	if c.Capacity > 0 && c.Load > 0 {
		text += fmt.Sprintf(" at %.0f %%", 100*c.Load/c.Capacity)
	}
	var away []string
	for _, n := range f.nodesOf(service) {
		if !f.announcing(n, service) {
			away = append(away, n.Name+" is "+f.whyAway(n, service))
		}
	}
	if len(away) == 0 {
		return text
	}
	slices.Sort(away)
	return text + ", " + list(away)
}

// whyAway says in a few words why a node does not count as announcing.
func (f Fleet) whyAway(n Node, service string) string {
	for _, g := range f.Grants {
		if g.Node == n.Name && g.Service == service {
			return strings.TrimSpace(fmt.Sprintf("away for %s %s", words[g.Kind], g.Window))
		}
	}
	switch reason := n.Services[service].Reason; {
	case !n.Seen:
		return "not seen"
	case n.Disabled:
		return "disabled"
	case reason == NoSession:
		return "without a session"
	case reason == Unseen:
		return "unseen at " + n.Services[service].Lacking
	case reason != "":
		return "away for " + strings.ReplaceAll(reason, "_", " ")
	}
	return "away"
}

// list names the first few of many.
func list(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
