package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of a scenario: what a run keeps grows with them.
const (
	mostGroups = 20_000
	mostRoutes = 2_000
	mostSteps  = 2_000_000
)

// check reports what is wrong across values.
func (r *reader) check(f *fields, sc *Scenario) {
	say := func(path, format string, args ...any) {
		r.problem(f.get(strings.SplitN(path, "[", 2)[0]), path, format, args...)
	}
	if sc.Name == "" {
		say("name", "a scenario needs a name")
	}
	if sc.Step < 100*time.Millisecond || sc.Step > time.Minute {
		say("step", "a step is from 100ms to 1m")
		return
	}
	if sc.Duration < sc.Step || sc.Duration/sc.Step > mostSteps {
		say("duration", "it is at least one step, and at most %d steps", mostSteps)
		return
	}
	if sc.Metrics.Period < sc.Step || sc.Metrics.Delay > time.Hour {
		say("metrics", "the period is at least a step (%s), the delay at most 1h", sc.Step)
	}
	if sc.Metrics.Delay/max(sc.Metrics.Period, 1) > kept/2 {
		say("metrics", "over %d figures would be on their way at once: a longer period, or less delay", kept/2)
	}
	if sc.Window.From >= sc.Window.To || sc.Window.To > sc.Duration {
		say("window", "it ends after it begins, and not after the run")
	}
	total := 0.0
	seen := map[string]bool{}
	for i, p := range sc.Prefixes {
		total += p.Weight
		if seen[p.Prefix.String()] {
			say(fmt.Sprintf("prefixes[%d]", i), "%s is there twice", p.Prefix)
		}
		seen[p.Prefix.String()] = true
	}
	if total <= 0 || len(sc.Prefixes) > 64 {
		say("prefixes", "there are 1 to 64, and their weights add up to more than 0")
	}
	r.checkSites(sc, say)
	r.checkGroups(sc, say)
	for i, e := range sc.Events {
		at := fmt.Sprintf("events[%d]", i)
		if e.Down != "" && sc.site(e.Down) < 0 {
			say(at+".down", "there is no site %q", e.Down)
		}
		site, link, one := strings.Cut(e.Silent, "/")
		if s := sc.site(site); e.Silent != "" && (s < 0 || one && !sc.Sites[s].has(link)) {
			say(at+".silent", "there is no site or link %q", e.Silent)
		}
	}
}

type sayer func(path, format string, args ...any)

func (r *reader) checkSites(sc *Scenario, say sayer) {
	if len(sc.Sites) == 0 {
		say("sites", "there is at least one site")
	}
	routes := 0
	for i, s := range sc.Sites {
		at := fmt.Sprintf("sites[%d]", i)
		switch {
		case s.Name == "" || strings.ContainsAny(s.Name, "/,\n"):
			say(at+".name", "a site needs a name, without / and ,")
		case sc.site(s.Name) < i:
			say(at+".name", "there are two sites %s", s.Name)
		case len(s.Links) == 0 || len(s.Links) > 64:
			say(at+".links", "a site has 1 to 64 links")
		case len(s.Neighbors) == 0 && sc.Actuator == ByRoutes:
			say(at+".neighbors", "a site needs a neighbour to announce to")
		}
		for j, l := range s.Links {
			if l.Name == "" || strings.ContainsAny(l.Name, "/,\n") || slices.IndexFunc(s.Links, func(o Link) bool { return o.Name == l.Name }) < j {
				say(fmt.Sprintf("%s.links[%d].name", at, j), "a link needs a name of its own, without / and ,")
			}
		}
		for j, n := range s.Neighbors {
			at := fmt.Sprintf("%s.neighbors[%d]", at, j)
			if n.Name == "" || slices.IndexFunc(s.Neighbors, func(o Neighbor) bool { return o.Name == n.Name }) < j {
				say(at+".name", "a neighbour needs a name of its own")
			}
			if n.ASN == 0 {
				say(at+".asn", "a neighbour needs an ASN")
			}
			if !s.has(n.Link) {
				say(at+".link", "%s has no link %q", s.Name, n.Link)
			}
			for k, rung := range n.Ladder {
				for _, p := range rung.Prefixes {
					if !slices.ContainsFunc(sc.Prefixes, func(o Prefix) bool { return o.Prefix == p }) {
						say(fmt.Sprintf("%s.ladder[%d].prefixes", at, k), "%s is not announced", p)
					}
				}
			}
			if len(n.Ladder) > 20 {
				say(at+".ladder", "a ladder has at most 20 rungs")
			}
		}
		routes += len(s.Neighbors)
	}
	if routes > mostRoutes {
		say("sites", "there are %d neighbours, more than %d", routes, mostRoutes)
	}
}

func (r *reader) checkGroups(sc *Scenario, say sayer) {
	if len(sc.Groups) == 0 {
		say("groups", "there is at least one group")
	}
	total := 0
	for i, g := range sc.Groups {
		at := fmt.Sprintf("groups[%d]", i)
		total += g.Count
		if g.Name == "" || slices.IndexFunc(sc.Groups, func(o Group) bool { return o.Name == g.Name }) < i {
			say(at+".name", "a group needs a name of its own")
		}
		if g.Demand <= 0 {
			say(at+".demand", "a group needs a demand")
		}
		if sc.Actuator == BySessions {
			r.checkFirst(sc, g, at, say)
			continue
		}
		if len(g.Near) == 0 && len(g.Via) == 0 {
			say(at+".near", "a group needs sites that it can reach: near or via")
		}
		for j, name := range g.Near {
			if sc.site(name) < 0 || slices.Index(g.Near, name) < j {
				say(fmt.Sprintf("%s.near[%d]", at, j), "there is no site %q, or it is there twice", name)
			}
		}
		for j, v := range g.Via {
			s := sc.site(v.Site)
			if s < 0 || !slices.ContainsFunc(sc.Sites[s].Neighbors, func(n Neighbor) bool { return n.Name == v.Neighbor }) {
				say(fmt.Sprintf("%s.via[%d]", at, j), "there is no neighbour %q at a site %q", v.Neighbor, v.Site)
			}
		}
	}
	if total > mostGroups {
		say("groups", "there are %d groups with their counts, more than %d", total, mostGroups)
	}
}

func (r *reader) checkFirst(sc *Scenario, g Group, at string, say sayer) {
	sum := 0.0
	for j, c := range g.First {
		sum += c.Share
		if _, ok := sc.link(c.Link); !ok || slices.IndexFunc(g.First, func(o Choice) bool { return o.Link == c.Link }) < j {
			say(fmt.Sprintf("%s.first[%d].link", at, j), "there is no link %q, or it is there twice; write SITE/LINK", c.Link)
		}
	}
	if sum < 0.999 || sum > 1.001 {
		say(at+".first", "the shares of the first choices add up to 1")
	}
}

// site is the index of a site, -1 if there is none of that name.
func (sc *Scenario) site(name string) int {
	return slices.IndexFunc(sc.Sites, func(s Site) bool { return s.Name == name })
}

func (s Site) has(link string) bool {
	return slices.ContainsFunc(s.Links, func(l Link) bool { return l.Name == link })
}

// link is the index of a link among those of all sites.
func (sc *Scenario) link(name string) (int, bool) {
	site, link, _ := strings.Cut(name, "/")
	n := 0
	for _, s := range sc.Sites {
		for _, l := range s.Links {
			if s.Name == site && l.Name == link {
				return n, true
			}
			n++
		}
	}
	return 0, false
}
