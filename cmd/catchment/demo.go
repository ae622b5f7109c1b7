package main

import (
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/lab/demo"
)

// demoCommand plays the demo.
func demoCommand(env *cli.Env) *cobra.Command {
	var keep, logs, fleet bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show a node, or two and a centre, at work on this machine alone",
		Long: `demo runs two upstream routers, a small HTTP service and a real edge node in one
process, on loopback addresses and high ports. It needs neither root nor a router
installed, and touches no address and no route of the machine. After each step it
prints what each upstream's own table holds, and how long that took. With --fleet
it is two nodes and a centre.`,
		Example: "  catchment demo\n  catchment demo --fleet --keep",
		Args:    cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o := demo.Options{Out: env.Stdout, Keep: keep}
			if logs {
				o.Log = slog.New(slog.NewTextHandler(env.Stderr, nil))
			}
			// Whoever reads may leave early; what was started is ended all the same.
			signal.Ignore(syscall.SIGPIPE)
			if fleet {
				return demo.RunFleet(c.Context(), o)
			}
			return demo.Run(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&fleet, "fleet", false, "show two nodes and a centre: tags, maintenance, refusals")
	c.Flags().BoolVar(&keep, "keep", false, "leave everything running, with the commands to try printed, until Ctrl-C")
	c.Flags().BoolVar(&logs, "logs", false, "print the node's log lines to stderr")
	return c
}
