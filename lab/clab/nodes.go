package clab

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/google/shlex"
	"gopkg.in/yaml.v3"
)

// set is what a file says of a node, of a kind, or of all nodes.
type set struct {
	kind, image          string
	network              string
	cmd                  []string
	exec                 [][]string
	binds                []Bind
	env, sysctls, labels map[string]string
}

// layers is what nodes take over.
type layers struct {
	defaults set
	kinds    map[string]set
}

// linux is the kind of every node; none is the only network beside the links.
const (
	linux = "linux"
	none  = "none"
)

func list[V any](known map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(known)), ", ")
}

// settings reads one set.
func (p *parser) settings(n *yaml.Node, path string) set {
	var s set
	p.fields(n, path, map[string]func(*yaml.Node, string){
		"kind": func(n *yaml.Node, path string) {
			if s.kind = p.text(n, path); s.kind != linux && s.kind != "" {
				p.fail(n, path, "the kind %q is not supported; write %s, and the image says what the node does", s.kind, linux)
			}
		},
		"image": func(n *yaml.Node, path string) {
			if s.image = p.text(n, path); strings.ContainsAny(s.image, " \t\n") {
				p.fail(n, path, "%q is no name of an image", s.image)
			}
		},
		"network-mode": func(n *yaml.Node, path string) {
			if s.network = p.text(n, path); s.network != none && s.network != "" {
				p.fail(n, path, "the network mode %q is not supported; write %s", s.network, none)
			}
		},
		"cmd": func(n *yaml.Node, path string) { s.cmd = p.words(n, path, p.text(n, path)) },
		"exec": func(n *yaml.Node, path string) {
			values, at := p.texts(n, path)
			for i, text := range values {
				if words := p.words(at[i], fmt.Sprintf("%s[%d]", path, i), text); words != nil {
					s.exec = append(s.exec, words)
				}
			}
		},
		"binds":   func(n *yaml.Node, path string) { s.binds = p.binds(n, path) },
		"env":     func(n *yaml.Node, path string) { s.env = p.textMap(n, path) },
		"labels":  func(n *yaml.Node, path string) { s.labels = p.textMap(n, path) },
		"sysctls": func(n *yaml.Node, path string) { s.sysctls = p.sysctls(n, path) },
	})
	return s
}

// words splits a command as a shell would; no variable, no pipe, no wildcard.
func (p *parser) words(n *yaml.Node, path, text string) []string {
	words, err := shlex.Split(text)
	switch {
	case err != nil:
		p.fail(n, path, "%q is no command: %v", text, err)
	case len(words) == 0:
		p.fail(n, path, "there is no command")
	}
	return words
}

// sysctls are settings below net, since only those belong to a node alone.
func (p *parser) sysctls(n *yaml.Node, path string) map[string]string {
	values := p.textMap(n, path)
	for key := range values {
		if !strings.HasPrefix(key, "net.") || strings.Contains(key, "..") || strings.Contains(key, "/") {
			p.fail(n, path+"."+key, "the setting belongs to the whole machine; only those below net. are a node's own")
		}
	}
	return values
}

func (p *parser) binds(n *yaml.Node, at string) []Bind {
	var binds []Bind
	values, nodes := p.texts(n, at)
	for i, text := range values {
		where := fmt.Sprintf("%s[%d]", at, i)
		parts := strings.Split(text, ":")
		if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || !path.IsAbs(parts[1]) {
			p.fail(nodes[i], where, "%q is no bind; write SOURCE:/TARGET, or SOURCE:/TARGET:ro", text)
			continue
		}
		b := Bind{Source: parts[0], Target: path.Clean(parts[1])}
		if len(parts) == 3 {
			switch parts[2] {
			case "ro":
				b.ReadOnly = true
			case "rw":
			default:
				p.fail(nodes[i], where, "%q is no mode of a bind; write ro or rw", parts[2])
			}
		}
		for _, taken := range []string{"/", "/proc", "/sys", "/dev", "/lab"} {
			if b.Target == taken || taken != "/" && strings.HasPrefix(b.Target, taken+"/") {
				p.fail(nodes[i], where, "%s is the node's own; bind to another place", b.Target)
			}
		}
		if slices.ContainsFunc(binds, func(other Bind) bool { return other.Target == b.Target }) {
			p.fail(nodes[i], where, "%s is bound twice; keep one", b.Target)
		}
		binds = append(binds, b)
	}
	return binds
}

func (p *parser) kinds(n *yaml.Node, path string) map[string]set {
	kinds := map[string]set{}
	p.pairs(n, path, func(key, value *yaml.Node, at string) {
		if key.Value != linux {
			p.fail(key, at, "the kind %q is not supported; write %s, and the image says what the node does", key.Value, linux)
		}
		kinds[key.Value] = p.settings(value, at)
	})
	return kinds
}

// nodes reads the nodes and merges what they take over.
func (p *parser) nodes(n *yaml.Node, path string, l layers) []Node {
	var nodes []Node
	p.pairs(n, path, func(key, value *yaml.Node, at string) {
		name := p.name(key, at)
		own := p.settings(value, at)
		kind := first(own.kind, l.defaults.kind)
		if kind == "" {
			p.fail(key, at, "there is no kind; write kind: %s here or under topology.defaults", linux)
		}
		all := merge(merge(l.defaults, l.kinds[kind]), own)
		node := Node{Name: name, Kind: kind, Image: all.image, Cmd: all.cmd, Exec: all.exec, Binds: all.binds,
			Env: all.env, Sysctls: all.sysctls, Labels: all.labels, Line: key.Line}
		if node.Image == "" {
			p.fail(key, at, "there is no image")
		}
		if all.network == "" {
			p.fail(key, at, "there is no network-mode; write network-mode: %s here or under topology.defaults, for a management network is not made", none)
		}
		nodes = append(nodes, node)
	})
	switch {
	case len(nodes) == 0 && len(p.errs) == 0:
		p.fail(n, path, "there is no node")
	case len(nodes) > maxNodes:
		p.fail(n, path, "there are %d nodes; at most %d are taken", len(nodes), maxNodes)
	}
	return nodes
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// merge lays a set over another, as containerlab does: commands to run are added up, binds go by their target and texts by
// their name.
func merge(under, over set) set {
	s := set{kind: first(over.kind, under.kind), image: first(over.image, under.image), network: first(over.network, under.network)}
	if s.cmd = under.cmd; over.cmd != nil {
		s.cmd = over.cmd
	}
	s.exec = slices.Concat(under.exec, over.exec)
	for _, b := range under.binds {
		if !slices.ContainsFunc(over.binds, func(o Bind) bool { return o.Target == b.Target }) {
			s.binds = append(s.binds, b)
		}
	}
	s.binds = append(s.binds, over.binds...)
	s.env, s.sysctls, s.labels = overlay(under.env, over.env), overlay(under.sysctls, over.sysctls), overlay(under.labels, over.labels)
	return s
}

func overlay(under, over map[string]string) map[string]string {
	m := map[string]string{}
	maps.Copy(m, under)
	maps.Copy(m, over)
	return m
}

// links reads the links; every end must be a node's, and used once.
func (p *parser) links(n *yaml.Node, path string, nodes []Node) []Link {
	n = follow(n)
	switch n.Kind {
	case 0:
		return nil
	case yaml.SequenceNode:
	default:
		p.fail(n, path, "%s stands where a list of links is needed", describe(n))
		return nil
	}
	if len(n.Content) > maxLinks {
		p.fail(n, path, "there are %d links; at most %d are taken", len(n.Content), maxLinks)
		return nil
	}
	names, used := map[string]bool{}, map[Endpoint]int{}
	for _, node := range nodes {
		names[node.Name] = true
	}
	var links []Link
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		item = follow(item)
		l := Link{Line: item.Line}
		ends := false
		p.fields(item, at, map[string]func(*yaml.Node, string){"endpoints": func(n *yaml.Node, path string) {
			ends = true
			values, nodes := p.texts(n, path)
			if len(values) != 2 {
				p.fail(n, path, "a link has two ends; write [\"NODE:eth1\", \"NODE:eth1\"]")
				return
			}
			for j, end := range []*Endpoint{&l.A, &l.B} {
				*end = p.endpoint(nodes[j], path, values[j], names, used)
			}
			if l.A.Node == l.B.Node {
				p.fail(n, path, "both ends are at %s", l.A.Node)
			}
			links = append(links, l)
		}})
		if !ends {
			p.fail(item, at, "there are no endpoints; write endpoints: [\"NODE:eth1\", \"NODE:eth1\"]")
		}
	}
	return links
}

func (p *parser) endpoint(n *yaml.Node, path, text string, names map[string]bool, used map[Endpoint]int) Endpoint {
	node, iface, _ := strings.Cut(text, ":")
	e := Endpoint{node, iface}
	switch {
	case !names[node]:
		p.fail(n, path, "%q: there is no node %q", text, node)
	case !ethernet.MatchString(iface):
		p.fail(n, path, "%q: %q is no interface; write eth1 to eth999", text, iface)
	case used[e] > 0:
		p.fail(n, path, "%s is used on line %d already", text, used[e])
	default:
		used[e] = n.Line
	}
	return e
}
