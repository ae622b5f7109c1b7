// Package mrt reads what route collectors record (MRT, RFC 6396 and RFC 8050) and says
// who serves whom: at each peer of a collector, which tagged node the route to a
// prefix comes from.
//
// In goes a file or a stream, plain, gzip or bzip2 as its first octets tell
// ([NewReader]). Out come the routes to one prefix ([Reader.Routes]), or all of them in
// the order of the file ([Reader.All]); and one [Problem] with its offset for whatever
// could not be read. [Origin] makes the report of the routes.
//
// Read are
//
//	TABLE_DUMP      IPv4 and IPv6, also in the layout of 2000, with many routes in a record
//	TABLE_DUMP_V2   PEER_INDEX_TABLE, RIB_IPV4_UNICAST and RIB_IPV6_UNICAST, and with _ADDPATH
//	BGP4MP, _ET     MESSAGE, MESSAGE_AS4, their _LOCAL and _ADDPATH forms, STATE_CHANGE,
//	                STATE_CHANGE_AS4, and ENTRY, which is obsolete
//	BGP             UPDATE and STATE_CHANGE, the type 5 that collectors wrote until 2001
//
// Of the address families only unicast IPv4 and IPv6 are. Records of other types, such as
// RIB_GENERIC, are passed over and counted in a Problem.
//
// The input may be anything. The package never panics on it and never asks for memory that
// a length in it claims, only for what has been read; a record may have at most
// [MaxRecord] octets, and the routes to one prefix [MaxRoutes]. Where lengths do not add up,
// nothing is guessed: the record is left out, with a Problem. It starts no goroutine,
// and does no I/O but to read what it is given.
package mrt
