package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/edgecmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/simcmd"
)

// run is the whole program: it returns the exit code. Cancelling ctx is what
// SIGINT does.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	env := cli.NewEnv(stdin, stdout, stderr)
	root := cli.Group("catchment", "An anycast controller that speaks BGP",
		"catchment shows and steers what anycast nodes announce, and why.",
		commands(env)...)
	versionFlag(root)
	return cli.Execute(ctx, env, root, args)
}

// commands are what stands below `catchment`. Another group is one more line.
func commands(env *cli.Env) []*cobra.Command {
	return []*cobra.Command{
		edgecmd.New(env),
		demoCommand(env),
		simcmd.New(env),
		versionCommand(env),
	}
}
