package edge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/announcer/guard"
	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// reportEvery is how often a report goes out without a change.
const reportEvery = 10 * time.Second

// kindNames are the kinds of neighbours as configurations write them.
var kindNames = map[announcer.Kind]string{announcer.Transit: "transit", announcer.Peer: "peer", announcer.IX: "ix", announcer.RouteServer: "rs", announcer.Internal: "internal"}

// hello says who this node is.
func (e *Edge) hello() *centralv1.Hello {
	c := e.cfg
	h := &centralv1.Hello{Node: c.Node, Site: c.Site, Version: e.opt.Version, Asn: c.ASN, Standby: c.Central.Standby}
	for i := range c.Neighbors {
		n := &c.Neighbors[i]
		h.Neighbors = append(h.Neighbors, &centralv1.EdgeNeighbor{Name: n.Name, Asn: n.ASN, Kind: kindNames[n.Kind], Link: n.Link, Labels: n.Labels,
			Contact: n.Contact, Rungs: int32(len(n.Ladder)), Med: n.MED.Value,
			MedRungs: slices.ContainsFunc(n.Ladder, func(r config.Rung) bool { return r.MED.Set })})
	}
	for i := range c.Services {
		svc := &c.Services[i]
		s := &centralv1.EdgeService{Name: svc.Name, Drain: durationpb.New(svc.Drain)}
		for _, p := range svc.Prefixes {
			s.Prefixes = append(s.Prefixes, p.String())
		}
		h.Services = append(h.Services, s)
	}
	return h
}

// tellCentre hands a report over if it has news, or is due, and says whether there is
// something to keep: what it holds, or how far a window is. event: something has happened
// that people may want to see.
func (e *Edge) tellCentre(now time.Time, in *policy.Input, event bool) (keep bool) {
	k := &e.centre
	if k.link == nil {
		return false
	}
	r := e.report(now, in)
	was := k.said
	g := gist(r)
	news := !proto.Equal(g, k.gist)
	if news || event {
		k.detail.happened(now)
	}
	if since := now.Sub(k.saidA); was == nil || since < 0 || since >= reportEvery || news {
		k.said, k.gist, k.saidA = r, g, now
		k.link.say(nil, r)
	}
	e.detailCentre(now)
	return was == nil || !slices.Equal(was.GetHeld(), r.GetHeld()) || !slices.EqualFunc(was.GetWindows(), r.GetWindows(), func(a, b *centralv1.WindowReport) bool { return proto.Equal(a, b) })
}

// centreWake is when the centre's wishes, or what is told it, change by themselves.
func (e *Edge) centreWake(now time.Time) time.Time {
	k := &e.centre
	if k.link == nil {
		return time.Time{}
	}
	return earliest(k.saidA.Add(reportEvery), k.detail.soon, k.windows.next, k.leaseWake(now), k.wordsWake(now), k.first.wake(now))
}

// wordsWake is when the next of the fleet's words ends.
func (k *centreKeeper) wordsWake(now time.Time) time.Time {
	var next time.Time
	for _, w := range k.want.overrides {
		if w.until.After(now) {
			next = earliest(next, w.until)
		}
	}
	return next
}

// gist is a report without what changes all the time.
func gist(r *centralv1.Report) *centralv1.Report {
	r = proto.CloneOf(r)
	for _, l := range r.Links {
		l.Load, l.Utilization = 0, 0
	}
	for _, n := range r.Neighbors {
		n.FlapPenalty = 0
	}
	for _, w := range r.Wants {
		w.Load = 0
	}
	return r
}

// report is all that this node says of itself; the link puts clock and number in.
func (e *Edge) report(now time.Time, in *policy.Input) *centralv1.Report {
	k := &e.centre
	r := &centralv1.Report{ClockSynchronised: k.clock.synchronised, Generation: k.want.generation, NotUnderstood: k.notUnderstood(), Moved: stamp(e.state.Load.Moved)}
	sessions := e.opt.Announcer.Sessions()
	for i := range e.cfg.Services {
		name := e.cfg.Services[i].Name
		sd := before(e.decision, name)
		r.Services = append(r.Services, &centralv1.ServiceReport{Name: name, State: sd.Severity.String(), Reason: sd.Reason.String(), Detail: sd.Detail,
			Since: stamp(sd.Since), Hard: in.Health[name].Hard.String(), Neighbors: proto.Int32(reached(sd, sessions)), Withheld: withheld(sd)})
	}
	for i := range e.decision.Links {
		l := &e.decision.Links[i]
		r.Links = append(r.Links, &centralv1.LinkReport{Name: l.Name, Utilization: l.Utilization, Known: l.Known, Stale: l.Stale, Target: target(e.cfg.Load),
			Load: e.load.figures.links[l.Name].Load, Capacity: e.capacity(l.Name)})
	}
	for i := range e.cfg.Neighbors {
		n := &e.cfg.Neighbors[i]
		nr := &centralv1.NeighborReport{Name: n.Name, Session: sessions[n.Name].State.String()}
		for _, d := range e.decision.Climbers {
			if d.Name == n.Name {
				nr.Rung, nr.FlapPenalty = int32(d.Rung), d.Penalty
			}
		}
		r.Neighbors = append(r.Neighbors, nr)
	}
	r.Windows = e.windowReports(now)
	e.leasesInto(r)
	return r
}

// target is the utilization that load control aims at; 0: there is none.
func target(l config.LoadControl) float64 {
	if l.Mode == config.LoadOff {
		return 0
	}
	return l.Target
}

// reached is at how many neighbours a service is announced over a session that is up.
func reached(sd policy.ServiceDecision, sessions map[string]guard.Status) int32 {
	var n int32
	for _, nd := range sd.Neighbors {
		best := min(nd.IPv4.Severity, nd.IPv6.Severity)
		if best <= policy.Steered && sessions[nd.Name].State == guard.Established {
			n++
		}
	}
	return n
}

// withheld is where a service is not announced although it is configured there: a family
// that is not sent to a neighbour is withdrawn for the reason Normal.
func withheld(sd policy.ServiceDecision) []string {
	var names []string
	for _, nd := range sd.Neighbors {
		if slices.ContainsFunc([]policy.Cause{nd.IPv4, nd.IPv6}, func(c policy.Cause) bool { return c.Severity > policy.Steered && c.Reason != policy.Normal }) {
			names = append(names, nd.Name)
		}
	}
	return names
}

// mostWants bounds what is asked for at a time, as the centre does.
const mostWants = 64

// leasesInto adds what is asked for and what is acted on. What overrides the limits
// is asked for and acted on at once: that is how it gets into the audit. Where there is
// too much, what was not answered comes first.
func (e *Edge) leasesInto(r *centralv1.Report) {
	open := map[string]int{} // 0: not answered
	for _, l := range e.centre.kept.Leases {
		if l.Begun && l.State != fleet.Revoked {
			r.Held = append(r.Held, l.ID)
		}
		if l.State != fleet.Revoked && (!l.Begun || l.Override && l.State == "") {
			if l.State != "" {
				open[l.ID] = 1
			}
			r.Wants = append(r.Wants, &centralv1.GrantRequest{Id: l.ID, Service: l.Service, Kind: string(l.Kind), Window: l.Window, Load: l.Load,
				OverrideSafety: l.Override, Reason: l.Reason, Prefixes: l.Prefixes})
		}
	}
	slices.Sort(r.Held)
	slices.SortFunc(r.Wants, func(a, b *centralv1.GrantRequest) int {
		return cmp.Or(open[a.GetId()]-open[b.GetId()], cmp.Compare(a.GetId(), b.GetId()))
	})
	r.Wants = r.Wants[:min(len(r.Wants), mostWants)]
}

// windowReports says how far each window is here; those that are for nothing here are
// left out.
func (e *Edge) windowReports(now time.Time) []*centralv1.WindowReport {
	k := &e.centre.windows
	var out []*centralv1.WindowReport
	for _, w := range k.ours {
		if !w.Proposed {
			out = append(out, e.windowReport(now, w))
		}
	}
	return out
}

func (e *Edge) windowReport(now time.Time, w maintenance.Window) *centralv1.WindowReport {
	c, k := &e.centre, &e.centre.windows
	r := &centralv1.WindowReport{Id: w.ID}
	running, over, leave := 0, true, true
	var since time.Time
	var details []string
	for _, o := range c.orders.Windows {
		key := targetKey{o.Service, o.Neighbor}
		if !slices.ContainsFunc(k.running[key], func(o maintenance.Occurrence) bool { return o.Window == w.ID }) {
			continue
		}
		running++
		over, leave = over && o.Over, leave && o.Leave
		t := c.kept.Tracks[key]
		since = earliest(since, t.Began)
		if text := o.Service + " at " + o.Neighbor + ": " + o.Detail; o.Over && !o.Leave {
			details = append(details, text)
		}
	}
	r.Detail = strings.Join(details, "; ")
	safe, off := k.safe[w.ID]
	switch {
	case running == 0:
		r.Phase = "waiting"
		if state := k.states[w.ID]; state == maintenance.Ended || state == maintenance.Cancelled {
			r.Phase = "over"
		} else if state == maintenance.Active && c.refused {
			r.Detail = "not opened: the clock is not synchronised, or not near the centre's"
		}
	case over && leave && off && !now.Before(safe.Add(e.cfg.LeaveHold)):
		r.Phase, r.Since, r.Detail = "safe", stamp(safe.Add(e.cfg.LeaveHold)), "safe to stop"
	case over && leave:
		r.Phase, r.Since = "withdrawn", stamp(since)
	default:
		r.Phase, r.Since = "draining", stamp(since)
	}
	return r
}

// orderInputs says in words what the centre asked for.
func orderInputs(o *policy.Orders, service string) []string {
	var out []string
	for i := range o.Windows {
		if w := &o.Windows[i]; w.Service == service {
			text := "window at " + w.Neighbor + ": " + w.Detail
			switch {
			case w.Leave:
				text += " (with leave)"
			case w.Asked:
				text += " (leave asked for)"
			}
			out = append(out, text)
		}
	}
	if slices.Contains(o.Keep, service) {
		out = append(out, "the centre has it kept announced")
	}
	if slices.Contains(o.Leave, service) {
		out = append(out, "leave to withdraw it for a soft failure")
	}
	if o.Frozen {
		out = append(out, "the fleet is frozen")
	}
	return out
}
