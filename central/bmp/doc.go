// Package bmp is a monitoring station (RFC 7854): routers connect to it and tell which
// routes they have, and it keeps those of a few prefixes.
//
// In go connections of the routers that the configuration names ([View]), and the
// prefixes that are wanted of each ([Station.Want]). Out comes, for each, a [State]: is
// it there, has its table come whole, and which routes to these prefixes does it have
// of whom. Read are Initiation, Termination, Peer Up, Peer Down and Route Monitoring,
// of unicast IPv4 and IPv6, of one of the router's tables: Adj-RIB-In before or after
// its policy, or Loc-RIB (RFC 9069). Statistics and Route Mirroring are passed over.
//
// The input may be anything. A message that is malformed ends the connection, with the
// reason in State, and never the process; each view has one connection, of its own
// address, the newest; a message has at most [MaxMessage] octets and must arrive within
// [MessageTime]; what a view keeps is bounded by [MaxPeers], [MaxRoutes] and
// [MaxOctets]. Routes to other prefixes cost the time to read them and no memory, so that a
// full table may come.
//
// BMP has no answer: the package never writes to a router, and it decides nothing.
package bmp
