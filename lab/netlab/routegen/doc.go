// Package routegen is a small BGP speaker for tests: it says to a router what no sane router would.
//
// In go whole messages, well-formed or not; out comes every message that the other side sent, with the time of its
// arrival. It speaks enough of RFC 4271 to bring a session up (OPEN with 4-octet ASNs, RFC 6793, and KEEPALIVEs) and to
// keep it. It checks little, keeps no routes, decides nothing and never reconnects.
//
// Sockets are made by the calling goroutine: call Dial and Listen inside netlab's Node.Do and they belong to that node.
package routegen
