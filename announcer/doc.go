// Package announcer makes each neighbour know exactly what it shall know.
//
// In goes, per neighbour, everything that the neighbour is to be told (Set) and
// the sessions that are to exist (SetNeighbors). Out come BGP UPDATEs, and what
// really stands at each neighbour: the routes as they were written to its socket
// (Status), never what was merely asked for.
//
// Each neighbour has an embedded GoBGP server of its own, so that one
// neighbour's routes, session and troubles never touch another's. Between the
// server and the router stands the guard (package guard), which owns the TCP
// connection and drops every inbound UPDATE unread.
//
// A failure leaves the wanted routes in place: they are tried again until they
// stand. A withdrawal that is not on the wire within five seconds ends the
// session, which withdraws it too.
//
// The package never decides what to announce, never learns a route (but the
// default route where AcceptDefault asks for it) and never touches addresses of
// this machine.
package announcer
