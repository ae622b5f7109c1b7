package central

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/bmp"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// DefaultGrace is how long no view may have what a node announces before the node is
// unseen.
const DefaultGrace = 60 * time.Second

// noCapacity is the reason of what is announced and unseen.
const noCapacity = "no_capacity"

// Outside is how the fleet is seen from outside: by routers that tell what they have.
type Outside struct {
	Views []OutsideView
	// Grace is how long they may lack what a node announces; 0: DefaultGrace.
	Grace time.Duration
	// Station has the views' connections. It is needed where there are views.
	Station Station
}

// OutsideView is a router and the nodes whose routes it must have.
type OutsideView struct {
	Name string
	Sees []string
}

// Station is what a bmp.Station does.
type Station interface {
	// States says how all views stand.
	States(now time.Time) []bmp.State
	// Want says of which prefixes a view's routes are wanted.
	Want(prefixes map[string][]netip.Prefix)
	// Again has a view tell all it has once more, and reports whether it could be asked.
	Again(view string, now time.Time) bool
	// Changed has a value after a state has changed.
	Changed() <-chan struct{}
}

func (o Outside) grace() time.Duration { return cmp.Or(o.Grace, DefaultGrace) }

// outsideDoc is what a view told a centre.
type outsideDoc struct {
	Up     bool      `json:"up"`
	Since  time.Time `json:"since,omitzero"` // by the centre's clock
	Why    string    `json:"why,omitempty"`
	Router string    `json:"router,omitempty"`
	Peers  int       `json:"peers,omitempty"`
	// Done and Spoke are bmp.State's, as the families' names.
	Done  []string `json:"done,omitempty"`
	Spoke []string `json:"spoke,omitempty"`
	// Sees has the families in which the view has a route, by NODE/SERVICE.
	Sees map[string][]string `json:"sees,omitempty"`
}

// same reports whether another centre would decide the same by both.
func (d outsideDoc) same(e outsideDoc) bool {
	return d.Up == e.Up && d.Since.Equal(e.Since) && d.Why == e.Why && d.Router == e.Router && d.Peers == e.Peers &&
		slices.Equal(d.Done, e.Done) && slices.Equal(d.Spoke, e.Spoke) && maps.EqualFunc(d.Sees, e.Sees, slices.Equal)
}

// witness reports whether a view has told all that it has of a family.
func (d outsideDoc) witness(family string) bool {
	return d.Up && d.Peers > 0 && slices.Contains(d.Done, family)
}

// sightKey is what is judged: the nodes' services by family.
type sightKey struct{ node, service, family string }

// views is how each view stands: at the centre that it is connected to, the newest of
// those that are alive.
func (w *world) views(now time.Time) map[string]outsideDoc {
	out := map[string]outsideDoc{}
	for name, e := range w.outside {
		replica, view := split(name)
		if replica != w.settings.Replica && now.Sub(w.heard[replica]) >= replicaSilence {
			continue
		}
		if d, best := e.doc, out[view]; d.Up && !best.Up || d.Up == best.Up && d.Since.After(best.Since) {
			out[view] = d
		}
	}
	return out
}

// look judges all that nodes announce by what the views have.
func (w *world) look(now time.Time) map[sightKey]fleet.Sight {
	out := map[sightKey]fleet.Sight{}
	watched := map[string][]string{} // views by node
	views := w.views(now)
	for _, v := range w.settings.Outside.Views {
		for _, node := range v.Sees {
			watched[node] = append(watched[node], v.Name)
		}
	}
	for node, names := range watched {
		doc := w.nodes.get(node)
		live, heard := w.heardOf(node)
		if !heard || doc.Disabled || !w.seen(live, now) || !upEverywhere(live.report()) {
			continue
		}
		for _, s := range live.report().GetServices() {
			if !announces(s) || len(s.GetWithheld()) > 0 {
				continue
			}
			for _, family := range slices.Sorted(maps.Keys(prefixesOf(doc.hello(), s.GetName()))) {
				k := sightKey{node, s.GetName(), family}
				if sight := fleet.Look(w.sights[k], witnesses(k, names, views), w.settings.Outside.grace(), now); !sight.Since.IsZero() {
					out[k] = sight
				}
			}
		}
	}
	return out
}

// upEverywhere reports whether all sessions of a node are up: a view may be behind the
// one that is not.
func upEverywhere(r *centralv1.Report) bool {
	return !slices.ContainsFunc(r.GetNeighbors(), func(n *centralv1.NeighborReport) bool { return n.GetSession() != "established" })
}

// witnesses are those of the named views that have told all they have.
func witnesses(k sightKey, names []string, views map[string]outsideDoc) (all []fleet.Witness) {
	for _, name := range names {
		if v := views[name]; v.witness(k.family) {
			all = append(all, fleet.Witness{View: name, Begun: v.Since, Spoke: slices.Contains(v.Spoke, k.family),
				Sees: slices.Contains(v.Sees[k.node+"/"+k.service], k.family)})
		}
	}
	return all
}

// prefixesOf are those of a service that a node has, by the family's name.
func prefixesOf(h *centralv1.Hello, service string) map[string][]netip.Prefix {
	out := map[string][]netip.Prefix{}
	for _, s := range h.GetServices() {
		for _, text := range s.GetPrefixes() {
			if p, err := netip.ParsePrefix(text); err == nil && s.GetName() == service {
				family := bmp.FamilyOf(p).String()
				out[family] = append(out[family], p.Masked())
			}
		}
	}
	return out
}

// unseen are the verdicts on a node, by service and family.
func (w *world) unseen(node string) []*centralv1.Unseen {
	var out []*centralv1.Unseen
	for k, s := range w.sights {
		if k.node == node && s.Unseen {
			out = append(out, &centralv1.Unseen{Service: k.service, Family: k.family, Views: s.Views, Since: stamp(s.Since)})
		}
	}
	slices.SortFunc(out, func(a, b *centralv1.Unseen) int {
		return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.Family, b.Family))
	})
	return out
}

// unseenAt says which views lack a service of a node, as "a, b (ipv4)"; empty: it is
// seen, or not judged.
func (w *world) unseenAt(node, service string) string {
	var parts []string
	for _, f := range bmp.Families {
		if s := w.sights[sightKey{node, service, f.String()}]; s.Unseen {
			parts = append(parts, fmt.Sprintf("%s (%s)", strings.Join(s.Views, ", "), f))
		}
	}
	return strings.Join(parts, "; ")
}

// seenOutside tells of the services that are announced and unseen, in the place of what
// the node says, and why the node is no capacity although it announces.
func (w *world) seenOutside(node string, services []*centralv1.ServiceReport) (out []*centralv1.ServiceReport, why string) {
	var whys []string
	for _, s := range services {
		lacking := w.unseenAt(node, s.GetName())
		switch {
		case announces(s) && lacking != "":
			s = &centralv1.ServiceReport{Name: s.GetName(), State: stateUnseen, Reason: noCapacity, Detail: "announced, and unseen at " + lacking,
				Since: s.Since, Hard: s.GetHard(), Neighbors: s.Neighbors}
			whys = append(whys, s.GetName()+": unseen at "+lacking)
		case reasonOf(s) == fleet.NoSession:
			whys = append(whys, s.GetName()+": no session is up")
		}
		out = append(out, s)
	}
	return out, strings.Join(whys, "; ")
}

// viewsProto is how all views stand.
func (w *world) viewsProto(now time.Time) []*centralv1.OutsideView {
	var out []*centralv1.OutsideView
	views := w.views(now)
	for _, v := range w.settings.Outside.Views {
		d := views[v.Name]
		p := &centralv1.OutsideView{Name: v.Name, Connected: d.Up, Since: stamp(d.Since), Reason: d.Why, Router: d.Router, Peers: int32(d.Peers), Sees: v.Sees}
		for _, f := range bmp.Families {
			if d.witness(f.String()) {
				p.Complete = append(p.Complete, f.String())
			}
		}
		out = append(out, p)
	}
	return out
}
