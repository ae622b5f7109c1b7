// Package registry knows what communities mean: which network documents a value or a
// pattern of values, where, and what it does.
//
// In go entries, as importers read them from documents or a centre made them of its
// tags; out come explanations of a value with its sources, best first ([Registry.Explain]),
// and the value to send to get something done ([Registry.Find]). The communities that
// RFCs give a meaning everywhere are always there. Of entries alone it tells what is wrong
// with them ([Lint]), how two sets differ ([Diff]), and what is published otherwise than
// ours ([Verify]).
//
// A registry is never changed once it is made, and may be used by many goroutines. It
// does no I/O. It never says that a value means nothing: only that no document at hand
// says so; and where two documents differ it gives both.
package registry
