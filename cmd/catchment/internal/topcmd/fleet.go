package topcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/nocmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// established is the one state of a session that carries routes.
const established = "established"

// fleetSource streams from a centre.
type fleetSource struct {
	client *centre.Client
	target float64 // where a node says none
}

func (s fleetSource) name() string { return "fleet at " + output.OneLine(s.client.Address) }

func (s fleetSource) watch(ctx context.Context, say func(board) bool) error {
	conn, err := s.client.Connect()
	if err != nil {
		return err
	}
	defer conn.Close() // fails only when closed before
	stream, err := centralv1.NewFleetClient(conn).Watch(ctx, &centralv1.GetFleetRequest{})
	if err != nil {
		return s.client.Explain(ctx, err)
	}
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("the centre ended the watch: it is stopping")
		case err != nil:
			return s.client.Explain(ctx, err)
		}
		if !say(s.board(output.Printable(m))) {
			return nil
		}
	}
}

func (s fleetSource) board(m *centralv1.FleetStatus) board {
	b := board{title: s.name(), summary: m.GetSummary(), groups: "SITE",
		titles: [columns]string{"NODE", "STATE", "LOAD", "SESSIONS", "GRANTS", "REASON"}}
	if m.GetFrozen() {
		b.notes = append(b.notes, "frozen: "+m.GetFrozenReason())
	}
	for _, w := range m.GetWarnings() {
		b.notes = append(b.notes, "warning: "+w)
	}
	for _, v := range m.GetViews() {
		if !v.GetConnected() {
			b.notes = append(b.notes, "view "+v.GetName()+" is away: "+v.GetReason())
		}
	}
	b.subjects = append(b.subjects, output.Subject{Name: "fleet", Text: strings.Join(append([]string{m.GetSummary()}, b.notes...), "; ")})
	for _, n := range m.GetNodes() {
		r := s.row(n, m.GetGrants())
		b.rows = append(b.rows, r)
		b.subjects = append(b.subjects, output.Subject{Name: "node " + n.GetName(), Text: nodeNews(n, r)})
	}
	return b
}

func (s fleetSource) row(n *centralv1.Node, grants []*centralv1.Grant) row {
	r := row{group: n.GetSite(), heading: "site " + n.GetSite(), name: n.GetName(), state: n.GetState(), colour: stateColour(n.GetState()),
		load: s.fullest(n.GetLinks()), sessions: sessionsOf(n), extra: grantsOf(n.GetName(), grants), reason: reasonOf(n)}
	if r.group == "" {
		r.heading = "no site"
	}
	var text bytes.Buffer
	nocmd.NodeText(&text, n)
	r.more = strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	return r
}

// fullest is the link that has least left.
func (s fleetSource) fullest(links []*centralv1.LinkReport) gauge {
	var out gauge
	for _, l := range links {
		if !l.GetKnown() || !(l.GetCapacity() > 0) { // NaN too
			continue
		}
		g := gauge{known: true, stale: l.GetStale(), value: l.GetLoad() / l.GetCapacity(), target: l.GetTarget()}
		if !(g.target > 0) { // it does not say, or it is of an older version
			g.target = s.target
		}
		if len(links) > 1 {
			g.name = l.GetName()
		}
		if !out.known || g.value > out.value {
			out = g
		}
	}
	return out
}

// sessionsOf is how many are up, of how many.
func sessionsOf(n *centralv1.Node) string {
	up, all := 0, max(len(n.GetNeighbors()), len(n.GetSessions()))
	for _, s := range n.GetSessions() {
		if s.GetSession() == established {
			up++
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", up, all)
}

func grantsOf(node string, grants []*centralv1.Grant) string {
	var out []string
	for _, g := range grants {
		if g.GetNode() == node {
			out = append(out, g.GetService()+" "+g.GetKind())
		}
	}
	return strings.Join(out, ", ")
}

func reasonOf(n *centralv1.Node) string {
	var out []string
	add := func(when bool, text string) {
		if when && text != "" {
			out = append(out, text)
		}
	}
	add(n.GetReason() != "normal", n.GetReason())
	add(n.GetDisabled(), "disabled")
	add(n.GetStandby(), "standby")
	add(!n.GetConnected(), "not connected")
	add(true, n.GetNoCapacity())
	for _, s := range n.GetServices() {
		add(s.GetDetail() != "", s.GetName()+": "+s.GetDetail())
	}
	for _, w := range n.GetWindows() {
		add(w.GetPhase() != "over", "window "+w.GetId()+" "+w.GetPhase())
	}
	for _, u := range n.GetUnseen() {
		add(true, u.GetService()+" "+u.GetFamily()+" is seen nowhere outside")
	}
	return strings.Join(out, "; ")
}

// nodeNews has no figure that moves by itself.
func nodeNews(n *centralv1.Node, r row) string {
	out := []string{r.state}
	for _, s := range n.GetServices() {
		out = append(out, fmt.Sprintf("%s %s (%s)", s.GetName(), s.GetState(), s.GetReason()))
	}
	for _, part := range []struct{ name, text string }{{"sessions ", r.sessions}, {"grants: ", r.extra}, {"", r.reason}} {
		if part.text != "" {
			out = append(out, part.name+part.text)
		}
	}
	if r.load.stale {
		out = append(out, "stale figures")
	}
	for _, t := range n.GetTags() {
		out = append(out, "tag "+t.GetValue())
	}
	return strings.Join(out, "; ")
}

func stateColour(state string) output.Colour {
	switch state {
	case "announced":
		return output.Green
	case "withdrawn", "unseen":
		return output.Red
	}
	return output.Yellow
}
