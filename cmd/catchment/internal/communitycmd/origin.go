package communitycmd

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/mrt"
	"github.com/catchment-bgp/catchment/community/registry"
)

func (g *group) origin() *cobra.Command {
	var file, prefix string
	cmd := verb("origin", "Which node serves whom, from a route collector's file",
		`origin reads MRT (tables and updates, plain, gzip or bzip2) and prints for each of the
collector's peers from which tagged node its route to our prefix comes. Nodes are those
of the fleet's tags, or with --from the meanings of the informational entries. Of a torn
file it says what could be read, and where it is torn.`,
		"  catchment community origin --mrt rib.20261130.0800.bz2 --prefix 203.0.113.0/24\n"+
			"  zcat updates.gz | catchment community origin --mrt - --prefix 2001:db8::/48 --from ours.txt -o json", 0,
		func(ctx context.Context, _ []string) error { return g.runOrigin(ctx, file, prefix) })
	cmd.Flags().StringVar(&file, "mrt", "", "read MRT from `FILE`; -: stdin (needed)")
	cmd.Flags().StringVar(&prefix, "prefix", "", "our `PREFIX`, exactly as it is announced (needed)")
	return g.documented(g.printed(cmd))
}

func (g *group) runOrigin(ctx context.Context, file, prefix string) error {
	if file == "" || prefix == "" {
		return exit.Usagef("--mrt FILE and --prefix PREFIX are needed")
	}
	p, err := netip.ParsePrefix(prefix)
	if err != nil {
		return exit.Usagef("--prefix %q is no prefix; write for example 203.0.113.0/24", prefix)
	}
	if file == "-" && slices.Contains(g.from, "-") {
		return exit.Usagef("stdin is read once: as --mrt or as --from")
	}
	docs, err := g.load(ctx)
	switch {
	case err != nil && len(g.from) == 0 && !g.Named() && exit.Code(err) == exit.Failed && ctx.Err() == nil:
		g.say("warning: no tag is known, so no node is: %s; --from names documents", err)
	case err != nil:
		return err
	}
	f, err := g.open(file)
	if err != nil {
		return err
	}
	defer f.Close() // of a file that was read only
	reader := mrt.NewReader(&until{ctx, f})
	report := mrt.Origin(reader, p, docs.node())
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := g.show(report, func(w io.Writer) { originTable(w, report) }); err != nil {
		return err
	}
	if reader.Stats().Records == 0 && len(report.Problems) > 0 && alien(report.Problems[0]) {
		return exit.Inputf("%s: %s", file, report.Problems[0])
	}
	if g.format == output.Table {
		for _, p := range report.Problems {
			g.say("%s: %s", file, p)
		}
	}
	return nil
}

// alien reports whether a file is no MRT at all, rather than a torn one.
func alien(p mrt.Problem) bool {
	return strings.Contains(p.Reason, "this is no MRT") || strings.Contains(p.Reason, "compressed with")
}

// until is a reader that ends with its context.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// node returns what says which node a value is the tag of: a node's name for a tag of the
// fleet, else the meaning of an informational entry. What RFCs define is no tag.
func (d *documents) node() func(community.Value) (string, bool) {
	info := slices.DeleteFunc(slices.Clone(d.Entries), func(e registry.Entry) bool { return e.Kind != registry.KindInfo })
	known := registry.New(info...)
	return func(v community.Value) (node string, ok bool) {
		if names := d.nodes[v]; len(names) > 0 {
			return strings.Join(names, ", "), true
		}
		if n, ok := v.Standard(); ok && n>>16 == 0xFFFF {
			return "", false
		}
		for _, m := range known.Explain(v) {
			return m.Text(), true
		}
		return "", false
	}
}

func originTable(w io.Writer, r mrt.Report) {
	grid := output.Grid{Titles: []string{"PEER", "ADDRESS", "NODE", "AS PATH", "COMMUNITIES"}}
	for _, p := range r.Peers {
		grid.Row(cells(fmt.Sprintf("AS%d", p.ASN), p.Address.String(), p.Node, p.Path.String(), strings.Join(p.Communities.Strings(), " "))...)
	}
	_ = grid.Write(w) // a buffer takes everything
	if len(r.Peers) > 0 {
		fmt.Fprintln(w)
	}
	grid = output.Grid{Titles: []string{"NODE", "ROUTES"}}
	for _, node := range slices.SortedFunc(maps.Keys(r.Totals), func(a, b string) int {
		if r.Totals[a] != r.Totals[b] {
			return r.Totals[b] - r.Totals[a]
		}
		return strings.Compare(a, b)
	}) {
		grid.Row(cells(node, fmt.Sprint(r.Totals[node]))...)
	}
	grid.Row(cells("of no node", fmt.Sprint(r.Untagged))...)
	if r.Withdrawn > 0 {
		grid.Row(cells("withdrawn", fmt.Sprint(r.Withdrawn))...)
	}
	_ = grid.Write(w)
}
