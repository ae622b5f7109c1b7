// Package load finds out how much a node's links and the node itself carry, with
// the time at which each figure was true.
//
// In goes a Config: the links with their sources and capacities, the node's
// resources to watch, and whose connections tell of quality. Out come figures, by
// the functions of a Handler:
//
//	s, err := load.New(config)          // opens its netlink sockets here
//	err = s.Run(ctx, load.Handler{      // until ctx ends; one call at a time
//		Link:    func(link string, f load.Sample) {...}, // bit/s, newer than the last one
//		Node:    func(n load.Node) {...},                // utilization of 1, and of what
//		Quality: func(list []load.Quality) {...},        // round trips and retransmits by neighbour
//	})
//	s.Status()                          // for metrics: state, age and refusals of each source
//	s.SetMarks(map[uint32]string{...})  // connection marks of `return: symmetric`
//
// A missing figure is no figure: it is never reported as zero, and nothing is
// repeated. Whoever takes the figures tells from Sample.At how old they are.
//
// What it never does: it decides nothing, changes nothing on the machine, and
// logs one line when a source fails or recovers and none for a figure. It imports
// nothing of ours.
//
// # Links
//
// A link has one source or two. The load of a link is that of its busier
// direction, since a full-duplex link has its capacity in each: for a node that
// serves downloads that is what it transmits. A Direction says otherwise.
//
//   - Interface: the kernel's 64-bit counters, by netlink every second. A counter
//     that went backwards, another interface under the name (or the same one back
//     after it vanished) begin anew, without a figure.
//   - Feed: a JSON document over HTTP, see Feed.
//   - Prometheus: an instant query, see Prometheus.
//
// With two sources (Fast, Exact) the figure follows the fast one and is corrected
// by the exact one: see Estimator.
//
// The capacity in a Sample is the configured one, or the live speed of the
// interface where that is less or nothing is configured. A configured capacity is
// bounded by the speed of hardware, bonds, teams and what stands on them (VLANs)
// only: what other virtual devices call their speed is an invention of the driver
// (veth: 10 Gbit/s), and counts where nothing is configured.
//
// # Sources that lie
//
// A figure that is negative, no number, from the future, older than the one before
// or ten times the capacity is refused and counted (Reason), and goes into no
// average.
//
// # The node
//
// CPU, network interfaces, disks, pressure (PSI) and TCP sessions become
// utilizations of 1; the greatest is the node's: see Resources.
//
// # Quality
//
// The round trip times and retransmits that the kernel keeps for each connection
// of the VIPs, by neighbour: see Quality.
package load
