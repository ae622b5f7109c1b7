// Package guard stands between one router and one BGP server of this process.
//
// In goes a Config: who the router is, how to reach it, what to say in our
// OPEN, and where the BGP server (the leg) listens on the loopback. Out come a
// BGP session with the router, the bytes of every UPDATE that was written to
// it, and events that say what became of the session.
//
// The guard owns the TCP connection to the router: it dials or accepts it, sets
// its options (local address, device, TTL, GTSM, MD5), writes our OPEN and
// parses the router's with a strict codec of its own. To the leg it writes an
// OPEN that it composed, KEEPALIVEs, and ROUTE-REFRESHes that it composed. What
// the leg writes goes to the router unchanged.
//
// The guard never lets a byte that the router wrote reach the leg, never reads
// the body of an inbound UPDATE unless Config.Received asks for it, never
// allocates per message, and never lets what the router sends delay what is
// sent to it. It decides nothing about routes.
//
// It imports neither the other packages of this module nor a BGP library.
//
// RFCs: 4271 (BGP-4), 5492 (capabilities), 9072 (extended optional parameters),
// 4760 (multiprotocol), 6793 (4-octet AS numbers), 2918 and 7313 (route
// refresh), 8950 (IPv4 over IPv6 next hops), 9234 (roles), 6286 (identifiers),
// 4486 and 9003 (Cease subcodes and texts), 6608 (FSM errors), 9687 (send hold
// timer), 5082 (GTSM), 2385 (TCP MD5).
package guard
