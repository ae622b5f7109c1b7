package central

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/bmp"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/community/update"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// fakeViews are views whose routes a test says.
type fakeViews struct {
	mu      sync.Mutex
	states  []bmp.State
	want    map[string][]netip.Prefix
	asked   []string
	deaf    bool // they do not tell again when they are asked
	changed chan struct{}
}

func newFakeViews(names ...string) *fakeViews {
	v := &fakeViews{changed: make(chan struct{}, 1)}
	for _, name := range names {
		v.states = append(v.states, bmp.State{Name: name, Up: true, Since: time.Now(), Router: name + "-router", Peers: 2, Done: [2]bool{true, true}, Spoke: [2]bool{true, true}})
	}
	return v
}

func (v *fakeViews) States(time.Time) []bmp.State {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.states)
}

func (v *fakeViews) Want(want map[string][]netip.Prefix) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.want = want
}

func (v *fakeViews) Again(view string, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, view)
	for i := range v.states {
		if v.states[i].Name == view && !v.deaf {
			v.states[i].Since = now
		}
	}
	return true
}

func (v *fakeViews) Changed() <-chan struct{} { return v.changed }

// set changes what the views have.
func (v *fakeViews) set(change func([]bmp.State)) {
	v.mu.Lock()
	v.states = slices.Clone(v.states)
	change(v.states)
	v.mu.Unlock()
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

const (
	video4 = "198.51.100.0/24"
	video6 = "2001:db8:100::/48"
)

// from is a route of a node at AS 65001 with this tag; "" is none.
func from(prefix, tag string) bmp.Route {
	r := bmp.Route{Prefix: netip.MustParsePrefix(prefix), PeerASN: 57629, LocalASN: 65001, Path: update.Path{{Type: update.Sequence, ASNs: []uint32{57629}}}}
	if tag != "" {
		v, err := community.Parse(tag)
		if err != nil {
			panic(err) // of a test
		}
		r.Communities = community.NewSet(v)
	}
	return r
}

func tagOf(node string) string { return "57629:1" + strings.TrimPrefix(node, "n") }

// seenLab is a centre with three edges, n01 and n02 tagged, and the views rr, which must
// see both and has them, and other, which must see nobody.
func seenLab(t *testing.T) (*lab, *fakeViews, []*simEdge) {
	l := newLab(t, fleet.Limits{MinAnnouncing: 2})
	l.kill()
	v := newFakeViews("rr", "other")
	l.outside = Outside{Views: []OutsideView{{"rr", []string{"n01", "n02"}}, {"other", nil}}, Station: v}
	l.start()
	edges := l.join(3)
	for _, e := range edges[:2] {
		if _, err := l.api.TagNode(l.ctx(), &centralv1.TagNodeRequest{Node: e.name, Value: tagOf(e.name), Meaning: e.name, Reason: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	v.set(func(s []bmp.State) { s[0].Routes = []bmp.Route{from(video4, tagOf("n01")), from(video4, tagOf("n02"))} })
	pass(2 * time.Minute)
	return l, v, edges
}

func (l *lab) node(name string) *centralv1.Node {
	l.t.Helper()
	n, err := l.api.GetNode(l.ctx(), &centralv1.GetNodeRequest{Name: name})
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

// unseen wants a node to be unseen, or not.
func (l *lab) unseen(name string, want bool) {
	l.t.Helper()
	n := l.node(name)
	if got := n.GetState() == stateUnseen && n.GetConnected() && n.GetReason() == noCapacity && len(n.GetUnseen()) > 0 && n.GetNoCapacity() != ""; got != want {
		l.t.Errorf("%s is %s (%s), %v, %q; unseen: want %v", name, n.GetState(), n.GetReason(), n.GetUnseen(), n.GetNoCapacity(), want)
	}
}

func TestANodeThatNoViewHasIsNoCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, v, edges := seenLab(t)
		l.unseen("n01", false)
		v.set(func(s []bmp.State) { s[0].Routes = s[0].Routes[1:] })
		pass(50 * time.Second)
		l.unseen("n01", false)
		if n := l.announcing(); n != 3 {
			t.Errorf("%d announce within the grace", n)
		}
		pass(16 * time.Second)
		l.unseen("n01", true)
		l.unseen("n02", false)
		l.unseen("n03", false)
		n := l.node("n01")
		if n.GetNoCapacity() != "video: unseen at rr (ipv4)" || n.GetServices()[0].GetState() != stateUnseen || !slices.Equal(n.GetUnseen()[0].GetViews(), []string{"rr"}) {
			t.Errorf("%v", n)
		}
		s := l.fleet()
		if l.announcing() != 2 || !strings.Contains(s.GetSummary(), "n01 is unseen at rr (ipv4)") {
			t.Errorf("%s", s.GetSummary())
		}
		if views := s.GetViews(); len(views) != 2 || !views[0].GetConnected() || views[0].GetRouter() != "rr-router" || !slices.Equal(views[0].GetComplete(), []string{"ipv4", "ipv6"}) || len(views[0].GetSees()) != 2 {
			t.Errorf("%v", s.GetViews())
		}
		_, err := l.api.AddWindow(l.ctx(), &centralv1.AddWindowRequest{Selector: &centralv1.Selector{Nodes: []string{"n02"}}, Start: "now", Duration: durationpb.New(time.Minute), Reason: "x"})
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "unseen from outside: n01 at rr (ipv4)") {
			t.Errorf("a window for another: %v", err)
		}
		edges[1].set(func(e *simEdge) { e.soft = false })
		pass(10 * time.Second)
		if r := edges[1].intent().GetRefusals(); len(r) != 1 || r[0].GetLimit() != "min_announcing" {
			t.Errorf("refusals %v", r)
		}
		edges[1].set(func(e *simEdge) { e.soft = true })
		if !slices.Equal(v.asked, []string{"rr"}) {
			t.Errorf("asked %v", v.asked)
		}
		v.set(func(s []bmp.State) { s[0].Routes = append(slices.Clone(s[0].Routes), from(video4, tagOf("n01"))) })
		pass(3 * time.Second)
		l.unseen("n01", false)
		if n := l.announcing(); n != 3 {
			t.Errorf("%d announce after the filter is gone", n)
		}
	})
}

// One router that tells nothing but lies must not end a service together with a bad check.
func TestALyingViewLetsNoKeeperGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, v, edges := seenLab(t)
		v.set(func(s []bmp.State) { s[0].Routes = nil })
		pass(2 * time.Minute)
		l.unseen("n01", true)
		l.unseen("n02", true)
		for _, e := range edges {
			e.set(func(e *simEdge) { e.hard = false })
		}
		pass(2 * time.Minute)
		var kept []string
		for _, e := range edges {
			if slices.Contains(e.intent().GetKeep(), video) {
				kept = append(kept, e.name)
			}
		}
		if len(kept) < 2 {
			t.Errorf("%v are kept in a hard failure, want two at least", kept)
		}
	})
}

func TestWhoIsNotJudged(t *testing.T) {
	none := func(s []bmp.State) { s[0].Routes = nil }
	for name, change := range map[string]func(*fakeViews, []*simEdge){
		"the view is away": func(v *fakeViews, _ []*simEdge) {
			v.set(func(s []bmp.State) { s[0] = bmp.State{Name: "rr", Since: time.Now(), Why: "x"} })
		},
		"its table is not whole": func(v *fakeViews, _ []*simEdge) {
			v.set(none)
			v.set(func(s []bmp.State) { s[0].Done = [2]bool{false, true} })
		},
		"it has no peer":                func(v *fakeViews, _ []*simEdge) { v.set(none); v.set(func(s []bmp.State) { s[0].Peers = 0 }) },
		"it says nothing of the family": func(v *fakeViews, _ []*simEdge) { v.set(none); v.set(func(s []bmp.State) { s[0].Spoke = [2]bool{} }) },
		"it has not told all once more": func(v *fakeViews, _ []*simEdge) { v.set(func([]bmp.State) { v.deaf = true }); v.set(none) },
		"the node has withdrawn":        func(v *fakeViews, es []*simEdge) { v.set(none); es[0].set(func(e *simEdge) { e.hard = false }) },
		"one of its sessions is down":   func(v *fakeViews, es []*simEdge) { v.set(none); es[0].set(func(e *simEdge) { e.session = "active" }) },
		"it has withdrawn at one neighbour": func(v *fakeViews, es []*simEdge) {
			v.set(none)
			es[0].set(func(e *simEdge) { e.withheld = []string{"transit-b"} })
		},
		"the node has no session":   func(v *fakeViews, es []*simEdge) { v.set(none); es[0].set(func(e *simEdge) { e.alone = true }) },
		"the node is not connected": func(v *fakeViews, es []*simEdge) { v.set(none); es[0].leave() },
		"communities do not reach the view": func(v *fakeViews, _ []*simEdge) {
			v.set(func(s []bmp.State) { s[0].Routes = []bmp.Route{from(video4, "")} })
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, v, edges := seenLab(t)
			change(v, edges)
			pass(4 * time.Minute)
			n := l.node("n01")
			if len(n.GetUnseen()) > 0 || n.GetReason() == noCapacity {
				t.Errorf("%s: %v", name, n)
			}
		})
	}
}

func TestAViewThatGoesIsNoWitnessAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, v, _ := seenLab(t)
		v.set(func(s []bmp.State) { s[0].Routes = s[0].Routes[1:] })
		pass(70 * time.Second)
		l.unseen("n01", true)
		v.set(func(s []bmp.State) {
			s[0] = bmp.State{Name: "rr", Since: time.Now(), Why: "the router closed the connection"}
		})
		pass(10 * time.Second)
		l.unseen("n01", false)
		if view := l.fleet().GetViews()[0]; view.GetConnected() || view.GetReason() != "the router closed the connection" {
			t.Errorf("%v", view)
		}
	})
}

// TestEachFamilyIsJudged has one that is lost.
func TestEachFamilyIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, v, edges := seenLab(t)
		e := edges[0]
		e.hello = proto.CloneOf(e.hello)
		e.hello.Services[0].Prefixes = []string{video4, video6}
		e.set(func(e *simEdge) { e.say = e.hello })
		pass(70 * time.Second)
		if n := l.node("n01"); n.GetState() != stateUnseen || n.GetNoCapacity() != "video: unseen at rr (ipv6)" || len(n.GetUnseen()) != 1 {
			t.Errorf("%v", n)
		}
		v.mu.Lock()
		want := v.want["rr"]
		v.mu.Unlock()
		if !slices.Contains(want, netip.MustParsePrefix(video6)) || len(v.want["other"]) > 0 {
			t.Errorf("wanted: %v", want)
		}
		v.set(func(s []bmp.State) { s[0].Routes = append(slices.Clone(s[0].Routes), from(video6, tagOf("n01"))) })
		pass(3 * time.Second)
		l.unseen("n01", false)
	})
}

// TestAnotherCentreDecidesTheSame has the views at the first.
func TestAnotherCentreDecidesTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, v, _ := seenLab(t)
		other := &lab{t: t, store: l.store, edges: map[string]*simEdge{}, limit: l.limit,
			outside: Outside{Views: l.outside.Views, Station: newFakeViews()}}
		other.start()
		defer other.kill()
		v.set(func(s []bmp.State) { s[0].Routes = s[0].Routes[1:] })
		pass(75 * time.Second)
		other.unseen("n01", true)
		other.unseen("n02", false)
		l.kill() // and the views with it
		pass(replicaSilence + 10*time.Second)
		if n := other.node("n01"); len(n.GetUnseen()) > 0 || other.fleet().GetViews()[0].GetConnected() {
			t.Errorf("without the centre that had the views: %v", n)
		}
	})
}

func TestTheMetricsTellWhoIsUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, v, _ := seenLab(t)
		v.set(func(s []bmp.State) { s[0].Routes = s[0].Routes[1:] })
		pass(70 * time.Second)
		families, err := l.f.Registry().Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if strings.HasSuffix(f.GetName(), "_unseen") || strings.HasSuffix(f.GetName(), "_bmp_connected") {
					var labels []string
					for _, p := range m.GetLabel() {
						labels = append(labels, p.GetName()+"="+p.GetValue())
					}
					got[f.GetName()] += strings.Join(labels, ",") + " "
				}
			}
		}
		if got["catchment_central_unseen"] != "family=ipv4,node=n01,service=video " || got["catchment_central_bmp_connected"] != "view=other view=rr " {
			t.Errorf("%v", got)
		}
	})
}

func TestWhoseRouteItIs(t *testing.T) {
	h := &centralv1.Hello{Asn: 57629, Neighbors: []*centralv1.EdgeNeighbor{{Asn: 65001}, {Asn: 65002}}}
	own := &centralv1.Hello{Asn: 57629, Neighbors: []*centralv1.EdgeNeighbor{{Asn: 57629}}}
	value := func(text string) community.Value {
		v, err := community.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	tags := fleetTags{by: map[string]map[community.Value]bool{"n01": {value("57629:101"): true}}, all: map[community.Value]bool{value("57629:101"): true, value("57629:102"): true}}
	seq := func(asns ...uint32) update.Path { return update.Path{{Type: update.Sequence, ASNs: asns}} }
	for _, c := range []struct {
		name  string
		node  string
		hello *centralv1.Hello
		path  update.Path
		at    uint32
		tag   string
		reach bool // tags reach the view
		want  bool
	}{
		{"its tag", "n01", h, seq(1, 2, 3), 65009, "57629:101", true, true},
		{"another's tag", "n01", h, seq(57629), 65001, "57629:102", true, false},
		{"another's tag, and it has none", "n03", h, seq(57629), 65001, "57629:102", true, false},
		{"a community that is nobody's tag", "n01", h, seq(57629), 65001, "65001:1", false, true},
		{"no tag, at its neighbour", "n01", h, seq(57629), 65001, "", false, true},
		{"no tag, where tags reach the view", "n01", h, seq(57629), 65001, "", true, false},
		{"no tag, of a node without one, where tags reach the view", "n03", h, seq(57629), 65001, "", true, true},
		{"no tag, prepended", "n03", h, seq(57629, 57629), 65002, "", false, true},
		{"no tag, as FRR 8 tells it", "n03", h, seq(65001, 57629), 65001, "", false, true},
		{"no tag, behind its neighbour", "n03", h, seq(65100, 65002, 57629), 65009, "", false, true},
		{"no tag, behind another AS", "n03", h, seq(65100, 65003, 57629), 65009, "", false, false},
		{"no tag, at another AS", "n03", h, seq(57629), 65003, "", false, false},
		{"of another origin", "n03", h, seq(65001, 64500), 65001, "", false, false},
		{"a set before us", "n03", h, update.Path{{Type: update.Set, ASNs: []uint32{65001}}, {Type: update.Sequence, ASNs: []uint32{57629}}}, 65009, "", false, false},
		{"a confederation before us", "n03", h, update.Path{{Type: update.ConfedSequence, ASNs: []uint32{64512}}, {Type: update.Sequence, ASNs: []uint32{57629}}}, 65001, "", false, true},
		{"within our AS", "n03", own, nil, 57629, "", false, true},
		{"within another AS", "n03", own, nil, 65001, "", false, false},
	} {
		r := bmp.Route{Path: c.path, PeerASN: 1, LocalASN: c.at}
		if c.tag != "" {
			r.Communities = community.NewSet(value(c.tag))
		}
		has := &sighted{tags: map[community.Value]bool{}}
		has.add(r, tags)
		if got := tags.of(c.node, c.hello, has, c.reach); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
