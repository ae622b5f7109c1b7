// Package fleet decides what a fleet of edges may lose.
//
// In goes the fleet as the centre knows it (Fleet): who announces which service,
// what each node carries and can carry, who holds a grant, which limits hold. Out
// come the answer to a request (Admit), the next state of a grant (Grant.Next),
// the nodes that a hard failure leaves announced (Keep), the turns in which nodes
// come back (Returns), what would land where (Plan), which reserves announce
// (Reserve), and each edge's part of what other networks tolerate (Shares,
// Stagger).
//
// Three rules stand behind all of it. Whoever holds a grant counts as withdrawn
// until it reports that it announces: silence frees nothing. Whoever is not seen is
// no capacity. What is not known is taken to be the worst.
//
// The package does no I/O, starts no goroutine and reads no clock. Nothing here
// locks: a caller with rivals reads the fleet, decides, and writes the grant on the
// condition that the fleet has not changed since.
package fleet
