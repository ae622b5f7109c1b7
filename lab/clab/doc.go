// Package clab reads containerlab's topology files.
//
// In goes a file `NAME.clab.yml` (https://containerlab.dev/manual/topo-def-file/), or
// its text; out comes a [Topology] in which defaults and kinds are already merged into
// each node, or every error with its line. Only a strict subset is taken:
//
//	name
//	topology.defaults, topology.kinds, topology.nodes with
//	    kind, image, binds, exec, env, sysctls, cmd, labels, network-mode
//	topology.links with endpoints
//
// Whatever this package takes, stock containerlab takes too, and means the same by it;
// an unknown key is an error that names the line. It never starts anything, and reads no
// file but the one given.
package clab
