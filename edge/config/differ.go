package config

import (
	"fmt"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// Differences names the parts of a configuration that another would change, in the order
// of the file: "load.target: 0.82 -> 0.7", "neighbors.ix: added". Both have their defaults,
// so that what is left out equals what is written out. Secrets are never told, nor what a
// URL or an HTTP header could hide one in, as a report of doctor goes to others; where only
// one of them differs, or what was read from a file that the configuration names, the part
// that it is in is named.
func Differences(from, to *Config) ([]string, error) {
	var is, want yaml.Node
	if err := is.Encode(from.raw()); err != nil {
		return nil, err
	}
	if err := want.Encode(to.raw()); err != nil {
		return nil, err
	}
	var d differ
	d.nodes("", &is, &want)
	d.secrets(from, to)
	return d.found, nil
}

type differ struct{ found []string }

func (d *differ) say(path, format string, args ...any) {
	d.found = append(d.found, path+": "+fmt.Sprintf(format, args...))
}

// nodes compares two values at a path.
func (d *differ) nodes(path string, is, want *yaml.Node) {
	was, will := entries(is), entries(want)
	switch {
	case is.Kind != want.Kind:
		d.say(path, "another form")
	case is.Kind == yaml.ScalarNode:
		switch {
		case is.Value == want.Value:
		case private(path, is.Value), private(path, want.Value):
			d.say(path, "another value, and it may hold a secret")
		default:
			d.say(path, "%s -> %s", is.Value, want.Value)
		}
	case was == nil || will == nil: // a list of values
		if !same(is, want) {
			d.say(path, "another list")
		}
	default:
		d.mappings(path, was, will)
		if moved(was, will) && is.Kind == yaml.SequenceNode {
			d.say(path, "another order")
		}
	}
}

// private reports whether a value that is printed may hold a secret all the same: a header
// of any name, and what else than its host and path a URL has.
func private(path, value string) bool {
	return strings.Contains(path, ".headers.") || strings.HasSuffix(path, ".url") && strings.ContainsAny(value, "?@#")
}

func (d *differ) mappings(path string, was, will []entryOf) {
	if path != "" {
		path += "."
	}
	for _, e := range was {
		if other := find(will, e.name); other != nil {
			d.nodes(path+e.name, e.node, other)
		} else {
			d.say(path+e.name, "taken away")
		}
	}
	for _, e := range will {
		if find(was, e.name) == nil {
			d.say(path+e.name, "added")
		}
	}
}

// entryOf is a value with its key, or with its name in a list of what has one.
type entryOf struct {
	name string
	node *yaml.Node
}

// entries are those of a mapping, and of a list whose members are named, each once; nil:
// the node is neither.
func entries(n *yaml.Node) []entryOf {
	out := []entryOf{}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			out = append(out, entryOf{n.Content[i].Value, n.Content[i+1]})
		}
		return out
	case yaml.SequenceNode:
		for _, c := range n.Content {
			name := named(c)
			if name == "" || find(out, name) != nil {
				return nil
			}
			out = append(out, entryOf{name, c})
		}
		return out
	}
	return nil
}

func named(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode {
		if name := find(entries(n), "name"); name != nil {
			return name.Value
		}
	}
	return ""
}

func find(all []entryOf, name string) *yaml.Node {
	for _, e := range all {
		if e.name == name {
			return e.node
		}
	}
	return nil
}

// moved reports whether what both have stands in another order.
func moved(was, will []entryOf) bool {
	at := 0
	for _, e := range was {
		if find(will, e.name) == nil {
			continue
		}
		for at < len(will) && find(was, will[at].name) == nil {
			at++
		}
		if at == len(will) || will[at].name != e.name {
			return true
		}
		at++
	}
	return false
}

// same reports whether two values are alike, whatever their style.
func same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// secrets names the parts that differ and look the same when they are printed.
func (d *differ) secrets(from, to *Config) {
	hidden := func(path string, is, want any) {
		if !reflect.DeepEqual(is, want) && !d.has(path) {
			d.say(path, "a secret, or what is in a file that it names")
		}
	}
	hidden("central", from.Central, to.Central)
	hidden("load", from.Load, to.Load)
	pairs(from.Links, to.Links, func(l Link) string { return l.Name }, func(name string, is, want Link) { hidden("links."+name, is, want) })
	pairs(from.Neighbors, to.Neighbors, func(n Neighbor) string { return n.Name }, func(name string, is, want Neighbor) { hidden("neighbors."+name, is, want) })
	pairs(from.Services, to.Services, func(s Service) string { return s.Name }, func(name string, is, want Service) { hidden("services."+name, is, want) })
}

// pairs calls do for what both lists have, by its name.
func pairs[T any](is, want []T, name func(T) string, do func(name string, is, want T)) {
	for _, a := range is {
		for _, b := range want {
			if name(a) == name(b) {
				do(name(a), a, b)
			}
		}
	}
}

// has reports whether something was found at a path or within it.
func (d *differ) has(path string) bool {
	for _, f := range d.found {
		if len(f) > len(path) && f[:len(path)] == path && (f[len(path)] == '.' || f[len(path)] == ':') {
			return true
		}
	}
	return false
}
