// Package runner makes labs of namespaces from containerlab's topologies.
//
// In goes a [clab.Topology]; out come nodes: each is a network, a mount, a pid, a uts
// and an ipc namespace around the image's start script, which is the node's process 1.
// A node sees the machine's own files, and what it writes is its alone and gone with it:
// its root is an overlay in memory. Links are veth pairs between the nodes.
//
// Nothing runs beside the nodes, and nothing of them outlives their process 1: [Down] ends
// that, and the kernel takes processes, mounts and interfaces away. A lab is found again by
// the label in the environment of its processes, so a runner that died leaves nothing that
// the next [Up] or [Down] of that name does not find. Labs of different names share nothing.
//
// It needs root, Linux 5.8 or later and overlayfs. It never touches the machine's own
// interfaces, routes or files, but for the folder [BaseDir].
package runner
