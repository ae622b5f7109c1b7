package central

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// mostNotUnderstood bounds how many texts are kept and told of what a node does not understand
// of its intent, and mostNotUnderstoodText the bytes of each, as an edge does itself.
const mostNotUnderstood, mostNotUnderstoodText = 10, 300

func notUnderstood(said []string) []string {
	var out []string
	for _, text := range said[:min(len(said), mostNotUnderstood)] {
		out = append(out, strings.ToValidUTF8(text[:min(len(text), mostNotUnderstoodText)], ""))
	}
	return out
}

// stamp is t in the API; nil for the zero time.
func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// moment is the other way round.
func moment(t *timestamppb.Timestamp) time.Time {
	if !t.IsValid() {
		return time.Time{}
	}
	return t.AsTime()
}

func span(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

// selectorProto gives the entries as they are kept: names, or KEY=VALUE for labels.
func selectorProto(s maintenance.Selector) *centralv1.Selector {
	return &centralv1.Selector{Nodes: s.Nodes, Sites: s.Sites, Neighbors: s.Neighbors, Services: s.Services}
}

// base is a window without what depends on the moment.
func (d windowDoc) base() *centralv1.Window {
	w := &centralv1.Window{Id: d.ID, Selector: selectorProto(d.Select), Start: stamp(d.Start), LocalStart: d.LocalStart, Zone: d.Zone,
		Duration: span(d.For.Std()), Lead: span(d.Lead.Std()), Rrule: d.Rule, Reason: d.Reason, Ticket: d.Ticket, By: d.By,
		Created: stamp(d.Created), OverrideSafety: d.OverrideSafety, StartedNow: d.StartedNow, Ended: stamp(d.EndedAt)}
	if !d.CancelledAt.IsZero() {
		w.Ended = stamp(d.CancelledAt)
	}
	if m := d.Mail; m != nil {
		w.Provider = &centralv1.Provider{Name: m.Provider, Account: m.Account, MaintenanceId: m.MaintenanceID,
			Impact: string(m.Impact), Status: string(m.Status), Sequence: int32(m.Sequence), Lacks: m.Lacks}
		for _, o := range m.Objects {
			w.Provider.Objects = append(w.Provider.Objects, o.ID)
		}
	}
	return w
}

// windowProto is a window as the NOC sees it.
func (w *world) windowProto(d windowDoc, now time.Time) *centralv1.Window {
	return w.windowOf(d, w.targets(""), now)
}

// windowOf is windowProto where the targets are at hand.
func (w *world) windowOf(d windowDoc, targets []maintenance.Target, now time.Time) *centralv1.Window {
	out := d.base()
	state, err := d.State(now)
	if err != nil {
		out.State = "invalid"
		return out
	}
	out.State = string(state)
	if state == maintenance.Active {
		out.State = stateDraining
		if c, err := maintenance.New([]maintenance.Window{d.Window}); err == nil {
			if m := c.At(now); len(m.Running) > 0 && !now.Before(m.Running[0].Start) {
				out.State = "running"
			}
		}
	}
	if c, err := maintenance.New([]maintenance.Window{d.Window}); err == nil {
		if next := c.Occurrences(now, now.Add(maintenance.Horizon/5)); len(next) > 0 {
			out.NextStart, out.NextEnd = stamp(next[0].Start), stamp(next[0].End)
		}
	}
	for _, t := range targets { // by node
		if last := len(out.Nodes) - 1; (last < 0 || out.Nodes[last] != t.Node) && d.Select.Matches(t) {
			out.Nodes = append(out.Nodes, t.Node)
		}
	}
	w.progress(out)
	return out
}

// progress adds what the nodes say of a window that runs. It is safe once all of
// them say so.
func (w *world) progress(out *centralv1.Window) {
	safe := 0
	for _, node := range out.Nodes {
		live, ok := w.heardOf(node)
		if !ok {
			continue
		}
		for _, r := range live.report().GetWindows() {
			if r.GetId() != out.GetId() {
				continue
			}
			p := &centralv1.WindowProgress{Node: node, Phase: r.GetPhase(), Detail: r.GetDetail()}
			switch {
			case stale(out, r):
				p.Phase, p.Detail = "over", "the node has not answered to the end yet: it comes back"
			case r.GetPhase() == "safe":
				safe++
			}
			out.Progress = append(out.Progress, p)
		}
	}
	if active := out.State == stateDraining || out.State == "running"; active && safe > 0 && safe == len(out.Nodes) {
		out.State = "safe"
	}
}

// stale reports whether a phase is of what has ended: a node that returns must not
// be shown as safe to stop until its next report.
func stale(w *centralv1.Window, r *centralv1.WindowReport) bool {
	switch r.GetPhase() {
	case stateDraining, stateWithdrawn, "safe":
	default:
		return false
	}
	over := w.GetState() == string(maintenance.Ended) || w.GetState() == string(maintenance.Cancelled)
	return over || w.GetEnded() != nil && !r.GetSince().AsTime().After(w.GetEnded().AsTime())
}

// nodeProto is a node as the NOC sees it.
func (w *world) nodeProto(name string, now time.Time) *centralv1.Node {
	doc := w.nodes.get(name)
	h := doc.hello()
	n := &centralv1.Node{Name: name, Site: h.GetSite(), Version: h.GetVersion(), Asn: h.GetAsn(), Labels: h.GetLabels(),
		Neighbors: h.GetNeighbors(), Disabled: doc.Disabled, Standby: doc.Standby, State: stateUnseen}
	for _, t := range doc.Tags {
		if t.Until.IsZero() {
			n.Tags = append(n.Tags, t.proto())
		}
	}
	live, heard := w.heardOf(name)
	if !heard {
		return n
	}
	r := live.report()
	n.LastSeen, n.Services, n.Links, n.Sessions, n.Windows = stamp(live.At), r.GetServices(), r.GetLinks(), r.GetNeighbors(), r.GetWindows()
	n.NotUnderstood = notUnderstood(r.GetNotUnderstood()) // another centre may keep more
	n.Generation, n.WantedGeneration, n.ClockSkewSeconds = r.GetGeneration(), live.Wanted, live.Skew.Seconds()
	if n.Connected = w.seen(live, now); n.Connected {
		n.Services, n.NoCapacity = w.seenOutside(name, r.GetServices())
		n.Unseen = w.unseen(name)
		n.State, n.Reason = best(n.Services)
	}
	return n
}

// best is the state and reason of a node's best service.
func best(services []*centralv1.ServiceReport) (state, reason string) {
	order := []string{stateAnnounced, stateSteered, stateDraining, stateWithdrawn}
	rank := func(s *centralv1.ServiceReport) int {
		switch i := slices.Index(order, s.GetState()); {
		case s.GetState() == stateUnseen:
			return len(order)
		case i < 0:
			return 2*len(order) - 1
		case reasonOf(s) == fleet.NoSession: // what routers have is better
			return len(order) + i
		default:
			return i
		}
	}
	if len(services) == 0 {
		return stateWithdrawn, "no services reported"
	}
	s := slices.MinFunc(services, func(a, b *centralv1.ServiceReport) int { return cmp.Compare(rank(a), rank(b)) })
	return s.GetState(), reasonOf(s)
}
