package labcmd

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/lab/clab"
	"github.com/catchment-bgp/catchment/lab/router"
)

// lg is the looking glass.
type lg struct {
	*lab
	open     func(*clab.Topology) nodes
	format   output.Simple
	registry string
}

func (l *lab) lg(open func(*clab.Topology) nodes) *cobra.Command {
	g := &lg{lab: l, open: open, format: output.Simple(output.Table)}
	c := &cobra.Command{
		Use: "lg FILE [NODE] [PREFIX]", Short: "Show what the routers of a running lab learned",
		Long: `lg is a looking glass over all routers of a running lab, or over NODE alone: one line for
each path that a router learned by BGP, and for each that a catchment-edge node announces.
PREFIX shows that prefix alone; an address, the prefixes that hold it. A router that does
not answer is named on stderr; the others are shown all the same, and the exit code is 1.`,
		Example: "  catchment lab lg lab/topologies/two-upstreams.clab.yml 198.51.100.0/24\n" +
			"  catchment lab lg lab/topologies/two-upstreams.clab.yml transit1 -o json\n" +
			"  catchment lab lg lab/topologies/two-upstreams.clab.yml --registry as57629.txt",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 3 {
				return exit.Usagef("%s needs a FILE.clab.yml, and takes a NODE and a PREFIX", c.CommandPath())
			}
			return nil
		},
		RunE: g.run,
	}
	c.Flags().VarP(&g.format, "output", "o", "how to print")
	c.Flags().StringVar(&g.registry, "registry", "", "also say what communities mean, from a `FILE` that catchment community import reads")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// question is what is asked of each router.
type question struct {
	node    string       // empty: of all
	prefix  netip.Prefix // invalid: the whole table
	address netip.Addr   // invalid, or what the prefixes must hold
}

// asked reads the arguments behind the file.
func asked(t *clab.Topology, args []string) (question, error) {
	var q question
	for i, arg := range args {
		prefix, err := netip.ParsePrefix(arg)
		address, err2 := netip.ParseAddr(arg)
		switch {
		case i == 0 && hasNode(t, arg):
			q.node = arg
		case i == 0 && len(args) == 2:
			return q, exit.Inputf("the lab %s has no node %q; there are %s", t.Name, arg, strings.Join(speakers(t), ", "))
		case err == nil && prefix != prefix.Masked():
			return q, exit.Inputf("%s has bits behind its length; write %s, or %s for all that hold it", arg, prefix.Masked(), prefix.Addr())
		case err == nil:
			q.prefix = prefix
		case err2 == nil && address.Zone() == "":
			q.address = address
		default:
			return q, exit.Inputf("%q is neither a node of the lab %s (%s) nor a prefix; write 198.51.100.0/24", arg, t.Name, strings.Join(speakers(t), ", "))
		}
	}
	if n, ok := t.Node(q.node); ok && !router.Speaks(n.Role()) {
		return q, exit.Inputf("node %s is a %s, which tells no routes; there are %s", n.Name, n.Role(), strings.Join(speakers(t), ", "))
	}
	return q, nil
}

func hasNode(t *clab.Topology, name string) bool {
	_, ok := t.Node(name)
	return ok
}

// speakers are the nodes that tell routes.
func speakers(t *clab.Topology) []string {
	var names []string
	for _, n := range t.Nodes {
		if router.Speaks(n.Role()) {
			names = append(names, n.Name)
		}
	}
	return names
}

// of asks one router.
func (q question) of(ctx context.Context, r router.Reader) ([]router.Path, error) {
	if q.prefix.IsValid() {
		return r.Routes(ctx, q.prefix)
	}
	paths, err := r.Table(ctx)
	if q.address.IsValid() {
		paths = slices.DeleteFunc(paths, func(p router.Path) bool { return !p.Prefix.Contains(q.address) })
	}
	return paths, err
}

func (g *lg) run(c *cobra.Command, args []string) error {
	t, err := g.load(args[0])
	if err != nil {
		return err
	}
	q, err := asked(t, args[1:])
	if err != nil {
		return err
	}
	meanings, err := meaningsOf(g.registry)
	if err != nil {
		return err
	}
	all, err := g.routersOf(c.Context(), t, g.open(t))
	if errors.Is(err, errNotRunning) {
		return fmt.Errorf("the lab %s does not run; write `catchment lab up %s` first", t.Name, args[0])
	}
	if err != nil {
		return err
	}
	if q.node != "" {
		all.list = slices.DeleteFunc(all.list, func(n clab.Node) bool { return n.Name != q.node })
	}
	found := make([][]router.Path, len(all.list))
	failed := all.ask(c.Context(), func(ctx context.Context, i int, r router.Reader) (err error) {
		found[i], err = q.of(ctx, r)
		return err
	})
	v := view(all.list, found, meanings, ownersOf(t))
	v.Failed = failed
	if err := g.print(v); err != nil {
		return err
	}
	if len(failed) > 0 {
		return exit.Silent(exit.Failed) // each of them has been named
	}
	return nil
}
