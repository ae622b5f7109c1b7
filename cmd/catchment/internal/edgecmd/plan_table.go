package edgecmd

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
)

func planTable(w io.Writer, m *edgev1.PlanResponse) error {
	var out bytes.Buffer
	plans(&out, m.GetNeighbors(), "would see")
	for _, l := range m.GetNeedsLeave() {
		fmt.Fprintf(&out, "needs the centre's leave: %s would lose %s here\n", l.GetService(), lossText(l))
	}
	warnings(&out, m.GetWarnings())
	_, err := w.Write(out.Bytes())
	return err
}

// lossText is like "198.51.100.0/24, VIP 198.51.100.1/32".
func lossText(l *edgev1.Loss) string {
	parts := slices.Clone(l.GetPrefixes())
	for _, v := range l.GetVips() {
		parts = append(parts, "VIP "+v)
	}
	return strings.Join(parts, ", ")
}

// confirmTable names no neighbour: a confirmation changes nothing for any.
func confirmTable(w io.Writer, m *edgev1.ApplyResponse) error {
	var out bytes.Buffer
	fmt.Fprintln(&out, "confirmed: the configuration stays")
	warnings(&out, m.GetWarnings())
	_, err := w.Write(out.Bytes())
	return err
}

// applyTable says what was done, and then what changed.
func (g *group) applyTable(done string) table[*edgev1.ApplyResponse] {
	return func(w io.Writer, m *edgev1.ApplyResponse) error {
		var out bytes.Buffer
		fmt.Fprintln(&out, done)
		plans(&out, m.GetNeighbors(), "saw")
		warnings(&out, m.GetWarnings())
		if m.GetRevertsAt() != nil {
			fmt.Fprintln(&out, trialText(g.env.Now(), m.GetRevertsAt()))
		}
		_, err := w.Write(out.Bytes())
		return err
	}
}

func trialText(now time.Time, at *timestamppb.Timestamp) string {
	if at == nil {
		return "on trial: goes back by itself unless confirmed (catchment edge confirm)"
	}
	return fmt.Sprintf("on trial: goes back by itself in %s, at %s, unless confirmed (catchment edge confirm)",
		left(now, at), clock(at))
}

func warnings(out *bytes.Buffer, texts []string) {
	for _, t := range texts {
		fmt.Fprintf(out, "warning: %s\n", t)
	}
}

// plans is for the neighbours alone: times, checks and services that none of them
// sees may have changed all the same. sees is the verb for them.
func plans(out *bytes.Buffer, neighbors []*edgev1.NeighborPlan, sees string) {
	if !slices.ContainsFunc(neighbors, changed) {
		fmt.Fprintf(out, "no neighbour %s a change\n", sees)
		return
	}
	for _, n := range neighbors {
		fmt.Fprintf(out, "%s: session %s", n.GetName(), n.GetSession())
		if !changed(n) {
			out.WriteString(", no change")
		}
		out.WriteByte('\n')
		for _, r := range n.GetWithdrawn() {
			fmt.Fprintf(out, "  - %s\n", routeText(r))
		}
		for _, r := range n.GetAnnounced() {
			fmt.Fprintf(out, "  + %s\n", routeText(r))
		}
		for _, c := range n.GetChanged() {
			fmt.Fprintf(out, "  ~ %s\n", changeText(c.GetFrom(), c.GetTo()))
		}
	}
}

func changed(n *edgev1.NeighborPlan) bool {
	return n.GetSession() != "kept" || len(n.GetAnnounced())+len(n.GetChanged())+len(n.GetWithdrawn()) > 0
}

// changeText names the attributes that differ, and those alone.
func changeText(from, to *edgev1.Route) string {
	if from == nil {
		from = &edgev1.Route{}
	}
	if to == nil {
		to = &edgev1.Route{}
	}
	var parts []string
	turn := func(name, before, after string) {
		if before != after {
			parts = append(parts, name+" "+before+" -> "+after)
		}
	}
	turn("next hop", from.GetNextHop(), to.GetNextHop())
	turn("prepend", fmt.Sprint(from.GetPrepend()), fmt.Sprint(to.GetPrepend()))
	if d := setDifference(from.GetCommunities(), to.GetCommunities()); d != "" {
		parts = append(parts, "communities "+d)
	}
	turn("MED", optional(from.Med, "none"), optional(to.Med, "none"))
	turn("local pref", optional(from.LocalPref, "none"), optional(to.LocalPref, "none"))
	prefix := to.GetPrefix()
	if before := from.GetPrefix(); before != prefix {
		prefix = before + " -> " + prefix
	}
	if len(parts) == 0 {
		parts = []string{"sent again with the same attributes"}
	}
	return prefix + "  " + strings.Join(parts, ", ")
}

// setDifference is like "+65535:0 -65001:3001".
func setDifference(from, to []string) string {
	var parts []string
	for _, c := range to {
		if !slices.Contains(from, c) {
			parts = append(parts, "+"+c)
		}
	}
	for _, c := range from {
		if !slices.Contains(to, c) {
			parts = append(parts, "-"+c)
		}
	}
	return strings.Join(parts, " ")
}
