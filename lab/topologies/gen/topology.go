package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// topology is a lab in the making. Links number the interfaces of their nodes and, unless they end at a switch, give them
// addresses.
type topology struct {
	name    string
	about   string // what the file says of itself, without the # of its lines
	nodes   []*node
	links   []string
	subnets int
	problem error             // the last thing that cannot be
	files   map[string]string // configurations by their names, below the folder of the topology
}

// node is one machine.
type node struct {
	name, image string
	env         []string // KEY: value, as YAML
	client      bool     // has the label of clients
	binds       []string // NAME:/TARGET; NAME is below the folder of the topology
	exec        []string
	interfaces  int
}

func newTopology(name, about string) *topology {
	return &topology{name: name, about: about, files: map[string]string{}}
}

func (t *topology) add(name, image string) *node {
	n := &node{name: name, image: image}
	t.nodes = append(t.nodes, n)
	return n
}

// bind gives a node a file of the topology; several nodes may have the same.
func (t *topology) bind(n *node, file, target, text string) {
	if was, ok := t.files[file]; ok && was != text {
		t.problem = fmt.Errorf("%s: two texts for %s", t.name, file)
	}
	t.files[file] = text
	n.binds = append(n.binds, file+":"+target+":ro")
}

// next is the name of a node's next interface.
func (n *node) next() string {
	n.interfaces++
	return fmt.Sprintf("eth%d", n.interfaces)
}

// wire is a link with a subnet of its own.
type wire struct{ subnet, a, b string }

// wire links two nodes, with addresses at both ends.
func (t *topology) wire(a, b *node) wire {
	t.subnets++
	return t.wireIn(fmt.Sprintf("10.77.%d.", t.subnets), a, b)
}

// wireIn is wire with the first three bytes of the addresses.
func (t *topology) wireIn(base string, a, b *node) wire {
	w := wire{base + "0/30", base + "1", base + "2"}
	ia, ib := a.next(), b.next()
	a.run("ip addr add %s/30 dev %s", w.a, ia)
	b.run("ip addr add %s/30 dev %s", w.b, ib)
	t.links = append(t.links, fmt.Sprintf("[%q, %q]", a.name+":"+ia, b.name+":"+ib))
	return w
}

// plug links a node to a switch, with the address that it has there.
func (t *topology) plug(n, sw *node, address string) {
	in, is := n.next(), sw.next()
	n.run("ip addr add %s dev %s", address, in)
	t.links = append(t.links, fmt.Sprintf("[%q, %q]", n.name+":"+in, sw.name+":"+is))
}

// run adds a command to those that make the node's network.
func (n *node) run(format string, args ...any) { n.exec = append(n.exec, fmt.Sprintf(format, args...)) }

// output lists all files of the topology by their paths below lab/topologies.
func (t *topology) output() map[string]string {
	out := map[string]string{t.name + ".clab.yml": t.String()}
	for name, text := range t.files {
		out[path.Join(t.name, name)] = text
	}
	return out
}

// String is the file for containerlab.
func (t *topology) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for text := range strings.Lines(t.about) {
		line("%s", strings.TrimSpace("# "+strings.TrimSuffix(text, "\n")))
	}
	line("#\n# Written by lab/topologies/gen: change that, and run go generate ./lab/topologies/gen.")
	line("name: %s\ntopology:\n  defaults:\n    kind: linux\n    network-mode: none\n  nodes:", t.name)
	for _, n := range t.nodes {
		line("    %s:\n      image: catchment-lab/%s:latest", n.name, n.image)
		if len(n.env) > 0 {
			line("      env: {%s}", strings.Join(n.env, ", "))
		}
		if n.client {
			line("      labels: {client: \"yes\"}")
		}
		if len(n.binds) > 0 {
			line("      binds:")
			for _, bind := range n.binds {
				line("        - %s/%s", t.name, bind)
			}
		}
		if len(n.exec) > 0 {
			line("      exec:")
			for _, command := range n.exec {
				line("        - %s", command)
			}
		}
	}
	line("  links:")
	for _, l := range t.links {
		line("    - endpoints: %s", l)
	}
	return b.String()
}

// named finds a node that must be there.
func (t *topology) named(name string) *node {
	return t.nodes[slices.IndexFunc(t.nodes, func(n *node) bool { return n.name == name })]
}
