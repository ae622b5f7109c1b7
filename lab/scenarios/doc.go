// Package scenarios holds the end-to-end tests of catchment: the real programs, in network namespaces, between real
// routers (FRR, BIRD) and a real service (nginx).
//
// In go a topology, a configuration file, signals and commands. What is asserted is read from the routers, the kernel
// and the programs' exit codes, never from catchment's own word, except where that word is what is tested. The package
// never touches the machine's own network. Its tests need root and the packages that netlab.Require names; under CI
// they fail without them.
//
// The scenarios in the folder scripts are texts: each makes one of lab/topologies and says what its routers and clients
// must see. Its README tells what the commands do; the files scripts_*_test.go run them.
package scenarios
