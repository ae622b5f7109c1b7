// Package netlab starts small networks of real routers on one Linux machine, for tests and benchmarks.
//
// In goes a description in Go: nodes, links, router configurations. Out comes what the routers themselves say:
// the routes that they learned, the state of their sessions, their counters and logs.
//
//	lab := netlab.New(t, netlab.Root, netlab.FRRouting)
//	edge, up := lab.Node("edge"), lab.Node("frr")
//	lab.Link(edge, up, []string{"10.77.1.1/30"}, []string{"10.77.1.2/30"})
//	frr := up.FRR(netlab.FRRConfig{ASN: 65001, ...}.String())
//	netlab.Eventually(t, 5*time.Second, "route at frr", func() error { ... frr.Routes(prefix) ... })
//
// A node is a network namespace and a mount namespace: /run, /etc/frr, /var/lib and /var/log are its own, everything
// else is the machine's. Namespaces are named cl-LAB-NODE, so `ip netns exec` works on a lab that is running.
//
// Every wait is bounded. When the test ends all processes, namespaces and files of the lab are removed, and the test
// fails if something stayed. What a killed test left behind is removed by the next New on the machine.
//
// The package never touches the machine's own network, its routers, or a process that a lab did not start. It needs
// root and the Debian packages that Require names; nothing is downloaded.
package netlab
