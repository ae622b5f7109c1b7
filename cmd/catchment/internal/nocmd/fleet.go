package nocmd

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

func (g *group) fleet() *cobra.Command {
	return g.holder("fleet", "See and steer the fleet as a whole", "fleet speaks to the centre about all nodes together.",
		verb("status", "How the fleet stands, in a sentence and in figures", "catchment fleet status -o json", g.fleetStatus),
		verb("limits", "What each service may still lose", "catchment fleet limits", func(ctx context.Context, _ []string) error {
			m, err := call(ctx, g, centralv1.FleetClient.GetFleet, &centralv1.GetFleetRequest{})
			if err != nil {
				return err
			}
			return list(g, m.GetServices(), func(w io.Writer, all []*centralv1.FleetService) {
				if len(all) == 0 {
					fmt.Fprintln(w, "no node has a service")
				}
				limitsTable(w, all)
			})
		}),
		g.planFleet(),
		g.freeze("freeze", "Stop every automatic change but those of hard failures", "catchment fleet freeze --reason 'backbone trouble'", func(ctx context.Context, y why) (*centralv1.FleetStatus, error) {
			return call(ctx, g, centralv1.FleetClient.Freeze, &centralv1.FreezeRequest{Reason: y.reason, Ticket: y.ticket})
		}),
		g.freeze("thaw", "Let automatic changes go on", "catchment fleet thaw --reason 'backbone is back'", func(ctx context.Context, y why) (*centralv1.FleetStatus, error) {
			return call(ctx, g, centralv1.FleetClient.Thaw, &centralv1.ThawRequest{Reason: y.reason, Ticket: y.ticket})
		}),
		g.history(),
		verb("grants", "Who may be withdrawn, and for what", "catchment fleet grants", func(ctx context.Context, _ []string) error {
			m, err := call(ctx, g, centralv1.FleetClient.ListGrants, &centralv1.ListGrantsRequest{})
			if err != nil {
				return err
			}
			return list(g, m.GetGrants(), grantsTable)
		}),
		g.revoke(), g.override(), g.clearOverride())
}

func (g *group) fleetStatus(ctx context.Context, _ []string) error {
	m, err := call(ctx, g, centralv1.FleetClient.GetFleet, &centralv1.GetFleetRequest{})
	if err != nil {
		return err
	}
	return show(g, m, g.fleetText)
}

func (g *group) fleetText(w io.Writer, m *centralv1.FleetStatus) {
	fmt.Fprintln(w, m.GetSummary())
	for _, text := range m.GetWarnings() {
		fmt.Fprintln(w, "warning: "+text)
	}
	limitsTable(w, m.GetServices())
	if len(m.GetGrants()) > 0 {
		grantsTable(w, m.GetGrants())
	}
	overridesTable(w, m.GetOverrides())
	viewsTable(w, m.GetViews())
	g.nodesTable(w, m.GetNodes())
}

func limitsTable(w io.Writer, all []*centralv1.FleetService) {
	grid := output.Grid{Titles: []string{"SERVICE", "ANNOUNCING", "AT LEAST", "WITHDRAWN", "AT MOST", "LOAD", "CAPACITY", "MAY STILL GO"}}
	for _, s := range all {
		most := "no limit"
		if s.GetMaxWithdrawn() > 0 {
			most = percent(s.GetMaxWithdrawn())
		}
		load, capacity := "", "" // without figures nothing is known of either
		if s.GetLoad() > 0 || s.GetCapacity() > 0 {
			load, capacity = rate(s.GetLoad()), rate(s.GetCapacity())
		}
		grid.Row(cells(s.GetName(), fmt.Sprintf("%d of %d", s.GetAnnouncing(), s.GetNodes()), fmt.Sprint(s.GetMinAnnouncing()),
			percent(s.GetWithdrawnCapacity()), most, load, capacity, fmt.Sprint(s.GetMayWithdraw()))...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

func grantsTable(w io.Writer, all []*centralv1.Grant) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no grants")
		return
	}
	grid := output.Grid{Titles: []string{"GRANT", "NODE", "SERVICE", "FOR", "STATE", "ISSUED", "LIMITS"}}
	for _, m := range all {
		grid.Row(cells(m.GetId(), m.GetNode(), m.GetService(), strings.TrimSpace(m.GetKind()+" "+m.GetWindow()), m.GetState(), clock(m.GetIssued()),
			yes(m.GetOverrideSafety(), "overridden"))...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

func overridesTable(w io.Writer, all []*centralv1.FleetOverride) {
	grid := output.Grid{Titles: []string{"OVERRIDE", "VERB", "FOR", "UNTIL", "REASON", "BY"}}
	for _, o := range all {
		grid.Row(cells(o.GetId(), o.GetVerb(), whom(o.GetSelector()), clock(o.GetUntil()), o.GetReason(), o.GetBy())...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

// viewsTable has the routers that tell what they have of the fleet.
func viewsTable(w io.Writer, all []*centralv1.OutsideView) {
	grid := output.Grid{Titles: []string{"VIEW", "CONNECTED", "SINCE", "ROUTER", "PEERS", "COMPLETE", "SEES", "REASON"}}
	for _, v := range all {
		connected := "no"
		if v.GetConnected() {
			connected = "yes"
		}
		grid.Row(cells(v.GetName(), connected, clock(v.GetSince()), v.GetRouter(), fmt.Sprint(v.GetPeers()), strings.Join(v.GetComplete(), " "),
			strings.Join(v.GetSees(), " "), v.GetReason())...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

func (g *group) planFleet() *cobra.Command {
	var r centralv1.PlanRequest
	cmd := verb("plan", "What would land where if nodes were drained; changes nothing", "catchment fleet plan --drain msk1", func(ctx context.Context, _ []string) error {
		if len(r.GetDrain()) == 0 || slices.Contains(r.GetDrain(), "") {
			return exit.Usagef("--drain NODE is needed, and no empty name")
		}
		m, err := call(ctx, g, centralv1.FleetClient.Plan, &r)
		if err != nil {
			return err
		}
		if err := show(g, m, planText); err != nil {
			return err
		}
		if !m.GetAllowed() {
			return &exit.Error{Code: exit.Refused, Err: fmt.Errorf("it would be refused: %s (limit %s)", m.GetReason(), m.GetLimit())}
		}
		return nil
	})
	cmd.Flags().StringArrayVar(&r.Drain, "drain", nil, "a `NODE` to drain; may be repeated (needed)")
	return cmd
}

func planText(w io.Writer, m *centralv1.PlanResponse) {
	if m.GetAllowed() {
		fmt.Fprintln(w, "the limits allow it")
	}
	grid := output.Grid{Titles: []string{"NODE", "NOW", "WOULD BE"}}
	for _, l := range m.GetLandings() {
		grid.Row(cells(l.GetNode(), percent(l.GetUtilization()), percent(l.GetWouldBe()))...)
	}
	_ = grid.Write(w) // a buffer takes everything
}

func (g *group) freeze(name, short, example string, do func(context.Context, why) (*centralv1.FleetStatus, error)) *cobra.Command {
	var y why
	cmd := verb(name, short, example, func(ctx context.Context, _ []string) error {
		if err := y.need(); err != nil {
			return err
		}
		m, err := do(ctx, y)
		if err != nil {
			return err
		}
		return show(g, m, func(w io.Writer, m *centralv1.FleetStatus) { fmt.Fprintln(w, m.GetSummary()) })
	})
	y.flags(cmd.Flags(), true)
	return cmd
}

func (g *group) history() *cobra.Command {
	var at string
	cmd := verb("history", "How the fleet stood at a moment", "catchment fleet history --at 2026-11-30T02:10:00Z", func(ctx context.Context, _ []string) error {
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return exit.Usagef("--at %q: write a moment such as 2026-11-30T02:10:00Z", at)
		}
		m, err := call(ctx, g, centralv1.FleetClient.History, &centralv1.HistoryRequest{At: timestamppb.New(t)})
		if err != nil {
			return err
		}
		return show(g, m, func(w io.Writer, m *centralv1.FleetStatus) {
			fmt.Fprintf(w, "as of %s\n", clock(m.GetAt()))
			g.fleetText(w, m)
		})
	})
	cmd.Flags().StringVar(&at, "at", "", "which moment (`WHEN`, RFC 3339) (needed)")
	return cmd
}

func (g *group) revoke() *cobra.Command {
	var y why
	var node string
	cmd := verb("revoke GRANT", "Take a grant back: its holder returns", "catchment fleet revoke video.16777218 --node msk1 --reason 'needed here'", func(ctx context.Context, args []string) error {
		if err := y.need(); err != nil {
			return err
		}
		m, err := call(ctx, g, centralv1.FleetClient.RevokeGrant, &centralv1.RevokeGrantRequest{Id: args[0], Node: node, Reason: y.reason, Ticket: y.ticket})
		if err != nil {
			return err
		}
		return show(g, m, func(w io.Writer, m *centralv1.Grant) { grantsTable(w, []*centralv1.Grant{m}) })
	})
	cmd.Flags().StringVar(&node, "node", "", "whose grant it is (`NODE`); needed where several nodes have one of this id")
	y.flags(cmd.Flags(), true)
	return cmd
}

func (g *group) override() *cobra.Command {
	var s selection
	var y why
	var r centralv1.SetFleetOverrideRequest
	var lasts days
	cmd := verb("override VERB", "Drain, withdraw or announce a part of the fleet", "catchment fleet override drain --site moscow --for 1h --reason 'backbone trouble'", func(ctx context.Context, args []string) error {
		var err error
		if r.Selector, err = s.selector(); err != nil {
			return err
		}
		if err := y.need(); err != nil {
			return err
		}
		r.Verb, r.Reason, r.Ticket, r.Duration = args[0], y.reason, y.ticket, length(lasts.Std())
		m, err := call(ctx, g, centralv1.FleetClient.SetFleetOverride, &r)
		if err != nil {
			return spare(err, r.OverrideSafety, overrideFlag+" --for TIME")
		}
		return show(g, m, func(w io.Writer, m *centralv1.FleetOverride) { fmt.Fprintln(w, m.GetId()) })
	})
	s.flags(cmd.Flags())
	y.flags(cmd.Flags(), true)
	cmd.Flags().Var(&lasts, "for", "how long (`TIME`) (left out: until it is cleared)")
	cmd.Flags().BoolVar(&r.EvenIfDead, "even-if-dead", false, "announce: over a hard failure too")
	cmd.Flags().BoolVar(&r.OverrideSafety, "override-safety", false, overrideUsage+"; needs --for")
	return cmd
}

func (g *group) clearOverride() *cobra.Command {
	var y why
	cmd := verb("clear ID", "Take an override back", "catchment fleet clear o-abcdefgh --reason 'over'", func(ctx context.Context, args []string) error {
		if err := y.need(); err != nil {
			return err
		}
		m, err := call(ctx, g, centralv1.FleetClient.ClearFleetOverride, &centralv1.ClearFleetOverrideRequest{Id: args[0], Reason: y.reason, Ticket: y.ticket})
		if err != nil {
			return err
		}
		return show(g, m, func(w io.Writer, m *centralv1.FleetOverride) { overridesTable(w, []*centralv1.FleetOverride{m}) })
	})
	y.flags(cmd.Flags(), true)
	return cmd
}
