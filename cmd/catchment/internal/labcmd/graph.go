package labcmd

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/graph"
	"github.com/catchment-bgp/catchment/lab/router"
)

func (l *lab) graph(open func(*clab.Topology) nodes) *cobra.Command {
	file := ""
	c := &cobra.Command{
		Use: "graph FILE", Short: "Draw a lab, with its BGP sessions while it runs", Args: oneFile,
		Long: `graph draws the topology as one picture in SVG. While the lab runs, it shows which BGP
sessions are up; what a router says of one that is not stands in the tooltip of its line.
A router that does not answer is named on stderr, and the exit code is 1.`,
		Example: "  catchment lab graph lab/topologies/two-upstreams.clab.yml --output two-upstreams.svg",
		RunE: func(c *cobra.Command, args []string) error {
			t, err := l.load(args[0])
			if err != nil {
				return err
			}
			return l.draw(c.Context(), t, open(t), file)
		},
	}
	c.Flags().StringVar(&file, "output", "", "write to `FILE.svg` instead of stdout")
	return c
}

// draw writes the picture to a file, or to stdout when that is empty.
func (l *lab) draw(ctx context.Context, t *clab.Topology, nodes nodes, file string) error {
	g := graph.Graph{Title: t.Name}
	for _, n := range t.Nodes {
		g.Nodes = append(g.Nodes, graph.Node{Name: n.Name, Kind: n.Role()})
	}
	for _, link := range t.Links {
		g.Links = append(g.Links, graph.Link{A: graph.End(link.A), B: graph.End(link.B)})
	}
	var failed []string
	all, err := l.routersOf(ctx, t, nodes)
	switch {
	case errors.Is(err, errNotRunning):
	case err != nil:
		return err
	default:
		var told []told
		told, failed = all.sessions(ctx)
		m := newMatch(t, told)
		g.Sessions = m.sessions()
		for i, n := range g.Nodes {
			g.Nodes[i].Label = m.label(n.Name)
		}
		for _, text := range m.strangers {
			if err := l.say("%s", text); err != nil {
				return err
			}
		}
	}
	picture, err := g.SVG()
	if err != nil {
		return exit.Inputf("%s: %w", t.File, err)
	}
	if file == "" {
		_, err = l.env.Stdout.Write(picture)
	} else {
		err = os.WriteFile(file, picture, 0o644)
	}
	if err == nil && len(failed) > 0 {
		return exit.Silent(exit.Failed) // each of them has been named
	}
	return err
}

// sessions asks all routers for their sessions and their addresses.
func (r routers) sessions(ctx context.Context) ([]told, []string) {
	all := make([]told, len(r.list))
	for i, n := range r.list {
		all[i] = told{node: n.Name, addresses: planned(n)}
	}
	failed := r.ask(ctx, func(ctx context.Context, i int, reader router.Reader) error {
		bound, cancel := context.WithTimeout(ctx, router.AnswerWithin)
		defer cancel()
		text, err := r.nodes.run(bound, r.list[i].Name, "ip", "-j", "addr", "show")
		if err != nil {
			return err
		}
		has, err := parseAddresses([]byte(text))
		if err != nil {
			return err
		}
		all[i].addresses = append(all[i].addresses, has...)
		all[i].neighbors, err = reader.Sessions(ctx)
		return err
	})
	return all, failed
}
