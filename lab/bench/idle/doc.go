// Package idle measures what a speaker costs that has nothing to do: memory and processor time over a minute with ten
// services of one check each, at 1 s, and many neighbours, for catchment and for ExaBGP with its health checks.
//
// Both run at the same time, each on an edge of its own, and have their sessions with a BIRD of their own. The package
// holds benchmarks only (make bench-idle) and touches nothing outside its labs.
package idle
