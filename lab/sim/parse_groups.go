package sim

import (
	"maps"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

func keys(words map[string]func()) string {
	return strings.Join(slices.Sorted(maps.Keys(words)), ", ")
}

func (r *reader) group(n *yaml.Node, path string, sc *Scenario) Group {
	f := r.mapping(n, path)
	g := Group{Count: 1, Noise: 0.01}
	f.text("name", &g.Name)
	f.integer("count", &g.Count, 1, 1000)
	f.rate("demand", sc.Sessions.Bitrate, &g.Demand)
	f.share("noise", &g.Noise)
	f.share("loyal", &g.Loyal)
	f.list("near", func(n *yaml.Node, _ string) { g.Near = append(g.Near, n.Value) })
	f.list("via", func(n *yaml.Node, path string) {
		f := r.mapping(n, path)
		v := Via{Preference: 100, Path: 2}
		f.text("site", &v.Site)
		f.text("neighbor", &v.Neighbor)
		f.integer("preference", &v.Preference, 0, 1000)
		f.integer("path", &v.Path, 1, 100)
		f.done()
		g.Via = append(g.Via, v)
	})
	f.list("first", func(n *yaml.Node, path string) {
		f := r.mapping(n, path)
		c := Choice{Share: 1}
		f.text("link", &c.Link)
		f.share("share", &c.Share)
		f.done()
		g.First = append(g.First, c)
	})
	f.list("shapes", func(n *yaml.Node, path string) {
		if s := r.shape(n, path); s != nil {
			g.Shapes = append(g.Shapes, s)
		}
	})
	f.done()
	return g
}

// shape reads a mapping of one key, which names the kind.
func (r *reader) shape(n *yaml.Node, path string) Shape {
	if n.Kind != yaml.MappingNode || len(n.Content) != 2 {
		r.problem(n, path, "a shape is one of points, crowd, match, diurnal, with its values below it")
		return nil
	}
	kind, value := n.Content[0].Value, r.resolve(n.Content[1])
	if value == nil {
		return nil
	}
	path += "." + kind
	switch kind {
	case "points":
		return r.points(value, path)
	case "crowd":
		f := r.mapping(value, path)
		at, rise, hold, fall, factor := time.Duration(0), time.Minute, time.Hour, time.Minute, 2.0
		f.duration("at", &at)
		f.duration("rise", &rise)
		f.number("factor", &factor, 0, 1000)
		f.duration("hold", &hold)
		f.duration("fall", &fall)
		f.done()
		return crowd(at, rise, factor, hold, fall)
	case "match":
		f := r.mapping(value, path)
		at, rise, half, pause, fall := time.Duration(0), time.Minute, 45*time.Minute, 15*time.Minute, 10*time.Minute
		share, leave := 0.6, 0.25
		f.duration("at", &at)
		f.duration("rise", &rise)
		f.share("adds", &share)
		f.duration("half", &half)
		f.duration("pause", &pause)
		f.share("leave", &leave)
		f.duration("fall", &fall)
		f.done()
		if pause < 4*time.Minute || half < 2*time.Minute || rise > half {
			r.problem(value, path, "the pause is at least 4m, a half at least 2m and longer than the rise")
			return nil
		}
		return match(at, rise, share, half, pause, leave, fall)
	case "diurnal":
		f := r.mapping(value, path)
		d := Diurnal{Peak: 20 * time.Hour, Low: 0.3}
		f.duration("peak", &d.Peak)
		f.share("low", &d.Low)
		f.done()
		return d
	}
	r.problem(n, path, "there is no such shape; there are crowd, diurnal, match, points")
	return nil
}

func (r *reader) points(n *yaml.Node, path string) Points {
	var out Points
	r.items(n, path, func(n *yaml.Node, path string) {
		f := r.mapping(n, path)
		var l Level
		f.duration("at", &l.At)
		f.number("value", &l.Value, 0, 1000)
		f.done()
		if len(out) > 0 && l.At <= out[len(out)-1].At {
			r.problem(n, path, "the times of points rise")
		}
		out = append(out, l)
	})
	return out
}

func (r *reader) event(n *yaml.Node, path string) Event {
	f := r.mapping(n, path)
	var e Event
	f.duration("at", &e.At)
	f.duration("for", &e.For)
	f.text("down", &e.Down)
	f.text("silent", &e.Silent)
	f.done()
	if (e.Down == "") == (e.Silent == "") {
		r.problem(n, path, "an event is either down: SITE or silent: SITE or SITE/LINK")
	}
	return e
}

// variants reads the variants: each is the whole scenario with some values set
// anew.
func (r *reader) variants(root *yaml.Node, sc *Scenario) {
	f := r.mapping(root, "")
	f.list("variants", func(n *yaml.Node, path string) {
		v := r.mapping(n, path)
		name := ""
		v.text("name", &name)
		set := v.get("set")
		v.done()
		switch {
		case set == nil || set.Kind != yaml.MappingNode:
			r.problem(n, path, "a variant has a name and set: with the values that differ")
			return
		case name == "" || strings.ContainsAny(name, "/\n"):
			r.problem(n, path, "a variant needs a name")
			return
		}
		for i := 0; i < len(set.Content); i += 2 {
			switch key := set.Content[i]; key.Value {
			case "name", "variants":
				r.problem(key, path+".set."+key.Value, "a variant cannot set this")
				return
			}
		}
		for _, other := range sc.Variants {
			if other.Name == name {
				r.problem(n, path+".name", "there are two variants %s", name)
			}
		}
		before := len(r.problems)
		merged := r.scenario(overlay(root, set, 0), true)
		if len(r.problems) > before {
			return
		}
		r.unknown(set)
		merged.Name = name
		sc.Variants = append(sc.Variants, merged)
	})
}

// unknown reports top-level keys that are no part of a scenario.
func (r *reader) unknown(set *yaml.Node) {
	known := []string{"about", "duration", "step", "actuator", "sessions", "metrics", "bgp", "load",
		"prefixes", "sites", "groups", "events", "window"}
	for i := 0; i < len(set.Content); i += 2 {
		if key := set.Content[i]; !slices.Contains(known, key.Value) {
			r.problem(key, key.Value, "there is no such key; there are %s", strings.Join(known, ", "))
		}
	}
}

// overlay returns base with the values of top: mappings are joined, and so are
// lists of mappings that have names, by name; everything else is replaced.
func overlay(base, top *yaml.Node, depth int) *yaml.Node {
	for base.Kind == yaml.AliasNode && depth < 16 {
		base, depth = base.Alias, depth+1
	}
	if base.Kind != top.Kind || depth > 16 {
		return top
	}
	out := *base
	out.Content = slices.Clone(base.Content)
	switch base.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(top.Content); i += 2 {
			if at := valueAt(&out, top.Content[i].Value); at >= 0 {
				out.Content[at] = overlay(out.Content[at], top.Content[i+1], depth+1)
			} else {
				out.Content = append(out.Content, top.Content[i], top.Content[i+1])
			}
		}
		return &out
	case yaml.SequenceNode:
		for _, item := range top.Content {
			name := nameOf(item)
			if name == "" {
				return top
			}
			at := slices.IndexFunc(out.Content, func(n *yaml.Node) bool { return nameOf(n) == name })
			if at >= 0 {
				out.Content[at] = overlay(out.Content[at], item, depth+1)
			} else {
				out.Content = append(out.Content, item)
			}
		}
		return &out
	}
	return top
}

// valueAt is where in a mapping's content the value of a key is; -1: nowhere.
func valueAt(n *yaml.Node, key string) int {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i + 1
		}
	}
	return -1
}

// nameOf is the name of a mapping that has one.
func nameOf(n *yaml.Node) string {
	if at := valueAt(n, "name"); at >= 0 {
		return n.Content[at].Value
	}
	return ""
}
