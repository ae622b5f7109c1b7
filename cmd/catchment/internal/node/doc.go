// Package node is the command line's way to one edge node on this machine: the flag
// that says where its socket is, the connection, and errors in words for people.
//
// In go the flag and a request; out comes the answer of one call, or a stream. It
// keeps no connection between calls and never tries twice.
package node
