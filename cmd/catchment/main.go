// Command catchment is the command line for the NOC and for the operator of an
// edge node.
//
// In go flags and, for configurations, a file or stdin; data goes to stdout,
// messages to stderr. It exits with 0 when done, 1 when that failed, 2 for wrong
// usage or input and 3 when a safety rule refuses. It never decides anything
// about announcements itself: it asks an edge node over its unix socket, or a
// centre. Only `catchment demo` runs a node of its own, on loopback addresses.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process the hard way.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
