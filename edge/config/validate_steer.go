package config

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/importer"
	"github.com/catchment-bgp/catchment/community/registry"
)

// steerable are the actions that a rung may ask for. What discards traffic is none.
var steerable = []verb{verb(registry.Prepend), verb(registry.NoExport), verb(registry.Announce), verb(registry.AnnounceOnly),
	verb(registry.LocalPref), verb(registry.MED)}

// takesAway reports whether the neighbour may take the route away from others for it.
func takesAway(v registry.Verb) bool {
	switch v {
	case registry.NoExport, registry.AnnounceOnly, registry.LocalPref, registry.GracefulShutdown, registry.NoAdvertise, registry.Blackhole:
		return true
	}
	return false
}

// documents reads what says which communities mean what, and returns the paths.
func (c *checker) documents(raw []string) []string {
	if raw == nil {
		return nil
	}
	c.notEmpty("registry", len(raw), "write a file with the documentation of a neighbour's communities, or remove the key")
	var entries []registry.Entry
	var paths []string
	for i, name := range raw {
		at := item("registry", i)
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.opt.Dir, path)
		}
		paths = append(paths, path)
		data, err := c.readFile(name, path)
		if err != nil {
			c.reject(at, "%s; write the path of a file with the documentation of communities", err)
			continue
		}
		doc, err := importer.Read(bytes.NewReader(data), path, importer.Auto, importer.Options{})
		switch {
		case err != nil:
			c.reject(at, "%s cannot be understood: %s", show(name), err)
		case len(doc.Entries) == 0:
			c.reject(at, "%s documents no community; catchment community import %s says what is read of it", show(name), name)
		}
		entries = append(entries, doc.Entries...)
	}
	c.registry = registry.New(entries...)
	return paths
}

// steer finds the community that makes a neighbour do something.
func (c *checker) steer(path string, raw *rawSteer, n *Neighbor) *Steer {
	if raw == nil {
		return nil
	}
	q, targets, ok := c.query(path, raw, n)
	if !ok || n.ASN == 0 {
		return nil
	}
	known := c.registry
	if known == nil {
		known = registry.New() // what RFCs define
	}
	asked, found, nearest := known.FindFirst(q, targets)
	if other, ok := ambiguous(found); ok {
		c.reject(path, "AS%d documents two values for it: %s; %s; write the one that is meant under community", n.ASN,
			documented(found[0].Value.String(), found[0].Entry), documented(other.Value.String(), other.Entry))
		return nil
	}
	if len(found) > 0 {
		return &Steer{Query: asked, Value: found[0].Value, Entry: found[0].Entry}
	}
	if c.registry == nil {
		c.reject(path, "no document says how AS%d would do it; name the file that does under registry", n.ASN)
		return nil
	}
	var texts []string
	for _, e := range nearest {
		texts = append(texts, documented(e.Pattern.String(), e))
	}
	if len(texts) == 0 {
		c.reject(path, "no document says how AS%d would do it; see catchment community find --at %d", n.ASN, n.ASN)
		return nil
	}
	c.reject(path, "no document says how AS%d would do it; the nearest: %s", n.ASN, strings.Join(texts, "; "))
	return nil
}

// ambiguous returns another value than the first that the neighbour documents for the
// same, of the same kind and in other words.
func ambiguous(found []registry.Finding) (registry.Finding, bool) {
	for _, f := range found {
		first := found[0]
		if f.Value != first.Value && f.Value.Kind() == first.Value.Kind() && f.Entry.Owner != 0 && first.Entry.Owner != 0 &&
			registry.Plain(f.Entry.Meaning) != registry.Plain(first.Entry.Meaning) {
			return f, true
		}
	}
	return registry.Finding{}, false
}

// query is what a rung asks for; not ok if that is wrong.
func (c *checker) query(path string, raw *rawSteer, n *Neighbor) (registry.Query, []registry.Target, bool) {
	if !c.need(path, "action", "what to do: "+rules[reflect.TypeFor[verb]()].want) || c.dirty[path] {
		return registry.Query{}, nil, false
	}
	q := registry.Query{At: n.ASN, Verb: registry.Verb(*raw.Action)}
	targets := []registry.Target{{}}
	if raw.Towards != nil {
		var err error
		if targets, err = registry.ParseTowards(*raw.Towards); err != nil {
			c.reject(join(path, "towards"), "%s", err)
		}
	}
	times, number := join(path, "times"), join(path, "value")
	switch {
	case q.Verb == registry.Prepend && raw.Times == nil:
		c.reject(path, "prepend how many times? Write for example times: 2")
	case q.Verb == registry.Prepend:
		// The neighbour's prepends make the path as long as our own would.
		q.Number = uint32(c.prepend(times, raw.Times, n))
		if q.Number == 0 && !c.bad[times] {
			c.reject(times, "0 times is no prepend; write 1 or more")
		}
	case raw.Times != nil:
		c.reject(times, "%s is not done a number of times; remove the key", q.Verb)
	}
	switch {
	case q.Verb.Numbered() && q.Verb != registry.Prepend && raw.Value == nil:
		c.reject(path, "%s needs the value to set; write for example value: 80", q.Verb)
	case q.Verb.Numbered() && q.Verb != registry.Prepend:
		q.Number = uint32(*raw.Value)
	case raw.Value != nil:
		c.reject(number, "%s sets no value; remove the key", q.Verb)
	}
	return q, targets, !c.dirty[path]
}

func (c *checker) withSteer(set community.Set, s *Steer) community.Set {
	if s == nil {
		return set
	}
	return set.Union(community.NewSet(s.Value))
}

// documented says where a value or a pattern is explained.
func documented(what string, e registry.Entry) string {
	where := e.Source.File
	if e.Source.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, e.Source.Line)
	}
	return fmt.Sprintf("%s, %s: %s", what, where, e.Meaning)
}

func rawSteerOf(s *Steer) *rawSteer {
	if s == nil {
		return nil
	}
	r := &rawSteer{Action: new(verb(s.Verb))}
	switch {
	case s.Verb == registry.Prepend:
		r.Times = new(count(s.Number))
	case s.Verb.Numbered():
		r.Value = new(metric(s.Number))
	}
	switch t := s.Target; {
	case t.ASN != 0:
		r.Towards = new(fmt.Sprintf("AS%d", t.ASN))
	case t.Name != "":
		r.Towards = new(t.Name)
	case t.Kind != "":
		r.Towards = new(string(t.Kind))
	}
	return r
}

// written are the communities of a rung that the file has as such.
func (r *Rung) written() []community.Value {
	if r.Steer == nil {
		return r.Communities
	}
	return slices.DeleteFunc(slices.Clone(r.Communities), func(v community.Value) bool { return v == r.Steer.Value })
}

// comment writes beside each steer of a printed configuration which community that is,
// and where it is documented.
func (c *Config) comment(printed *yaml.Node) {
	for i := range c.Neighbors {
		for j := range c.Neighbors[i].Ladder {
			s := c.Neighbors[i].Ladder[j].Steer
			if s == nil {
				continue
			}
			if n := under(printed, "neighbors", i, "ladder", j, "steer"); n != nil {
				n.Style, n.LineComment = yaml.FlowStyle, strings.Join(strings.Fields(documented(s.Value.String(), s.Entry)), " ")
			}
		}
	}
}

// under is the node below n by keys and places, or nil.
func under(n *yaml.Node, path ...any) *yaml.Node {
	for _, step := range path {
		switch at := step.(type) {
		case int:
			if at >= len(n.Content) {
				return nil
			}
			n = n.Content[at]
		case string:
			var found *yaml.Node
			for k := 0; k+1 < len(n.Content); k += 2 {
				if n.Content[k].Value == at {
					found = n.Content[k+1]
				}
			}
			if found == nil {
				return nil
			}
			n = found
		}
	}
	return n
}
