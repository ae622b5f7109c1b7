// Package centre is the command line's way to a centre: the flags that say where it is
// and who calls, the connection, and errors in words for people.
//
// In go the flags and a request; out comes the answer of one call. It keeps no
// connection between calls and never tries twice.
package centre
