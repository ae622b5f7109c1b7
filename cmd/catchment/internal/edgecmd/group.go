package edgecmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/node"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

const redrawEvery = time.Second

// group is what all verbs share.
type group struct {
	env    *cli.Env
	node   *node.Client
	format output.Format
	redraw time.Duration // of a watch on a terminal
}

// New returns the command `edge`.
func New(env *cli.Env) *cobra.Command { return newGroup(env).command() }

func newGroup(env *cli.Env) *group {
	return &group{env: env, node: node.New(), format: output.Table, redraw: redrawEvery}
}

func (g *group) command() *cobra.Command {
	cmd := cli.Group("edge", "See and steer one edge node",
		"edge speaks to catchment-edge on this machine over its unix socket.",
		g.status(), g.why(),
		g.override("drain", "Ask clients to leave (GSHUT), then withdraw",
			"  catchment edge drain video --reason 'replacing a disk' --for 30m"),
		g.override("withdraw", "Withdraw at once",
			"  catchment edge withdraw video --neighbor transit-a --reason 'loss in transit-a'"),
		g.override("announce", "Announce although a soft check or load says no",
			"  catchment edge announce video --reason 'the check is wrong' --for 2h"),
		g.auto(), g.pin(), g.unpin(), g.plan(), g.apply(), g.confirm(), g.rollback())

	flags := cmd.PersistentFlags()
	g.node.Flag(flags, g.env.Getenv)
	flags.VarP(&g.format, "output", "o", "how to print")
	// It fails for a flag that does not exist only.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(output.Formats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Usagef("%s takes one service at most, or none for all: %q is one too many", cmd.CommandPath(), args[1])
	}
	return nil
}

// table writes a message for people.
type table[M proto.Message] func(w io.Writer, m M) error

// show writes an answer in the format that was asked for.
func show[M proto.Message](g *group, m M, t table[M]) error {
	var err error
	switch g.format {
	case output.JSON:
		err = output.WriteJSON(g.env.Stdout, m)
	case output.YAML:
		err = output.WriteYAML(g.env.Stdout, m)
	default:
		err = t(g.env.Stdout, output.Printable(m))
	}
	if err != nil {
		return fmt.Errorf("the node has answered, but the answer cannot be written: %w", err)
	}
	return nil
}

// call asks the node once.
func call[Req, Resp any](ctx context.Context, g *group, m node.Method[Req, Resp], request Req) (Resp, error) {
	return node.Call(ctx, g.node, m, request)
}
