// Package update reads the BGP UPDATE messages that collectors record and routers
// mirror: prefixes of unicast IPv4 and IPv6, AS_PATH, next hop and communities
// (RFC 4271, 1997, 4360, 4760, 6793, 7911, 8092).
//
// In go octets, of an UPDATE ([Attributes.Fields]) or of path attributes alone
// ([Attributes.Split]). Out come values, or an error where lengths do not add up:
// nothing is guessed then. An attribute is decoded only when it is asked for.
//
// The input may be anything. The package never panics on it, allocates only for what it
// decodes, and keeps nothing: what Attributes and Field hold are parts of the input. It
// does no I/O and starts no goroutine.
package update
