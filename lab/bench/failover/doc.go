// Package failover measures how long a route outlives the service behind it: from SIGKILL of nginx to the route gone at
// BIRD and at FRR, for catchment, for ExaBGP with its health check, and for a shell script with birdc.
//
// Each has an edge, routers and an nginx of its own; all are up at the same time, and are killed in turn, at random times
// within their interval. The package holds benchmarks only (make bench-failover) and touches nothing outside its labs.
package failover
