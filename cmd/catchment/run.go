package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/edgecmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/nocmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/simcmd"
)

// run is the whole program: it returns the exit code. Cancelling ctx is what
// SIGINT does.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	env := cli.NewEnv(stdin, stdout, stderr)
	return cli.Execute(ctx, env, rootOf(env), args)
}

// rootOf is the whole tree of commands.
func rootOf(env *cli.Env) *cobra.Command {
	root := cli.Group("catchment", "An anycast controller that speaks BGP",
		"catchment shows and steers what anycast nodes announce, and why.",
		edgecmd.New(env))
	noc, flags := nocmd.New(env)
	root.AddCommand(noc...)
	root.AddCommand(demoCommand(env), simcmd.New(env), versionCommand(env))
	flags(root)
	versionFlag(root)
	return root
}
