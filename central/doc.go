// Package central is the centre: it knows the fleet, tells each edge what is
// wanted of it, and gives leave to withdraw.
//
// In go reports of edges, requests of the NOC and a store.Store; out come
// intents, answers, and documents in the store. Every decision is made by a pure
// function over the world as this process knows it (world.go): what policy/fleet
// and maintenance say of it, written to the store on the condition that what it
// was made of has not changed since. So any number of centres may stand beside
// one store, and none of them keeps anything that matters.
//
// An edge never needs the centre to go on: what it was told last stands. The
// package never changes what an edge announces by itself; it withdraws nothing
// because it has not heard of somebody, and it takes no silence for leave.
package central
