package edgecmd

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/cli"
)

// completeWithin is how long a shell waits for proposals.
const completeWithin = time.Second

func (g *group) status() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "What is announced where, and why",
		Long: "status shows services, their checks, and what each neighbour was sent.\n" +
			"With --watch a terminal is redrawn; elsewhere each change is one line\n" +
			"(-o json: one document a line, -o yaml: one document), until SIGINT.",
		Example: "  catchment edge status -o json",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return g.watch(cmd.Context())
			}
			answer, err := call(cmd.Context(), g, edgev1.EdgeClient.Status, &edgev1.StatusRequest{})
			if err != nil {
				return err
			}
			return show(g, answer, g.statusTable)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and show each change")
	return cmd
}

// WriteStatus writes a status for people, as `catchment edge status` does. m is printable.
func WriteStatus(w io.Writer, m *edgev1.StatusResponse, now time.Time) error {
	return statusView{now: now}.write(w, m)
}

func (g *group) statusTable(w io.Writer, m *edgev1.StatusResponse) error {
	return statusView{now: g.env.Now(), coloured: g.env.Coloured()}.write(w, m)
}

// completeServices proposes the services of the node, if it answers.
func (g *group) completeServices(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, s := range g.servicesFor(cmd.Context()) {
		names = append(names, s.GetName())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeNeighbors proposes the neighbours of the node, if it answers.
func (g *group) completeNeighbors(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	seen := map[string]bool{}
	for _, s := range g.servicesFor(cmd.Context()) {
		for _, n := range s.GetNeighbors() {
			if !seen[n.GetName()] {
				seen[n.GetName()] = true
				names = append(names, n.GetName())
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeNeighbor proposes them for the first argument only.
func (g *group) completeNeighbor(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return g.completeNeighbors(cmd, args, prefix)
}

func (g *group) servicesFor(ctx context.Context) []*edgev1.Service {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	answer, err := call(ctx, g, edgev1.EdgeClient.Status, &edgev1.StatusRequest{})
	if err != nil {
		return nil // a completion has nowhere to say so
	}
	return answer.GetServices()
}
