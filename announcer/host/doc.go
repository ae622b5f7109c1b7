// Package host does what a node needs of its own kernel, by netlink (Linux):
// the service addresses (VIPs), the watch over the way back, and the default
// routes that a neighbour announced.
//
// What goes in: the whole set of VIPs or default routes that shall stand, each
// time, and the body of an UPDATE for the parser of default routes. What comes
// out: an error that names every address or route that does not stand, and a
// report when the way back of a family comes or goes.
//
// It never removes an address or a route that it did not add: what is ours
// carries a mark in the kernel, so that the process may be killed and the next
// one finds it. It decides nothing about announcements, sends no packet, and
// knows neither services nor neighbours but by the names that it is given.
//
// Adding and removing needs CAP_NET_ADMIN; watching and listing needs nothing.
package host
