package nocmd

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

func (g *group) node() *cobra.Command {
	return g.holder("node", "See and mark the nodes of the fleet", "node speaks to the centre about single nodes.",
		verb("list", "All nodes and how they stand", "catchment --central 127.0.0.1:7179 node list -o json", g.listNodes),
		verb("show NODE", "One node in full", "catchment node show msk1", func(ctx context.Context, args []string) error {
			n, err := call(ctx, g, centralv1.FleetClient.GetNode, &centralv1.GetNodeRequest{Name: args[0]})
			if err != nil {
				return err
			}
			return show(g, n, NodeText)
		}),
		g.tag(), g.untag(),
		g.setNode("disable NODE", "Take a node out until it is enabled again", "catchment node disable msk1 --reason 'rack is moved'", true, func(r *centralv1.SetNodeRequest) { r.Disabled = new(bool); *r.Disabled = true }),
		g.setNode("enable NODE", "Let a disabled node announce again", "catchment node enable msk1 --reason 'rack has moved'", false, func(r *centralv1.SetNodeRequest) { r.Disabled = new(bool) }),
		g.standby(),
		g.setNode("forget NODE", "Remove a node that is gone for good", "catchment node forget msk1 --reason 'sold'", false, func(r *centralv1.SetNodeRequest) { r.Forget = true }),
		g.joinToken(), g.join())
}

func (g *group) listNodes(ctx context.Context, _ []string) error {
	m, err := call(ctx, g, centralv1.FleetClient.ListNodes, &centralv1.ListNodesRequest{})
	if err != nil {
		return err
	}
	return list(g, m.GetNodes(), g.nodesTable)
}

func (g *group) nodesTable(w io.Writer, all []*centralv1.Node) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no node has said hello yet")
		return
	}
	grid := output.Grid{Titles: []string{"NODE", "SITE", "STATE", "REASON", "LOAD", "TAGS", "LAST SEEN", "VERSION"}}
	for _, n := range all {
		state := n.GetState() + yes(n.GetDisabled(), " disabled") + yes(n.GetStandby(), " standby")
		row := cells(n.GetName(), n.GetSite(), state, n.GetReason(), loadText(n), tagsText(n), clock(n.GetLastSeen()), n.GetVersion())
		row[2].Colour = colour(g.env.Coloured(), n.GetState())
		grid.Row(row...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

// loadText adds the links up; empty where nothing is known.
func loadText(n *centralv1.Node) string {
	load, capacity := 0.0, 0.0
	for _, l := range n.GetLinks() {
		if l.GetKnown() {
			load, capacity = load+l.GetLoad(), capacity+l.GetCapacity()
		}
	}
	switch {
	case capacity > 0:
		return percent(load/capacity) + " of " + rate(capacity)
	case load > 0:
		return rate(load)
	}
	return ""
}

func tagsText(n *centralv1.Node) string {
	var out []string
	for _, t := range n.GetTags() {
		out = append(out, t.GetValue())
	}
	return strings.Join(out, " ")
}

// NodeText writes a node in full, as `catchment node show` does. n is printable.
func NodeText(w io.Writer, n *centralv1.Node) {
	fmt.Fprintf(w, "%s  %s", n.GetName(), n.GetState())
	if n.GetReason() != "" {
		fmt.Fprintf(w, " (%s)", n.GetReason())
	}
	if n.GetSite() != "" {
		fmt.Fprintf(w, "  site %s", n.GetSite())
	}
	fmt.Fprintf(w, "  AS %d  version %s  last seen %s\n", n.GetAsn(), n.GetVersion(), clock(n.GetLastSeen()))
	if n.GetState() == "unseen" && !n.GetConnected() && len(n.GetServices()) > 0 {
		fmt.Fprintln(w, "it is not connected: what follows is what it said last")
	}
	if n.GetNoCapacity() != "" {
		fmt.Fprintf(w, "no capacity: %s\n", n.GetNoCapacity())
	}
	if n.GetDisabled() {
		fmt.Fprintln(w, "disabled")
	}
	if n.GetStandby() {
		fmt.Fprintln(w, "standby: announces only when nothing else absorbs")
	}
	if n.GetGeneration() != n.GetWantedGeneration() {
		fmt.Fprintf(w, "intent %d in force, %d sent\n", n.GetGeneration(), n.GetWantedGeneration())
	}
	for _, text := range n.GetNotUnderstood() {
		fmt.Fprintf(w, "not understood there, and left out: %s\n", text)
	}
	grid := output.Grid{Indent: "  ", Titles: []string{"TAG", "MEANING", "SHARED", "SINCE", "BY", "ON ROUTES FROM"}}
	for _, t := range n.GetTags() {
		grid.Row(cells(t.GetValue(), t.GetMeaning(), yes(t.GetShared(), "shared"), clock(t.GetSince()), t.GetBy(), clock(t.GetAfter()))...)
	}
	_ = grid.Write(w) // a buffer takes everything
	grid = output.Grid{Indent: "  ", Titles: []string{"SERVICE", "STATE", "REASON", "NEIGHBORS", "SINCE", "DETAIL"}}
	for _, s := range n.GetServices() {
		grid.Row(cells(s.GetName(), s.GetState(), s.GetReason(), heard(s), clock(s.GetSince()), s.GetDetail())...)
	}
	_ = grid.Write(w)
	grid = output.Grid{Indent: "  ", Titles: []string{"LINK", "LOAD", "CAPACITY", "STALE"}}
	for _, l := range n.GetLinks() {
		grid.Row(cells(l.GetName(), rate(l.GetLoad()), rate(l.GetCapacity()), yes(l.GetStale(), "stale"))...)
	}
	_ = grid.Write(w)
	grid = output.Grid{Indent: "  ", Titles: []string{"WINDOW", "PHASE", "SINCE", "DETAIL"}}
	for _, m := range n.GetWindows() {
		grid.Row(cells(m.GetId(), m.GetPhase(), clock(m.GetSince()), m.GetDetail())...)
	}
	_ = grid.Write(w)
}

func (g *group) tag() *cobra.Command {
	var r centralv1.TagNodeRequest
	var y why
	cmd := verb("tag NODE VALUE", "Give a node an informational community", "catchment node tag msk1 57629:101 --meaning 'Moscow'", func(ctx context.Context, args []string) error {
		r.Node, r.Value, r.Reason, r.Ticket = args[0], args[1], y.reason, y.ticket
		n, err := call(ctx, g, centralv1.FleetClient.TagNode, &r)
		if err != nil {
			return err
		}
		for _, t := range n.GetTags() {
			if t.GetAfter().AsTime().After(g.env.Now()) {
				g.warn([]string{"routes carry " + t.GetValue() + " from " + clock(t.GetAfter()) + " on: neighbours have seen them change often of late, and could damp them"})
			}
		}
		return show(g, n, NodeText)
	})
	cmd.Flags().StringVar(&r.Meaning, "meaning", "", "what (`TEXT`) the tag tells others (needed)")
	cmd.Flags().BoolVar(&r.Shared, "shared", false, "also if another node has it")
	y.flags(cmd.Flags(), false)
	return cmd
}

func (g *group) untag() *cobra.Command {
	var y why
	cmd := verb("untag NODE VALUE", "Take a tag away", "catchment node untag msk1 57629:101 --reason 'moved to spb'", func(ctx context.Context, args []string) error {
		n, err := call(ctx, g, centralv1.FleetClient.UntagNode, &centralv1.UntagNodeRequest{Node: args[0], Value: args[1], Reason: y.reason, Ticket: y.ticket})
		if err != nil {
			return err
		}
		return show(g, n, NodeText)
	})
	y.flags(cmd.Flags(), false)
	return cmd
}

// setNode is a verb that says one thing of a node; lowers: it may pass the limits.
func (g *group) setNode(use, short, example string, lowers bool, say func(*centralv1.SetNodeRequest)) *cobra.Command {
	var y why
	var override bool
	cmd := verb(use, short, example, func(ctx context.Context, args []string) error {
		if err := y.need(); err != nil {
			return err
		}
		r := &centralv1.SetNodeRequest{Name: args[0], Reason: y.reason, Ticket: y.ticket, OverrideSafety: override}
		say(r)
		n, err := call(ctx, g, centralv1.FleetClient.SetNode, r)
		if err != nil {
			return spare(err, override || !lowers, overrideFlag)
		}
		return show(g, n, NodeText)
	})
	y.flags(cmd.Flags(), true)
	if lowers {
		cmd.Flags().BoolVar(&override, "override-safety", false, overrideUsage)
	}
	return cmd
}

func (g *group) standby() *cobra.Command {
	var off bool
	cmd := g.setNode("standby NODE", "Make a node a reserve, or with --off a full member", "catchment node standby msk9 --reason 'reserve of Moscow'", true,
		func(r *centralv1.SetNodeRequest) { on := !off; r.Standby = &on })
	cmd.Flags().BoolVar(&off, "off", false, "no reserve any more")
	return cmd
}

func (g *group) joinToken() *cobra.Command {
	var reason string
	var ttl time.Duration
	cmd := verb("join-token NODE", "Make a token by which one machine joins, once", "catchment node join-token msk1 --ttl 1h --reason 'new machine'", func(ctx context.Context, args []string) error {
		if err := (&why{reason: reason}).need(); err != nil {
			return err
		}
		m, err := call(ctx, g, centralv1.FleetClient.CreateJoinToken, &centralv1.CreateJoinTokenRequest{Node: args[0], Ttl: length(ttl), Reason: reason})
		if err != nil {
			return err
		}
		return show(g, m, func(w io.Writer, m *centralv1.CreateJoinTokenResponse) { fmt.Fprintln(w, m.GetToken()) })
	})
	cmd.Flags().StringVar(&reason, "reason", "", "why (`TEXT`), for those who look later (needed)")
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "how long (`TIME`) it is good (left out: 1h)")
	return cmd
}

// heard is at how many neighbours a service is announced over a session that is up.
func heard(s *centralv1.ServiceReport) string {
	if s.Neighbors == nil {
		return ""
	}
	return fmt.Sprint(s.GetNeighbors())
}
