package topcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/edgecmd"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/node"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// edgeSource streams from one node.
type edgeSource struct {
	client *node.Client
	now    func() time.Time
	target float64
}

func (s edgeSource) name() string { return "node at " + output.OneLine(s.client.Address) }

func (s edgeSource) watch(ctx context.Context, say func(board) bool) error {
	c, err := s.client.Connect()
	if err != nil {
		return err
	}
	defer c.Close()
	stream, err := c.Watch(ctx, &edgev1.StatusRequest{})
	if err != nil {
		return c.Explain(err)
	}
	for {
		m, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("catchment-edge on %s ended the watch: it is stopping", c.Path)
		case err != nil:
			return c.Explain(err)
		}
		if !say(s.board(output.Printable(m))) {
			return nil
		}
	}
}

func (s edgeSource) board(m *edgev1.StatusResponse) board {
	b := board{title: "node " + m.GetNode(), titles: [columns]string{"NEIGHBOR", "STATE", "LOAD", "SESSION", "RUNG", "REASON"}, groups: "SERVICE",
		subjects: edgecmd.Subjects(m)}
	if p := m.GetPendingApply(); p != nil {
		b.notes = append(b.notes, "configuration on trial until "+p.GetRevertsAt().AsTime().Format(time.RFC3339))
	}
	for _, w := range m.GetWarnings() {
		b.notes = append(b.notes, "warning: "+w)
	}
	announced, up := 0, map[string]bool{}
	for _, service := range m.GetServices() {
		if rank(service.GetState()) >= rank("steered") {
			announced++
		}
		more := s.more(m, service)
		for _, n := range service.GetNeighbors() {
			up[n.GetName()] = n.GetSession() == established
			b.rows = append(b.rows, s.row(service, n, more))
		}
	}
	b.summary = edgeSummary(m, announced, up)
	return b
}

func edgeSummary(m *edgev1.StatusResponse, announced int, up map[string]bool) string {
	sessions := 0
	for _, is := range up {
		if is {
			sessions++
		}
	}
	text := fmt.Sprintf("%d of %d services announced, %d of %d sessions up, central %s", announced, len(m.GetServices()), sessions, len(up), m.GetCentral())
	if w := m.GetWayBack(); w.GetRequired() {
		text += fmt.Sprintf(", way back IPv4 %s, IPv6 %s", w.GetIpv4(), w.GetIpv6())
	}
	return text
}

func (s edgeSource) row(service *edgev1.Service, n *edgev1.Neighbor, more []string) row {
	state, reason := n.GetState(), n.GetReason()
	if state == "" {
		state, reason = service.GetState(), service.GetReason()
	}
	r := row{group: service.GetName(), heading: serviceHeading(service), name: n.GetName(), state: state, colour: stateColour(state),
		load: s.gauge(n.GetLink()), sessions: n.GetSession(), more: more}
	if n.GetRungs() > 0 {
		r.extra = fmt.Sprintf("%d/%d", n.GetRung(), n.GetRungs())
	}
	r.reason = neighborReason(n, reason)
	return r
}

func serviceHeading(s *edgev1.Service) string {
	text := fmt.Sprintf("service %s: %s (%s)", s.GetName(), s.GetState(), s.GetReason())
	if s.GetDetail() != "" {
		text += ": " + s.GetDetail()
	}
	for _, c := range s.GetChecks() {
		if !c.GetUp() && !c.GetObserving() {
			text += "; check " + c.GetName() + " down: " + c.GetError()
		}
	}
	return text
}

func neighborReason(n *edgev1.Neighbor, reason string) string {
	var out []string
	if reason != "normal" && reason != "" {
		out = append(out, reason)
	}
	control := ""
	if n.GetLink() != nil && n.GetLinkControl() == "off" {
		control = "link control off: " + n.GetLinkControlReason()
	}
	for _, text := range []string{n.GetDetail(), control, n.GetLastError()} {
		if text != "" {
			out = append(out, text)
		}
	}
	if n.GetRung() > 0 && n.GetRungReason() != "" && n.GetRungReason() != n.GetDetail() {
		out = append(out, n.GetRungReason())
	}
	if !n.GetSettled() {
		out = append(out, "not settled")
	}
	return strings.Join(out, "; ")
}

func (s edgeSource) gauge(l *edgev1.Link) gauge {
	if l == nil || l.Utilization == nil {
		return gauge{}
	}
	g := gauge{known: true, stale: l.GetStale(), value: l.GetUtilization(), target: l.GetTarget(), name: l.GetName()}
	if !(g.target > 0) { // it does not say, or it is of an older version
		g.target = s.target
	}
	return g
}

// more is a service in full, as `catchment edge status` shows it.
func (s edgeSource) more(m *edgev1.StatusResponse, service *edgev1.Service) []string {
	var text bytes.Buffer
	_ = edgecmd.WriteStatus(&text, &edgev1.StatusResponse{Node: m.GetNode(), Central: m.GetCentral(), Started: m.GetStarted(), Version: m.GetVersion(),
		WayBack: m.GetWayBack(), LoadMode: m.GetLoadMode(), Links: m.GetLinks(), Pins: m.GetPins(),
		Services: []*edgev1.Service{service}}, s.now()) // a buffer takes everything
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}
