// Package host does what a node needs of its own kernel, by netlink (Linux):
// the service addresses (VIPs), the watch over the way back, the default routes
// that a neighbour announced, and the return paths, by which replies leave where
// requests came in (with nftables beside).
//
// What goes in: the whole set of VIPs, default routes or return paths that shall
// stand, each time, and the body of an UPDATE for the parser of default routes.
// What comes out: an error that names everything that does not stand, and a report
// when the way back of a family comes or goes.
//
// It never removes what it did not add: what is ours carries a mark in the kernel,
// so that the process may be killed and the next one finds it. It changes no
// sysctl, decides nothing about announcements, sends no packet but what the kernel
// itself sends to find a router's MAC address, and knows neither services nor
// neighbours but by the names that it is given.
//
// Adding and removing needs CAP_NET_ADMIN, and so does listing what is in
// nftables; watching and listing all else needs nothing.
package host
