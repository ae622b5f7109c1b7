package edge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/announcer/host"
)

// announcerFake is neighbours that take everything at once, unless told not to.
type announcerFake struct {
	journal *journal
	moved   chan struct{}

	mu        sync.Mutex
	neighbors map[string]announcer.Neighbor
	wanted    map[string][]announcer.Route
	standing  map[string][]announcer.Route
	refuses   map[string]error // by neighbour: what Set answers
	rejects   error            // what SetNeighbors answers
	slow      bool             // what is wanted does not come to stand
	down      bool             // no session is up
	hangs     bool             // Close does not return before its context ends
}

func newAnnouncerFake(j *journal) *announcerFake {
	return &announcerFake{
		journal: j, moved: make(chan struct{}, 1), neighbors: map[string]announcer.Neighbor{},
		wanted: map[string][]announcer.Route{}, standing: map[string][]announcer.Route{}, refuses: map[string]error{},
	}
}

// locked runs a function that changes how the fake answers.
func (a *announcerFake) locked(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

func (a *announcerFake) SetNeighbors(_ announcer.Local, ns []announcer.Neighbor) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rejects != nil {
		return a.rejects
	}
	next := map[string]announcer.Neighbor{}
	var names []string
	for _, n := range ns {
		if a.neighbors[n.Name] != n {
			delete(a.standing, n.Name)
			names = append(names, n.Name)
		}
		next[n.Name] = n
	}
	for name := range a.neighbors {
		if _, stays := next[name]; !stays {
			delete(a.wanted, name)
			delete(a.standing, name)
		}
	}
	a.neighbors = next
	a.journal.add("sessions: %d, new %v", len(ns), names)
	return nil
}

func (a *announcerFake) Set(neighbor string, routes []announcer.Route) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.refuses[neighbor]; err != nil {
		a.journal.add("refused %s", neighbor)
		return err
	}
	if _, known := a.neighbors[neighbor]; !known {
		return fmt.Errorf("there is no neighbour %q", neighbor)
	}
	a.wanted[neighbor] = slices.Clone(routes)
	if !a.slow {
		a.standing[neighbor] = a.wanted[neighbor]
	}
	a.journal.add("tell %s %s", neighbor, routeTexts(routes))
	return nil
}

func (a *announcerFake) Status() map[string]announcer.Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]announcer.Status{}
	state := guard.Established
	if a.down {
		state = guard.Idle
	}
	for name := range a.neighbors {
		out[name] = announcer.Status{
			Status: guard.Status{State: state, Sessions: 1, UpdatesSent: 2},
			Wanted: a.wanted[name], Standing: a.standing[name],
			Settled: slices.EqualFunc(a.wanted[name], a.standing[name], announcer.Route.Equal),
		}
	}
	return out
}

func (a *announcerFake) Sessions() map[string]guard.Status {
	out := map[string]guard.Status{}
	for name, st := range a.Status() {
		out[name] = st.Status
	}
	return out
}

// catchUp makes what is wanted stand, and tells so.
func (a *announcerFake) catchUp() {
	a.locked(func() { a.standing, a.slow = maps.Clone(a.wanted), false })
	a.poke()
}

func (a *announcerFake) poke() {
	select {
	case a.moved <- struct{}{}:
	default:
	}
}

func (a *announcerFake) Changed() <-chan struct{} { return a.moved }

func (a *announcerFake) Settle(ctx context.Context) error {
	for _, st := range a.Status() {
		if !st.Settled {
			<-ctx.Done()
			a.journal.add("not settled")
			return ctx.Err()
		}
	}
	a.journal.add("settled")
	return nil
}

func (a *announcerFake) Close(ctx context.Context, text string) {
	a.mu.Lock()
	hangs := a.hangs
	a.mu.Unlock()
	if hangs {
		<-ctx.Done()
	}
	a.journal.add("close %q", text)
}

// told is what a neighbour was told last.
func (a *announcerFake) told(neighbor string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return routeTexts(a.wanted[neighbor])
}

func routeTexts(routes []announcer.Route) []string {
	var out []string
	for _, r := range routes {
		out = append(out, routeText(r))
	}
	return out
}

// routeText is a route as the tests write it; what is empty is left out.
func routeText(r announcer.Route) string {
	text := fmt.Sprintf("%s via %s", r.Prefix, r.NextHop)
	if r.Prepend > 0 {
		text += fmt.Sprintf(" +%d", r.Prepend)
	}
	if len(r.Communities) > 0 {
		text += " [" + strings.Join(r.Communities.Strings(), " ") + "]"
	}
	if r.MED.Set {
		text += fmt.Sprintf(" med %d", r.MED.Value)
	}
	if r.LocalPref.Set {
		text += fmt.Sprintf(" pref %d", r.LocalPref.Value)
	}
	return text
}

// vipsFake is the addresses of a machine.
type vipsFake struct {
	journal *journal
	news    chan struct{}

	mu     sync.Mutex
	stand  []string
	broken map[netip.Prefix]error // VIPs that cannot be set
	dead   error                  // nothing can be set
}

func newVIPsFake(j *journal) *vipsFake {
	return &vipsFake{journal: j, news: make(chan struct{}), broken: map[netip.Prefix]error{}}
}

func (v *vipsFake) Set(want map[string][]netip.Prefix) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead != nil {
		v.journal.add("vips fail")
		return v.dead
	}
	var failures []host.Failure
	v.stand = nil
	for iface, prefixes := range want {
		for _, p := range prefixes {
			if err := v.broken[p]; err != nil {
				failures = append(failures, host.Failure{Interface: iface, Prefix: p, Err: err})
				continue
			}
			v.stand = append(v.stand, iface+" "+p.String())
		}
	}
	slices.Sort(v.stand)
	v.journal.add("vips %v", v.stand)
	if failures != nil {
		return &host.SetError{Failures: failures}
	}
	return nil
}

func (v *vipsFake) Watch(context.Context) (<-chan struct{}, error) {
	if v.news == nil {
		return nil, errors.New("no netlink here")
	}
	return v.news, nil
}

func (v *vipsFake) Close() error { v.journal.add("vips closed"); return nil }

// breaks makes a VIP fail with an error, or stand again.
func (v *vipsFake) breaks(p string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.broken[netip.MustParsePrefix(p)] = err
}

func (v *vipsFake) standing() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.stand)
}

// defaultsFake is the default routes of a machine.
type defaultsFake struct {
	journal *journal
	mu      sync.Mutex
	broken  error
}

func (d *defaultsFake) Set(want map[string]host.Default) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.journal.add("defaults %v", want)
	return d.broken
}

func (d *defaultsFake) breaks(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = err
}

func (d *defaultsFake) Close() error { d.journal.add("defaults closed"); return nil }
