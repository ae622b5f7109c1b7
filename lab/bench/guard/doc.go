// Package guard measures what a flooding neighbour costs: how long a withdrawal takes to the wire, and the memory of
// the daemon, with the flood and without it in one run. Its figures are ratios, since absolute ones are the machine's.
//
// It holds a benchmark only:
//
//	go test -run '^$' -bench . -benchtime 100x ./lab/bench/guard
//
// In goes nothing; out come the figures of the benchmark. It needs root, and never touches the machine's own network.
package guard
