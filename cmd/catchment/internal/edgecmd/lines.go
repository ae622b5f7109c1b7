package edgecmd

import (
	"fmt"
	"strings"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// Subjects is what a watch of a node has lines about. m is printable.
func Subjects(m *edgev1.StatusResponse) []output.Subject {
	out := []output.Subject{{Name: "node " + m.GetNode(), Text: nodeText(m)}}
	for _, l := range m.GetLinks() {
		out = append(out, output.Subject{Name: "link " + l.GetName(), Text: linkNews(l)})
	}
	for _, s := range m.GetServices() {
		out = append(out, output.Subject{Name: "service " + s.GetName(), Text: serviceText(s)})
		for _, n := range s.GetNeighbors() {
			out = append(out, output.Subject{Name: "service " + s.GetName() + " at " + n.GetName(), Text: neighborText(s, n)})
		}
	}
	return out
}

func nodeText(m *edgev1.StatusResponse) string {
	parts := []string{"central " + m.GetCentral()}
	if text := wayBackText(m.GetWayBack()); text != "" {
		parts = append(parts, text)
	}
	if p := m.GetPendingApply(); p != nil {
		parts = append(parts, "configuration on trial until "+clock(p.GetRevertsAt()))
	}
	for _, w := range m.GetWarnings() {
		parts = append(parts, "warning: "+w)
	}
	for _, p := range m.GetPins() {
		parts = append(parts, "pin "+pinText(p))
	}
	return strings.Join(parts, "; ")
}

// linkNews is a link without its figures, which move by themselves.
func linkNews(l *edgev1.Link) string {
	text := "figures"
	switch {
	case l.Utilization == nil:
		text = "no figure"
	case l.GetStale():
		text = "stale figures"
	}
	if l.GetAbsorb() {
		text += "; absorbs: nothing can take more"
	}
	return text
}

func serviceText(s *edgev1.Service) string {
	text := s.GetState() + " (" + s.GetReason() + ")"
	if s.GetDetail() != "" {
		text += ": " + s.GetDetail()
	}
	for _, c := range s.GetChecks() {
		if !c.GetUp() && !c.GetObserving() {
			text += "; check " + c.GetName() + " down: " + c.GetError()
		}
	}
	for _, o := range s.GetOverrides() {
		text += "; override " + overrideText(o)
	}
	return text
}

// established is the name of the one session state that carries routes.
const established = "established"

func neighborText(s *edgev1.Service, n *edgev1.Neighbor) string {
	// A session that is down tries again and again; its steps are no news.
	text := "session down"
	if n.GetSession() == established {
		text = established
	}
	if rung := rungText(n); rung != "" {
		text += ", rung " + rung
	}
	if state := stateAt(s, n); state != "" {
		text += ", " + state
	}
	for _, r := range n.GetRoutes() {
		text += "; " + routeText(r)
	}
	if len(n.GetRoutes()) == 0 {
		text += "; no routes"
	}
	if !n.GetSettled() {
		text += "; not settled"
	}
	if n.GetLastError() != "" {
		text += "; last error: " + n.GetLastError()
	}
	return text
}

// overrideText names an override without the time that is left. A drain ends in a
// withdrawal: that is told even when it has come.
func overrideText(o *edgev1.Override) string {
	text := o.GetVerb()
	if o.GetNeighbor() != "" {
		text += " at " + o.GetNeighbor()
	}
	if o.GetEvenIfDead() {
		text += " even if dead"
	}
	if o.GetWithdrawAt() != nil {
		text += " withdraws at " + clock(o.GetWithdrawAt())
	}
	if o.GetUntil() != nil {
		text += " until " + clock(o.GetUntil())
	}
	if o.GetBy() != "" {
		text += " by " + o.GetBy()
	}
	return fmt.Sprintf("%s: %s", text, o.GetReason())
}
