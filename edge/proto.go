package edge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/catchment-bgp/catchment/announcer"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// proto gives the snapshot the form of the local API.
func (s Snapshot) proto() *edgev1.StatusResponse {
	out := &edgev1.StatusResponse{
		Node: s.Config.Node, Central: s.Centre.State, Version: s.Version, Started: timestamppb.New(s.Started),
		Warnings: texts(s.Warnings),
		WayBack: &edgev1.WayBack{Required: s.Config.WayBack.Required,
			Ipv4: s.WayBack4.String(), Ipv6: s.WayBack6.String()},
	}
	if !s.Reloaded && !s.ReloadedAt.IsZero() {
		out.Warnings = append(out.Warnings, "the configuration file of "+s.ReloadedAt.Format(time.RFC3339)+" was not taken up: "+cmp.Or(s.ReloadFault, "the log says why"))
	}
	out.Warnings = append(out.Warnings, s.Centre.warnings()...)
	if !s.RevertsAt.IsZero() {
		out.PendingApply = &edgev1.PendingApply{RevertsAt: stamp(s.RevertsAt)}
	}
	out.LoadMode = string(s.Config.Load.Mode)
	for i := range s.Config.Links {
		out.Links = append(out.Links, s.link(s.Config.Links[i].Name))
	}
	for _, p := range s.Pins {
		out.Pins = append(out.Pins, toPin(p))
	}
	for i := range s.Config.Services {
		svc := &s.Config.Services[i]
		sd := before(s.Decision, svc.Name)
		ps := &edgev1.Service{
			Name: svc.Name, State: sd.Severity.String(), Reason: sd.Reason.String(), Detail: sd.Detail,
			Since: stamp(sd.Since), Overrides: forService(s.Overrides, svc.Name),
		}
		for _, c := range s.Checks[svc.Name] {
			ps.Checks = append(ps.Checks, toCheck(c))
		}
		for _, nd := range sd.Neighbors {
			ps.Neighbors = append(ps.Neighbors, s.neighbor(svc, nd))
		}
		out.Services = append(out.Services, ps)
	}
	return out
}

// neighbor is one service at one neighbour.
func (s Snapshot) neighbor(svc *config.Service, nd policy.NeighborDecision) *edgev1.Neighbor {
	var n config.Neighbor
	for _, c := range s.Config.Neighbors {
		if c.Name == nd.Name {
			n = c
		}
	}
	st := s.Sessions[nd.Name]
	cause := atNeighbor(nd)
	out := &edgev1.Neighbor{
		Name: nd.Name, Session: st.State.String(), Rung: int32(rung(n, nd)), Rungs: int32(len(n.Ladder)), Settled: st.Settled,
		State: cause.Severity.String(), Reason: cause.Reason.String(), Detail: cause.Detail,
		SessionSince: stamp(st.Since), LastError: st.LastError, HoldTimeSeconds: st.HoldTime.Seconds(),
		Address: n.Address.String(), Asn: n.ASN,
	}
	out.ReturnPath = returnPath(n, s.ReturnFaults[n.Name])
	if out.LinkControl, out.LinkControlReason = "on", linkControlOff(s.Config, n, s.ReturnFaults[n.Name]); out.LinkControlReason != "" {
		out.LinkControl = "off"
	}
	if n.Link != "" {
		out.Link = s.link(n.Link)
	}
	for _, d := range s.Decision.Climbers {
		if d.Name == nd.Name {
			out.Shed, out.FlapPenalty, out.RungReason = d.Shed, d.Penalty, d.Restraint.String()
		}
	}
	for _, r := range st.Standing {
		if slices.Contains(svc.Prefixes, r.Prefix) {
			out.Routes = append(out.Routes, toRoute(r))
		}
	}
	for _, p := range st.NotCarried {
		if slices.Contains(svc.Prefixes, p) {
			out.Detail = strings.TrimPrefix(out.Detail+"; the neighbour does not take "+p.String(), "; ")
		}
	}
	return out
}

// rung is where on a neighbour's ladder a service is; 0: as configured. A soft
// failure puts it on the highest that does not withdraw.
func rung(n config.Neighbor, nd policy.NeighborDecision) int {
	if c := atNeighbor(nd); c.Severity == policy.Steered && c.Reason != policy.Load {
		return steeredRung(n, nil)
	}
	return nd.Rung
}

func toRoute(r announcer.Route) *edgev1.Route {
	return &edgev1.Route{
		Prefix: r.Prefix.String(), NextHop: r.NextHop.String(), Prepend: int32(r.Prepend),
		Communities: r.Communities.Strings(), Med: metric(r.MED), LocalPref: metric(r.LocalPref),
	}
}

func metric(m announcer.Metric) *uint32 {
	if !m.Set {
		return nil
	}
	return &m.Value
}

func toCheck(c CheckStatus) *edgev1.Check {
	out := &edgev1.Check{Name: c.Name, Up: c.Up, Last: stamp(c.Last), Error: c.Error, Scope: "hard", DurationSeconds: c.Duration.Seconds(), Observing: c.Observing}
	if c.Soft {
		out.Scope = "soft"
	}
	return out
}

func toOverride(o policy.Override) *edgev1.Override {
	return &edgev1.Override{
		Service: o.Service, Neighbor: o.Neighbor, Verb: o.Verb.String(), Reason: o.Reason, By: o.By,
		Since: stamp(o.Since), Until: stamp(o.Until), EvenIfDead: o.EvenIfDead, WithdrawAt: stamp(o.WithdrawAt),
	}
}

// stamp is a time; none for the zero time.
func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func changeProto(c Change) *edgev1.Decision {
	return &edgev1.Decision{
		At: stamp(c.At), Trigger: c.Trigger, Service: c.Service, Neighbor: c.Neighbor, Family: c.Family,
		From: causeText(c.From), To: causeText(c.To), Detail: c.To.Detail, Inputs: c.Inputs,
	}
}

func causeText(c policy.Cause) string { return c.Severity.String() + " (" + c.Reason.String() + ")" }

func lossesProto(ls []Loss) []*edgev1.Loss {
	var out []*edgev1.Loss
	for _, l := range ls {
		m := &edgev1.Loss{Service: l.Service}
		for _, p := range l.Prefixes {
			m.Prefixes = append(m.Prefixes, p.String())
		}
		for _, p := range l.VIPs {
			m.Vips = append(m.Vips, p.String())
		}
		out = append(out, m)
	}
	return out
}

func plansProto(plans []Plan) []*edgev1.NeighborPlan {
	var out []*edgev1.NeighborPlan
	for _, p := range plans {
		np := &edgev1.NeighborPlan{Name: p.Neighbor, Session: p.Session}
		for _, r := range p.Announced {
			np.Announced = append(np.Announced, toRoute(r))
		}
		for _, r := range p.Withdrawn {
			np.Withdrawn = append(np.Withdrawn, toRoute(r))
		}
		for _, c := range p.Changed {
			np.Changed = append(np.Changed, &edgev1.RouteChange{From: toRoute(c.From), To: toRoute(c.To)})
		}
		out = append(out, np)
	}
	return out
}
