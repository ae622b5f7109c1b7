package central

import (
	"maps"
	"slices"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// The states of a service, as edges report them.
const (
	stateAnnounced = "announced"
	stateSteered   = "steered"
	stateDraining  = "draining"
	stateWithdrawn = "withdrawn"
	stateUnseen    = "unseen"
)

// stands reports whether a node wants to announce a service, heard by routers or not.
func stands(s *centralv1.ServiceReport) bool {
	return s.GetState() == stateAnnounced || s.GetState() == stateSteered
}

// announces reports whether a service counts as announced: routers have it. A node that
// wants to announce but has no session up is no capacity.
func announces(s *centralv1.ServiceReport) bool {
	return stands(s) && (s.Neighbors == nil || s.GetNeighbors() > 0)
}

// reasonOf is why a service is as it is, in a word.
func reasonOf(s *centralv1.ServiceReport) string {
	if stands(s) && !announces(s) {
		return fleet.NoSession
	}
	return s.GetReason()
}

// fleetAt is the fleet as policy/fleet sees it.
func (w *world) fleetAt(now time.Time) fleet.Fleet {
	f := fleet.Fleet{Now: now, Nodes: make([]fleet.Node, 0, len(w.nodes)), Limits: w.settings.Services,
		Grants: w.allGrants(), Lands: w.settings.Landing, Frozen: w.frozen()}
	for _, name := range sorted(w.nodes) {
		f.Nodes = append(f.Nodes, w.nodeAt(name, now))
	}
	return f
}

func (w *world) nodeAt(name string, now time.Time) fleet.Node {
	doc := w.nodes.get(name)
	live, heard := w.heardOf(name)
	n := fleet.Node{Name: name, Site: doc.hello().GetSite(), Disabled: doc.Disabled, Standby: doc.Standby, Activated: doc.Activated,
		Seen: heard && w.seen(live, now), Moved: live.Moved, Services: map[string]fleet.Standing{}}
	n.Capacity, n.Load = figures(live.report().GetLinks())
	if p, ok := w.peaks[name]; ok {
		n.Peak = p.doc.Between(now, now, now.Add(time.Hour))
	}
	for _, s := range doc.hello().GetServices() {
		n.Services[s.GetName()] = fleet.Standing{}
	}
	for _, s := range live.report().GetServices() {
		st, has := n.Services[s.GetName()]
		if !has {
			continue // of an older configuration
		}
		st.Announcing, st.Healthy = announces(s), s.GetHard() == "up"
		if !st.Announcing {
			st.Reason = reasonOf(s)
		} else if lacking := w.unseenAt(name, s.GetName()); lacking != "" {
			st.Announcing, st.Reason, st.Lacking = false, fleet.Unseen, lacking
		}
		n.Services[s.GetName()] = st
	}
	for service, st := range n.Services {
		if since := w.keep.get(service).since(name); since > 0 {
			st.Told, st.Keeps = true, live.Keeps[service] == since
			n.Services[service] = st
		}
	}
	return n
}

// figures adds links up: a load that is not known on one is not known. What is no
// figure is not known either.
func figures(links []*centralv1.LinkReport) (capacity float64, load fleet.Figure) {
	load.Known = len(links) > 0
	for _, l := range links {
		if sane(l.GetCapacity()) {
			capacity += l.GetCapacity()
		}
		switch known := l.GetKnown() && !l.GetStale() && sane(l.GetLoad()); {
		case known:
			load.Value += l.GetLoad()
		default:
			load.Known = false
		}
	}
	return capacity, load
}

// mostFigure is far above any link, in bit/s, and any penalty.
const mostFigure = 1e18

// sane reports whether a figure from outside can be one.
func sane(v float64) bool { return v >= 0 && v <= mostFigure } // no NaN is

// view is what was worked out of a world at a moment, for all edges at once. It
// is never changed.
type view struct {
	at    time.Time
	fleet fleet.Fleet
	place map[string]int // of a node in fleet.Nodes
	// room is how much load each announcing node could take, and roomAll all of them,
	// of roomOf that they can carry. roomTold is roomAll of the view that was news.
	room                      map[string]float64
	roomAll, roomOf, roomTold float64
	// roomKnown is false where nobody's capacity is known.
	roomKnown bool
	// first moved last, second before it.
	first, second mover
	shares        map[string][]fleet.Share
	penalty       map[uint32]float64            // at each AS, of all
	own           map[string]map[uint32]float64 // at each AS, of one
	blind         map[uint32]bool               // ASes where a node announces that is not seen
}

type mover struct {
	node string
	at   time.Time
}

// brim is how full another node may get by load control alone.
const roomBrim = fleet.Brim

// roomStep is how much less room, as a share of the capacity, is news to all.
const roomStep = 0.02

func newView(w *world, now time.Time) *view {
	v := &view{at: now, fleet: w.fleetAt(now), place: map[string]int{}, room: map[string]float64{},
		penalty: map[uint32]float64{}, own: map[string]map[uint32]float64{}, blind: map[uint32]bool{}}
	asns := map[string][]uint32{}
	for i, n := range v.fleet.Nodes {
		v.place[n.Name] = i
		asns[n.Name] = asnsOf(w.nodes.get(n.Name).hello())
		for _, asn := range asns[n.Name] {
			v.blind[asn] = v.blind[asn] || !n.Seen
		}
		v.addRoom(n)
		v.addMove(n)
		v.addPenalty(w, n)
	}
	v.shares = fleet.Shares(asns)
	return v
}

func (v *view) addRoom(n fleet.Node) {
	takes := n.Seen && !n.Disabled && slices.ContainsFunc(slices.Collect(maps.Values(n.Services)), func(s fleet.Standing) bool { return s.Announcing })
	if !takes || !(n.Capacity > 0) || !n.Load.Known {
		return
	}
	room := max(0, roomBrim*n.Capacity-n.Load.Value)
	v.room[n.Name], v.roomKnown = room, true
	v.roomAll += room
	v.roomOf += n.Capacity
}

// tighter reports whether there is much less room than at the view that was news to
// all last: nodes that are about to shed load are to know before they do, and not when
// they report next.
func (v *view) tighter(before *view) bool {
	v.roomTold = v.roomAll
	if before == nil || v.roomAll >= before.roomTold {
		return false
	}
	if before.roomTold-v.roomAll > roomStep*v.roomOf {
		return true
	}
	v.roomTold = before.roomTold
	return false
}

func (v *view) addMove(n fleet.Node) {
	switch {
	case n.Moved.After(v.first.at):
		v.first, v.second = mover{n.Name, n.Moved}, v.first
	case n.Moved.After(v.second.at):
		v.second = mover{n.Name, n.Moved}
	}
}

func (v *view) addPenalty(w *world, n fleet.Node) {
	live, ok := w.heardOf(n.Name)
	if !ok {
		return
	}
	at := map[string]uint32{}
	for _, nb := range w.nodes.get(n.Name).hello().GetNeighbors() {
		at[nb.GetName()] = nb.GetAsn()
	}
	own := map[uint32]float64{}
	for _, nb := range live.report().GetNeighbors() {
		if p := nb.GetFlapPenalty(); p > 0 && sane(p) {
			own[at[nb.GetName()]] = max(own[at[nb.GetName()]], p)
		}
	}
	for asn, p := range own {
		v.penalty[asn] += p
	}
	if len(own) > 0 {
		v.own[n.Name] = own
	}
}

// roomFor is how much load the others whose clients overlap can take from a node
// together. Half of it: others ask for it at the same time.
func (v *view) roomFor(node string) (float64, bool) {
	i, ok := v.place[node]
	if !ok || !v.roomKnown {
		return 0, false
	}
	if v.fleet.Lands == nil {
		return (v.roomAll - v.room[node]) / 2, true
	}
	var sum float64
	for name, room := range v.room {
		if name != node && v.overlaps(v.fleet.Nodes[i], v.fleet.Nodes[v.place[name]]) {
			sum += room
		}
	}
	return sum / 2, true
}

// othersMoved is when another node whose clients overlap last moved.
func (v *view) othersMoved(node string) time.Time {
	i, ok := v.place[node]
	switch {
	case !ok:
		return time.Time{}
	case v.fleet.Lands == nil && v.first.node != node:
		return v.first.at
	case v.fleet.Lands == nil:
		return v.second.at
	}
	var last time.Time
	for _, n := range v.fleet.Nodes {
		if n.Name != node && n.Moved.After(last) && v.overlaps(v.fleet.Nodes[i], n) {
			last = n.Moved
		}
	}
	return last
}

// overlaps reports whether load that one node sheds may land on the other.
func (v *view) overlaps(a, b fleet.Node) bool {
	if a.Site != "" && a.Site == b.Site {
		return true
	}
	rowA, knownA := v.fleet.Lands[a.Name]
	rowB, knownB := v.fleet.Lands[b.Name]
	return !knownA || !knownB || rowA[b.Name] > 0 || rowB[a.Name] > 0
}
