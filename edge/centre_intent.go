package edge

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy"
	"github.com/catchment-bgp/catchment/policy/flap"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// intent is what the centre wants of this node, in the terms of the packages that
// know. Its zero value wants nothing.
type intent struct {
	generation uint64
	tags       community.Set
	windows    []maintenance.Window
	overrides  []fleetWord
	shares     map[uint32]flap.Share
	frozen     bool
	disabled   bool
	reserve    bool // stand by: announce only when called
	// What follows is worth something for a while only.
	keep        []string
	turns       []policy.Turn
	othersMoved time.Time
	room        float64
	roomAt      time.Time
}

// fleetWord is an operator's word for a part of the fleet, as it bears on this node.
type fleetWord struct {
	id, reason, by string
	verb           policy.Verb
	selector       maintenance.Selector
	since, until   time.Time
	evenIfDead     bool
	overrideSafety bool
}

// longestTurn bounds how long a return may wait for its turn.
const longestTurn = 15 * time.Minute

// readIntent takes an intent apart. What cannot be understood is left out and told.
func readIntent(in *centralv1.Intent, c *config.Config, at time.Time) (intent, []string) {
	out := intent{generation: in.GetGeneration(), frozen: in.GetFrozen(), disabled: in.GetDisabled(),
		reserve: in.GetStandby() && !in.GetActivated(), keep: in.GetKeep(), shares: map[uint32]flap.Share{}}
	var bad []string
	var tags []community.Value
	for _, t := range in.GetTags() {
		v, err := community.Parse(t.GetValue())
		if err != nil {
			bad = append(bad, fmt.Sprintf("tag %q: %v", t.GetValue(), err))
			continue
		}
		tags = append(tags, v)
	}
	out.tags = community.NewSet(tags...)
	for _, w := range in.GetWindows() {
		out.windows = append(out.windows, window(w, c))
	}
	for _, o := range in.GetOverrides() {
		word := fleetWord{id: o.GetId(), reason: o.GetReason(), by: o.GetBy(), selector: fleetSelector(o.GetSelector(), c), since: moment(o.GetSince()),
			until: moment(o.GetUntil()), evenIfDead: o.GetEvenIfDead(), overrideSafety: o.GetOverrideSafety()}
		if err := word.verb.UnmarshalText([]byte(o.GetVerb())); err != nil {
			bad = append(bad, fmt.Sprintf("override %s: %v", o.GetId(), err))
			continue
		}
		out.overrides = append(out.overrides, word)
	}
	for _, s := range in.GetShares() {
		if s.GetEdges() > 0 && s.GetIndex() >= 0 && s.GetIndex() < s.GetEdges() {
			out.shares[s.GetAsn()] = flap.Share{Edges: int(s.GetEdges()), Index: int(s.GetIndex())}
		}
	}
	// The centre's times are told by how long ago they were for it: our clock may differ.
	local := func(t *timestamppb.Timestamp) time.Time {
		if !t.IsValid() || !in.GetSent().IsValid() {
			return time.Time{}
		}
		return at.Add(t.AsTime().Sub(in.GetSent().AsTime()))
	}
	out.othersMoved = local(in.GetOthersMoved())
	if in.Room != nil {
		out.room, out.roomAt = in.GetRoom(), local(in.GetRoomAt())
	}
	for _, service := range slices.Sorted(maps.Keys(in.GetReturnAfter())) {
		if t := local(in.GetReturnAfter()[service]); !t.IsZero() {
			out.turns = append(out.turns, policy.Turn{Service: service, At: minTime(t, at.Add(longestTurn))})
		}
	}
	return out, bad
}

// mostBad bounds how much that is not understood a report has, and mostBadText each of it, in bytes.
const mostBad, mostBadText = 10, 300

// notUnderstood is what of the intent in force is left out here.
func (k *centreKeeper) notUnderstood() []string {
	var out []string
	for _, text := range slices.Concat(k.bad, k.windows.bad) {
		if len(out) == mostBad {
			break
		}
		out = append(out, strings.ToValidUTF8(text[:min(len(text), mostBadText)], ""))
	}
	return out
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// moment is a time of the API; the zero time where there is none.
func moment(t *timestamppb.Timestamp) time.Time {
	if !t.IsValid() {
		return time.Time{}
	}
	return t.AsTime()
}

// window is a window of the API. Parts of a second, which windows do not have, are cut
// off rather than that the window were none.
func window(w *centralv1.Window, c *config.Config) maintenance.Window {
	length := func(d *durationpb.Duration) maintenance.Duration {
		return maintenance.Duration(d.AsDuration().Truncate(time.Second))
	}
	out := maintenance.Window{
		ID: w.GetId(), Select: fleetSelector(w.GetSelector(), c), Start: moment(w.GetStart()).Truncate(time.Second), For: length(w.GetDuration()),
		Lead: length(w.GetLead()), Zone: w.GetZone(), Rule: w.GetRrule(), Reason: w.GetReason(), Ticket: w.GetTicket(),
		By: w.GetBy(), Created: moment(w.GetCreated()), Proposed: w.GetState() == "proposed",
	}
	if w.GetState() == "cancelled" {
		out.CancelledAt = moment(w.GetEnded())
	} else {
		out.EndedAt = moment(w.GetEnded())
	}
	return out
}

// fleetSelector is a selector as windows have it. An empty one stays empty, and
// selects nothing.
func fleetSelector(s *centralv1.Selector, c *config.Config) maintenance.Selector {
	out := maintenance.Selector{Nodes: slices.Clone(s.GetNodes()), Sites: s.GetSites(), Services: s.GetServices()}
	if s.GetAll() {
		out.Nodes = append(out.Nodes, c.Node)
	}
	for _, n := range s.GetNeighbors() {
		if node, name, both := cutNode(n); both {
			out.Nodes, n = append(out.Nodes, node), name
		}
		out.Neighbors = append(out.Neighbors, n)
	}
	for _, k := range slices.Sorted(maps.Keys(s.GetLabels())) {
		out.Neighbors = append(out.Neighbors, k+"="+s.GetLabels()[k])
	}
	return out
}

// cutNode takes NODE/NAME apart.
func cutNode(s string) (node, name string, both bool) {
	for i, r := range s {
		if r == '/' {
			return s[:i], s[i+1:], true
		}
	}
	return "", s, false
}

// lasting is an intent as it is kept on disk: without what is worth nothing later.
func lastingIntent(in *centralv1.Intent) ([]byte, error) {
	in = proto.CloneOf(in)
	in.Sent, in.Report, in.Room, in.RoomAt, in.OthersMoved, in.Keep, in.ReturnAfter, in.Refusals, in.Grants = nil, 0, nil, nil, nil, nil, nil, nil, nil
	for _, s := range in.GetShares() {
		s.Penalty, s.Known = 0, false
	}
	return protojson.MarshalOptions{}.Marshal(in)
}

// targets are all that a window can be for here, by service and neighbour.
func targets(c *config.Config) map[targetKey]maintenance.Target {
	out := map[targetKey]maintenance.Target{}
	for i := range c.Services {
		svc := &c.Services[i]
		for j := range c.Neighbors {
			n := &c.Neighbors[j]
			if f := policyNeighbor(*svc, *n); slices.Contains(svc.Neighbors, n.Name) && (f.IPv4 || f.IPv6) {
				out[targetKey{svc.Name, n.Name}] = maintenance.Target{Node: c.Node, Site: c.Site, Neighbor: n.Name, Service: svc.Name, NeighborLabels: n.Labels}
			}
		}
	}
	return out
}

// targetKey names a service at a neighbour.
type targetKey struct{ service, neighbor string }

// MarshalText is for the keys of JSON; names hold no slash.
func (k targetKey) MarshalText() ([]byte, error) { return []byte(k.service + "/" + k.neighbor), nil }

// UnmarshalText reads what MarshalText gave.
func (k *targetKey) UnmarshalText(text []byte) error {
	var both bool
	if k.service, k.neighbor, both = cutNode(string(text)); !both {
		return fmt.Errorf("%q is no service at a neighbour", text)
	}
	return nil
}

func (k targetKey) compare(o targetKey) int {
	return cmp.Or(cmp.Compare(k.service, o.service), cmp.Compare(k.neighbor, o.neighbor))
}

// lease is leave of the centre that this node asks for or has.
type lease struct {
	fleet.Lease
	Service string `json:"service"`
	Window  string `json:"window,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Prefixes of the service that it is for; none: all.
	Prefixes []string `json:"prefixes,omitempty"`
	// Override asks in spite of the limits.
	Override bool    `json:"override,omitempty"`
	Load     float64 `json:"load,omitempty"`
	// Asked and Begun are when it was asked for and first acted on.
	Asked   time.Time `json:"asked,omitzero"`
	BegunAt time.Time `json:"begun_at,omitzero"`
	// Until keeps what nothing asks for any more for a while; zero: it is dropped.
	Until time.Time `json:"until,omitzero"`
	// Refused says why not, and Limit by which limit; empty: no answer yet, or leave.
	Refused string      `json:"-"`
	Limit   fleet.Limit `json:"-"`
}
