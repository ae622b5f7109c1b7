package fleet

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/load"
)

// face is how a node looks to its neighbour.
type face struct {
	prefix  string
	prepend int
	tags    string
	away    bool // not announced
	leaving bool // announced with GSHUT
}

// announces says whether the face holds capacity of the fleet: as the centre counts,
// what drains is away.
func (f face) announces() bool { return !f.away && !f.leaving }

func (f face) String() string {
	switch {
	case f.away:
		return "away"
	case f.leaving:
		return "leaving"
	}
	return fmt.Sprintf("%s +%d [%s]", f.prefix, f.prepend, f.tags)
}

// recorder is an announcer whose one session is up. It writes down each change of
// what the neighbour is told.
type recorder struct {
	saw   func(face)
	moved chan struct{}

	mu        sync.Mutex
	neighbors []string
	routes    map[string][]announcer.Route
	now       face
}

func newRecorder(saw func(face)) *recorder {
	return &recorder{saw: saw, moved: make(chan struct{}), routes: map[string][]announcer.Route{}, now: face{away: true}}
}

func (r *recorder) SetNeighbors(_ announcer.Local, ns []announcer.Neighbor) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.neighbors = nil
	for _, n := range ns {
		r.neighbors = append(r.neighbors, n.Name)
	}
	return nil
}

func (r *recorder) Set(neighbor string, routes []announcer.Route) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.routes[neighbor] = slices.Clone(routes)
	r.show(faceOf(routes))
	return nil
}

// show takes over how the node looks now; under the lock.
func (r *recorder) show(f face) {
	if f != r.now {
		r.now = f
		r.saw(f)
	}
}

// faceOf is how a node with these routes looks.
func faceOf(routes []announcer.Route) face {
	if len(routes) == 0 {
		return face{away: true}
	}
	first := routes[0]
	return face{prefix: first.Prefix.String(), prepend: first.Prepend, tags: strings.Join(first.Communities.Strings(), " "), leaving: first.Communities.Contains(community.GracefulShutdown)}
}

func (r *recorder) Status() map[string]announcer.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]announcer.Status{}
	for _, name := range r.neighbors {
		out[name] = announcer.Status{Status: guard.Status{State: guard.Established, Sessions: 1}, Wanted: r.routes[name], Standing: r.routes[name], Settled: true}
	}
	return out
}

func (r *recorder) Sessions() map[string]guard.Status {
	out := map[string]guard.Status{}
	for name, st := range r.Status() {
		out[name] = st.Status
	}
	return out
}

func (r *recorder) Changed() <-chan struct{} { return r.moved }

func (r *recorder) Settle(context.Context) error { return nil }

// Close takes the routes away, as the end of the sessions does.
func (r *recorder) Close(context.Context, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.show(face{away: true})
}

// machine is a host on which there is nothing to do.
type machine struct{}

func (machine) Watch(context.Context) (<-chan struct{}, error) { return make(chan struct{}), nil }
func (machine) Marks() map[uint32]string                       { return nil }
func (machine) Close() error                                   { return nil }

type machineVIPs struct{ machine }

func (machineVIPs) Set(map[string][]netip.Prefix) error { return nil }

type machineDefaults struct{ machine }

func (machineDefaults) Set(map[string]host.Default) error { return nil }

type machineReturns struct{ machine }

func (machineReturns) Set(host.Returns) error { return nil }

// meter measures what the test says, every period; nothing where that is negative.
type meter struct {
	period time.Duration
	load   func() float64
}

func (m meter) Run(ctx context.Context, h load.Handler) error {
	for {
		if bps := m.load(); bps >= 0 {
			h.Link("uplink", load.Sample{Load: bps, At: time.Now(), Period: m.period})
		}
		select {
		case <-time.After(m.period):
		case <-ctx.Done():
			return nil
		}
	}
}

func (meter) Status() load.Status        { return load.Status{} }
func (meter) SetMarks(map[uint32]string) {}
