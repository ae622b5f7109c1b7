package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/communitycmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/doctorcmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/edgecmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/healthcmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/labcmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/mancmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/nocmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/simcmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/supportcmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/topcmd"
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
	client := centre.New()
	root.AddCommand(nocmd.New(env, client)...)
	root.AddCommand(communitycmd.New(env, client), demoCommand(env), doctorcmd.New(env, client), healthcmd.New(env, client), labcmd.New(env), mancmd.New(env, rootOf), simcmd.New(env),
		supportcmd.New(env, client, versionText()), topcmd.New(env, client), versionCommand(env))
	client.Flags(root, env.Getenv)
	versionFlag(root)
	return root
}
