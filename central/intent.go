package central

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// intent is everything that is wanted of a node, but for the generation and what
// belongs to one stream. It also returns the next moment at which it changes by
// itself (zero: none).
func (w *world) intent(node string, v *view, now time.Time) (*centralv1.Intent, time.Time) {
	doc := w.nodes.get(node)
	in := &centralv1.Intent{Frozen: w.frozen() != "", Disabled: doc.Disabled, Standby: doc.Standby,
		Activated: !doc.Activated.IsZero()}
	var next time.Time
	sooner := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, t := range doc.Tags {
		sooner(t.After)
		sooner(t.Until)
		if t.After.After(now) || !t.Until.IsZero() && !t.Until.After(now) {
			continue
		}
		in.Tags = append(in.Tags, t.proto())
	}
	targets := targetsOf(node, doc.hello())
	for _, id := range sorted(w.windows) {
		if d := w.windows.get(id); d.concerns(targets, now) {
			in.Windows = append(in.Windows, d.intent())
		}
	}
	for _, id := range sorted(w.overrides) {
		o := w.overrides.get(id)
		if over := !o.Until.IsZero() && !o.Until.After(now); over || !slices.ContainsFunc(targets, o.Select.Matches) {
			continue
		}
		sooner(o.Until)
		in.Overrides = append(in.Overrides, o.proto())
	}
	w.grantsInto(in, node)
	w.fleetInto(in, node, v)
	return in, next
}

func (w *world) grantsInto(in *centralv1.Intent, node string) {
	grants := w.grantsOf(node)
	for _, id := range slices.Sorted(maps.Keys(grants)) {
		in.Grants = append(in.Grants, grantProto(grants[id].doc, uint64(grants[id].revision)))
	}
}

// fleetInto adds what follows from the other nodes.
func (w *world) fleetInto(in *centralv1.Intent, node string, v *view) {
	for _, service := range servicesOf(w.nodes.get(node).hello()) {
		if w.keep.get(service).since(node) > 0 {
			in.Keep = append(in.Keep, service)
		}
		if at, ok := w.turns.get(service).Turns[node]; ok {
			if in.ReturnAfter == nil {
				in.ReturnAfter = map[string]*timestamppb.Timestamp{}
			}
			in.ReturnAfter[service] = timestamppb.New(at)
		}
	}
	slices.Sort(in.Keep)
	if v == nil {
		return
	}
	if moved := v.othersMoved(node); !moved.IsZero() {
		in.OthersMoved = timestamppb.New(moved)
	}
	for _, s := range v.shares[node] {
		in.Shares = append(in.Shares, &centralv1.LedgerShare{Asn: s.ASN, Edges: int32(s.Edges), Index: int32(s.Index),
			Penalty: max(0, v.penalty[s.ASN]-v.own[node][s.ASN]), Known: !v.blind[s.ASN]})
	}
	if room, known := v.roomFor(node); known {
		in.Room, in.RoomAt = &room, timestamppb.New(v.at)
	}
}

// concerns reports whether a node with these targets is to know of the window:
// it is confirmed, for the node, and not all over for an hour.
func (d windowDoc) concerns(targets []maintenance.Target, now time.Time) bool {
	if d.Proposed || !slices.ContainsFunc(targets, d.Select.Matches) {
		return false
	}
	switch state, err := d.State(now); {
	case err != nil:
		return false
	case state == maintenance.Ended, state == maintenance.Cancelled:
		return false
	}
	return true
}

// intent is the window as an edge gets it: nothing in it changes by itself.
func (d windowDoc) intent() *centralv1.Window { return d.base() }

func (t tagDoc) proto() *centralv1.Tag {
	out := &centralv1.Tag{Value: t.Value, Meaning: t.Meaning, Shared: t.Shared, Since: timestamppb.New(t.Since), By: t.By}
	if t.After.After(t.Since) {
		out.After = timestamppb.New(t.After)
	}
	return out
}

func (o overrideDoc) proto() *centralv1.FleetOverride {
	return &centralv1.FleetOverride{Id: o.ID, Selector: selectorProto(o.Select), Verb: o.Verb, Reason: o.Reason, Ticket: o.Ticket,
		By: o.By, Since: timestamppb.New(o.Since), Until: stamp(o.Until), EvenIfDead: o.EvenIfDead, OverrideSafety: o.OverrideSafety}
}

func grantProto(g fleet.Grant, revision uint64) *centralv1.Grant {
	return &centralv1.Grant{Id: g.ID, Node: g.Node, Service: g.Service, Kind: string(g.Kind), Window: g.Window,
		Issued: stamp(g.Issued), Ttl: span(g.TTL), State: string(g.State), Revision: revision, OverrideSafety: g.Override}
}

// lasting takes out of an intent what moves all the time, and returns what puts it
// back: two that are alike without it want the same.
func lasting(in *centralv1.Intent) (restore func()) {
	sent, generation, report, room, roomAt := in.Sent, in.Generation, in.Report, in.Room, in.RoomAt
	in.Sent, in.Generation, in.Report, in.Room, in.RoomAt = nil, 0, 0, nil, nil
	penalties, known := make([]float64, len(in.Shares)), make([]bool, len(in.Shares))
	for i, s := range in.Shares {
		penalties[i], known[i] = s.Penalty, s.Known
		s.Penalty, s.Known = 0, false
	}
	return func() {
		in.Sent, in.Generation, in.Report, in.Room, in.RoomAt = sent, generation, report, room, roomAt
		for i, s := range in.Shares {
			s.Penalty, s.Known = penalties[i], known[i]
		}
	}
}
