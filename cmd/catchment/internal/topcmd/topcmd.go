package topcmd

import (
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/node"
)

// usualTarget is where the load controller aims by default.
const usualTarget = 0.82

// New returns the command `top`.
func New(env *cli.Env, client *centre.Client) *cobra.Command {
	edge := node.New()
	var plain bool
	var target float64
	cmd := &cobra.Command{
		Use:   "top",
		Short: "The fleet, or one node, live in the terminal",
		Long: `top shows nodes by site with state, reason, load, sessions and grants, and with
--edge one node's neighbours by service, each change at once. Keys are shown at the
bottom; ? tells more. Without a terminal, or with --plain, each change is one line.
It changes nothing.`,
		Example: "  catchment top\n  catchment top --edge unix:///run/catchment/edge.sock\n  catchment top --plain",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(target >= 0 && target <= 1) { // NaN too
				return exit.Usagef("--target %v: write a share of the capacity between 0 and 1, such as %v", target, usualTarget)
			}
			var s source = fleetSource{client: client, target: target}
			if cmd.Flags().Changed("edge") {
				if cmd.Flags().Changed("central") {
					return exit.Usagef("--edge is one node, --central a fleet: write one of them")
				}
				s = edgeSource{client: edge, now: env.Now, target: target}
			}
			in, out := terminalOf(env)
			if plain || in == nil {
				return lines(cmd.Context(), s, env.Stdout, env.Now)
			}
			return live(cmd.Context(), s, in, out, env.Now, env.Coloured())
		},
	}
	edge.Flag(cmd.Flags(), env.Getenv)
	cmd.Flags().BoolVar(&plain, "plain", false, "write a line for each change, also on a terminal")
	cmd.Flags().Float64Var(&target, "target", usualTarget, "mark (`SHARE`) on the bars of nodes that do not say what their load controller aims at")
	return cmd
}

// terminalOf is the terminal that both streams are; nil where they are none.
func terminalOf(env *cli.Env) (in, out *os.File) {
	in, readable := env.Stdin.(*os.File)
	out, writable := env.Stdout.(*os.File)
	if !readable || !writable || !env.Terminal || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, nil
	}
	return in, out
}
