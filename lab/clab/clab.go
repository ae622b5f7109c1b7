package clab

import (
	"path"
	"strings"
)

// Topology is a whole lab.
type Topology struct {
	Name  string
	File  string // the file's absolute path; empty when only a text was read
	Nodes []Node // in the file's order
	Links []Link // in the file's order
}

// Node is one machine of a lab, with what it takes from its kind and from the defaults.
type Node struct {
	Name string
	// Kind is containerlab's word for how to treat the node: "linux" always.
	Kind string
	// Image is the container image: "catchment-lab/frr:latest".
	Image string
	// Cmd are the arguments for the image's start script.
	Cmd []string
	// Exec are commands that run in the node one after the other, once all links are there. No shell reads them.
	Exec [][]string
	// Binds are files and folders that the node sees.
	Binds []Bind
	// Env, Sysctls and Labels are as in the file.
	Env, Sysctls, Labels map[string]string
	// Line is where the node stands in the file, from 1.
	Line int
}

// Role is the last word of the image's name, without its tag: "frr" of "catchment-lab/frr:latest". It says what the node
// does, and is what users see as its kind.
func (n Node) Role() string {
	name, _, _ := strings.Cut(path.Base(n.Image), "@")
	name, _, _ = strings.Cut(name, ":")
	return name
}

// Bind is a file or folder of the host that a node sees.
type Bind struct {
	Source   string // on the host; absolute when the topology came from a file
	Target   string // in the node; absolute
	ReadOnly bool
}

// Link joins two interfaces.
type Link struct {
	A, B Endpoint
	Line int // in the file, from 1
}

// Endpoint is an interface of a node.
type Endpoint struct{ Node, Interface string }

// String writes the endpoint as in the file: "frr1:eth1".
func (e Endpoint) String() string { return e.Node + ":" + e.Interface }

// Node finds a node by its name.
func (t *Topology) Node(name string) (Node, bool) {
	for _, n := range t.Nodes {
		if n.Name == name {
			return n, true
		}
	}
	return Node{}, false
}

// Interfaces lists a node's interfaces in the order of the links.
func (t *Topology) Interfaces(node string) []string {
	var names []string
	for _, l := range t.Links {
		for _, e := range []Endpoint{l.A, l.B} {
			if e.Node == node {
				names = append(names, e.Interface)
			}
		}
	}
	return names
}
