package central

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// lab is a centre over a store in memory, and edges that speak to it without a
// network, so that all of it may stand in a synctest bubble.
type lab struct {
	t     *testing.T
	store *store.Memory
	f     *Fleet
	api   *api
	stop  func()
	edges map[string]*simEdge
	limit fleet.Limits
	keep  time.Duration // of audit records
	// outside is how the fleet is seen; its zero value: not at all.
	outside Outside
}

const video = "video"

// newLab starts a centre. Everything ends with the test.
func newLab(t *testing.T, limits fleet.Limits) *lab {
	l := &lab{t: t, store: store.NewMemory(), edges: map[string]*simEdge{}, limit: limits}
	l.start()
	t.Cleanup(func() {
		for _, e := range l.edges {
			e.leave()
		}
		l.kill()
		_ = l.store.Close()
	})
	return l
}

// start begins a centre over the store as it is.
func (l *lab) start() {
	l.f = NewFleet(l.store, Settings{ASN: 57629, Services: map[string]fleet.Limits{video: l.limit}, Replica: newID("r"), AuditKeep: l.keep, Outside: l.outside})
	l.run()
}

// run runs the centre as it is.
func (l *lab) run() {
	l.api = &api{f: l.f}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.f.Run(ctx) }()
	<-l.f.Ready()
	l.stop = func() { cancel(); <-done }
}

// kill ends the centre; the edges know nothing of it.
func (l *lab) kill() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// ctx is that of an operator.
func (l *lab) ctx() context.Context {
	return identity.NewContext(l.t.Context(), identity.Peer{Name: identity.Name{Domain: "test", Kind: identity.NOC, Name: "anna"}, Role: identity.Operator})
}

// simEdge is an edge as the contract has it, in few words: it reports, and does
// what its intent says.
type simEdge struct {
	l        *lab
	name     string
	hello    *centralv1.Hello
	capacity float64

	mu    sync.Mutex
	in    *centralv1.Intent // in force, also while the centre is away
	got   time.Time
	hard  bool // its hard checks pass
	soft  bool // its soft checks pass
	hot   bool // it wants to shed load
	alone bool // it has no session up
	// withheld is where it does not announce what it announces elsewhere, and session
	// how that with its first neighbour stands; "": established.
	withheld []string
	session  string
	load     float64
	begun    map[string]bool // windows that have withdrawn
	report   uint64
	moved    time.Time
	// penalty is what it was charged at its first neighbour.
	penalty float64
	extra   *centralv1.GrantRequest // asked for besides, and not acted on
	say     *centralv1.Hello        // to be said with the next report
	deaf    bool                    // it hears nothing new
	detail  *centralv1.Detail       // to be said with the next report
	links   []*centralv1.LinkReport // what it says of its links; nil: one, of its load and capacity
	strange []string                // it does not understand that of its intent

	cancel func()
	done   chan struct{}
	poke   chan struct{}
}

// join adds edges msk1, msk2, ... of one service with a capacity of 10 Gbit/s.
func (l *lab) join(n int) []*simEdge {
	var out []*simEdge
	for i := range n {
		e := &simEdge{l: l, name: fmt.Sprintf("n%02d", i+1), capacity: 10e9, load: 2e9, hard: true, soft: true, begun: map[string]bool{}}
		e.hello = &centralv1.Hello{Node: e.name, Site: fmt.Sprintf("site%d", i/2), Version: "test", Asn: 57629,
			Neighbors: []*centralv1.EdgeNeighbor{{Name: "transit-a", Asn: 65001, Kind: "transit", Labels: map[string]string{"circuit": "C-" + e.name}},
				{Name: "transit-b", Asn: 65002, Kind: "transit"}},
			Services: []*centralv1.EdgeService{{Name: video, Prefixes: []string{"198.51.100.0/24"}, Drain: durationpb.New(5 * time.Second)}},
			Labels:   map[string]string{"rack": fmt.Sprintf("r%d", i%2)}}
		l.edges[e.name] = e
		e.connect()
		out = append(out, e)
	}
	synctest.Wait()
	return out
}

// connect runs the edge's stream against the lab's centre.
func (e *simEdge) connect() {
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel, e.done, e.poke = cancel, make(chan struct{}), make(chan struct{}, 1)
	f := e.l.f
	go func() {
		defer close(e.done)
		s, err := f.open(ctx, e.hello)
		if err != nil {
			return
		}
		defer f.shut(s)
		heard := make(chan error, 1)
		listened := make(chan struct{})
		go func() {
			defer close(listened)
			heard <- f.listen(ctx, s, nil, e.recv(ctx))
		}()
		_ = f.talk(ctx, s, heard, e.take)
		cancel()
		<-listened
	}()
	e.changed()
}

// recv gives a report at each change and every ten seconds.
func (e *simEdge) recv(ctx context.Context) func() (*centralv1.EdgeMessage, error) {
	return func() (*centralv1.EdgeMessage, error) {
		timer := time.NewTimer(10 * time.Second)
		defer timer.Stop()
		select {
		case <-e.poke:
		case <-timer.C:
		case <-ctx.Done():
			return nil, io.EOF
		}
		m := &centralv1.EdgeMessage{Report: e.tell()}
		e.mu.Lock()
		m.Hello, e.say = e.say, nil
		m.Detail, e.detail = e.detail, nil
		e.mu.Unlock()
		return m, nil
	}
}

func (e *simEdge) take(in *centralv1.Intent) error {
	e.mu.Lock()
	if e.deaf {
		e.mu.Unlock()
		return nil
	}
	newer := e.in == nil || in.GetGeneration() != e.in.GetGeneration()
	e.in, e.got = in, time.Now()
	e.mu.Unlock()
	if newer {
		e.changed()
	}
	return nil
}

// changed makes the edge report now.
func (e *simEdge) changed() {
	select {
	case e.poke <- struct{}{}:
	default:
	}
}

// set changes what the edge finds.
func (e *simEdge) set(change func(*simEdge)) {
	e.mu.Lock()
	change(e)
	e.mu.Unlock()
	e.changed()
}

// leave cuts the edge off.
func (e *simEdge) leave() {
	if e.cancel != nil {
		e.cancel()
		<-e.done
		e.cancel = nil
	}
}

// target is what windows and overrides are held against.
func (e *simEdge) target() maintenance.Target {
	return maintenance.Target{Node: e.name, Site: e.hello.Site, Neighbor: "transit-a", Service: video, NodeLabels: e.hello.Labels}
}

// windows are those that hold here now, by the edge's own clock.
func (e *simEdge) windows(now time.Time) []*centralv1.Window {
	var out []*centralv1.Window
	for _, w := range e.in.GetWindows() {
		m := maintenance.Window{ID: w.GetId(), Select: maintenance.Selector{Nodes: w.GetSelector().GetNodes(), Sites: w.GetSelector().GetSites(),
			Neighbors: w.GetSelector().GetNeighbors(), Services: w.GetSelector().GetServices()}, Start: w.GetStart().AsTime(),
			For: maintenance.Duration(w.GetDuration().AsDuration()), Lead: maintenance.Duration(w.GetLead().AsDuration()), Zone: w.GetZone(),
			Rule: w.GetRrule(), Reason: w.GetReason(), Created: w.GetCreated().AsTime(), EndedAt: moment(w.GetEnded())}
		c, err := maintenance.New([]maintenance.Window{m})
		if err != nil {
			continue
		}
		if len(c.For(e.target()).At(now).Running) > 0 {
			out = append(out, w)
		}
	}
	return out
}

// granted returns whether the edge may act on a grant: it counts from its own clock.
func (e *simEdge) granted(id string, window bool, now time.Time) bool {
	for _, g := range e.in.GetGrants() {
		if g.GetId() == id && g.GetState() != string(fleet.Revoked) {
			return window && e.begun[id] || now.Before(e.got.Add(g.GetTtl().AsDuration()-fleet.Margin))
		}
	}
	return false
}

// tell is the report, and the edge's whole policy.
func (e *simEdge) tell() *centralv1.Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.report++
	r := &centralv1.Report{Clock: timestamppb.New(now), ClockSynchronised: true, Generation: e.in.GetGeneration(), Number: e.report, NotUnderstood: e.strange,
		Links: []*centralv1.LinkReport{{Name: "all", Load: e.load, Capacity: e.capacity, Known: true, Utilization: e.load / e.capacity}}}
	if e.links != nil {
		r.Links = e.links
	}
	r.Neighbors = []*centralv1.NeighborReport{{Name: "transit-a", Session: cmp.Or(e.session, "established"), FlapPenalty: e.penalty}}
	state, reason := stateAnnounced, "normal"
	want := func(id, kind, window string) {
		switch {
		case e.granted(id, kind == "window", now):
			e.begun[id] = true
			r.Held = append(r.Held, id)
			state = stateWithdrawn
		case state != stateWithdrawn:
			state = stateSteered
		}
		r.Wants = append(r.Wants, &centralv1.GrantRequest{Id: id, Service: video, Kind: kind, Window: window})
	}
	if e.hot {
		reason = "load"
		want("load", "load", "")
	}
	if !e.soft {
		reason = "soft_failure"
		want("soft", "soft_failure", "")
	}
	if e.extra != nil {
		r.Wants = append(r.Wants, e.extra)
	}
	running := e.windows(now)
	for _, w := range running {
		reason = "maintenance"
		want("win-"+w.GetId(), "window", w.GetId())
		phase := "draining"
		if state == stateWithdrawn {
			phase = "safe"
		}
		r.Windows = append(r.Windows, &centralv1.WindowReport{Id: w.GetId(), Phase: phase})
	}
	if len(running) == 0 {
		clear(e.begun)
	}
	r.Services = []*centralv1.ServiceReport{{Name: video, State: state, Reason: reason, Hard: "up", Neighbors: proto.Int32(2), Withheld: e.withheld}}
	if e.alone {
		r.Services[0].Neighbors = proto.Int32(0)
	}
	if !e.hard {
		r.Services[0].Hard, r.Services[0].Reason, r.Services[0].State = "down", "hard_failure", stateWithdrawn
		if slices.Contains(e.in.GetKeep(), video) {
			r.Services[0].State, r.Services[0].Reason = stateSteered, "fleet_limit"
		}
	}
	if at, waits := e.in.GetReturnAfter()[video]; waits && now.Before(at.AsTime()) {
		r.Services[0].State, r.Services[0].Reason = stateWithdrawn, "normal"
	}
	if e.in.GetDisabled() {
		r.Services[0].State, r.Services[0].Reason = stateWithdrawn, "override"
	}
	if !e.moved.IsZero() {
		r.Moved = timestamppb.New(e.moved)
	}
	return r
}

// intent is what is in force at an edge.
func (e *simEdge) intent() *centralv1.Intent {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.in
}

// states counts what the edges announce, as they report it.
func (l *lab) states() map[string]int {
	out := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(l.edges)) {
		e := l.edges[name]
		out[e.tell().GetServices()[0].GetState()]++
	}
	return out
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d) // in a bubble, where it takes no time
	synctest.Wait()
}

// fleet is the fleet's status.
func (l *lab) fleet() *centralv1.FleetStatus {
	l.t.Helper()
	s, err := l.api.GetFleet(l.ctx(), &centralv1.GetFleetRequest{})
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// announcing is how many nodes the centre counts.
func (l *lab) announcing() int { return int(l.fleet().GetServices()[0].GetAnnouncing()) }
