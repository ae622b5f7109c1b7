// Package central measures a centre with many edges: the catchment-central binary as it is, with its embedded etcd and
// mutual TLS, and 100, 1,000 and 10,000 streams of edges that connect, wait and report as real ones do.
//
// In goes nothing; out come memory per edge, processor time, the time from one write to the last edge's
// acknowledgement, and the time until all have come back to a centre that was killed. The edges are in processes of
// their own, whose share of the machine is told; they obey nothing and announce nothing. The package holds benchmarks
// (make bench-central) and a small test of the same, and touches nothing outside its temporary folder and loopback.
package central
