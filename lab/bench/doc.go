// Package bench holds what the benchmarks against other programs share: medians, tables and files of figures.
//
// In go durations and other figures of one run; out come a table for people and JSON for programs. The benchmarks
// themselves are in failover and idle; `make bench-failover` and `make bench-idle` run them. The package measures
// nothing by itself and never compares figures of different runs or machines.
package bench
