// Package policy decides, and nothing else does.
//
// In goes what is configured (Config), what was remembered (State) and what is
// the case now (Input, with the time). Out come what to remember and the whole
// Decision: for every service, neighbour and address family how strongly it is
// announced, for which reason, and when to ask again. The same arguments always
// give the same answer.
//
// Everything that speaks against announcing is a Cause. Causes combine by
// severity, so that nothing announces a dead service; the rank of their reasons
// only names the outcome.
//
// The package does no I/O, starts no goroutine and reads no clock.
package policy
