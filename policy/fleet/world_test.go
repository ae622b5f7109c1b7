package fleet

import (
	"fmt"
	"time"
)

// rules are ways to get it wrong.
type rules struct{ freesOnSilence, anyOrder, freesOffers, noFence bool }

// world is edges, two centres, one of them with a clock 1 h ahead, and one store, in
// true time. The edges' wall clocks play no part: leases run on monotonic ones.
type world struct {
	rules
	now     time.Duration
	limits  Limits
	edges   []*edge
	centres [2]*centre
	store   struct {
		revision int
		grants   map[string]Grant
		newest   map[string]uint64 // number of the newest report, by node
		away     map[string]bool   // what that report said
	}
	tried map[string]int
}

type edge struct {
	name     string
	capacity float64
	weight   float64
	reports  uint64
	sent     map[uint64]time.Duration // monotonic, of this start
	asked    int
	lease    Lease // id "": it wants nothing
	dead     bool  // hard failure
	centre   int
	cut      [2]bool
	up       [2][]message // reports on their way
	down     [2][]message // intents on their way
}

func (e *edge) away() bool { return e.lease.Begun || e.dead }

type message struct {
	number uint64
	wants  Request
	held   string
	away   bool
	grants []Grant
}

type centre struct {
	wall    time.Duration
	cut     bool // from the store
	pending *commit
}

// commit is a change that a centre has worked out and not written yet.
type commit struct {
	revision int
	node     int
	number   uint64
	away     bool
	late     bool
	set      map[string]Grant
	freed    []string
}

func newWorld(p plan, r rules) *world {
	w := &world{rules: r, limits: p.limits, tried: map[string]int{}}
	w.store.grants, w.store.newest, w.store.away = map[string]Grant{}, map[string]uint64{}, map[string]bool{}
	for i, c := range p.caps {
		w.edges = append(w.edges, &edge{name: fmt.Sprint("e", i), capacity: float64(c), sent: map[uint64]time.Duration{}, centre: i % 2})
	}
	w.centres = [2]*centre{{}, {wall: time.Hour}}
	f := w.view(w.centres[0], &commit{node: -1})
	weight := f.weigh("video")
	for i, e := range w.edges {
		e.weight = weight(f.Nodes[i])
	}
	return w
}

func (w *world) run(steps []uint32) error {
	for at, s := range steps {
		w.step(s)
		for _, e := range w.edges {
			w.tick(e)
		}
		if err := w.check(); err != nil {
			return fmt.Errorf("after step %d, %v: %w", at, w.now, err)
		}
	}
	return nil
}

// step does what a number says: its parts pick what, who and how much.
func (w *world) step(s uint32) {
	s *= 2654435761 // rapid prefers small numbers
	what, who, much := s>>27, int(s>>19&0xff)%len(w.edges), s>>3&0xffff
	e := w.edges[who]
	c := int(much) % 2
	switch {
	case what < 5:
		w.want(e, much)
	case what < 7:
		w.stop(e)
	case what < 13: // a whole exchange
		w.report(e)
		for _, do := range []func(){func() { w.read(e.centre, who) }, func() { w.write(e.centre) }, func() { w.hear(e) }} {
			do()
		}
	case what < 16:
		w.report(e)
	case what < 19:
		w.read(c, who)
	case what < 21:
		w.write(c)
	case what < 23:
		w.hear(e)
	case what < 25:
		w.now += time.Duration(much%40) * time.Second
	case what == 25:
		e.cut[c] = !e.cut[c]
	case what == 26:
		w.centres[c].cut = !w.centres[c].cut && much&12 == 0
	case what < 29: // moves on to the other centre; what it has sent still arrives there
		e.centre = 1 - e.centre
		e.down = [2][]message{}
	case what == 29:
		w.restart(e)
	case what == 30:
		w.revoke(c, much)
	default:
		e.dead = !e.dead
	}
}

func (w *world) want(e *edge, much uint32) {
	if e.lease.ID == "" {
		e.asked++
		e.lease = Lease{ID: fmt.Sprintf("%s.%d", e.name, e.asked), Kind: []Kind{Window, Load, SoftFailure, Override}[much%4]}
	}
}

// stop gives up what the edge wants or has; the id is not used again.
func (w *world) stop(e *edge) { e.lease = Lease{} }

func (w *world) tick(e *edge) {
	if e.lease.Begun && !e.lease.MayAct(t0.Add(w.now)) {
		w.tried["lease ran out"]++
		w.stop(e)
	}
}

// restart forgets all but what is on the disk: the number of reports and of
// requests, and what the edge acts on.
func (w *world) restart(e *edge) {
	if e.lease.Begun {
		w.tried["restarted while away"]++
	} else {
		w.stop(e)
	}
	e.sent, e.down = map[uint64]time.Duration{}, [2][]message{}
}

func (w *world) report(e *edge) {
	e.reports++
	m := message{number: e.reports, away: e.away()}
	if e.lease.ID != "" {
		m.wants = Request{ID: e.lease.ID, Node: e.name, Service: "video", Kind: e.lease.Kind, Number: e.reports}
		if e.lease.Begun {
			m.held = e.lease.ID
		}
	}
	e.sent[e.reports] = w.now
	if !e.cut[e.centre] {
		e.up[e.centre] = append(e.up[e.centre], m)
	}
}

// read takes the next report of an edge in and works out what follows.
func (w *world) read(at, who int) {
	c, e := w.centres[at], w.edges[who]
	if len(e.up[at]) == 0 || e.cut[at] {
		return
	}
	if c.cut {
		w.tried["centre without store"]++
		return
	}
	m := e.up[at][0]
	e.up[at] = e.up[at][1:]
	p := &commit{revision: w.store.revision, node: who, number: m.number, away: m.away, set: map[string]Grant{}}
	c.pending = p
	if p.late = m.number <= w.store.newest[e.name] && !w.anyOrder; p.late {
		w.tried["late report"]++
		return
	}
	f := w.view(c, p)
	for _, g := range f.Grants {
		if g.Node != e.name {
			continue
		}
		if w.anyOrder {
			g.Asked = 0
		}
		next, freed := g.Next(Report{Number: m.number, Wants: m.wants.ID == g.ID, Held: m.held == g.ID, Announcing: !m.away})
		freed = freed || w.freesOffers && g.State == Offered && m.held != g.ID && !m.away
		if freed {
			p.freed = append(p.freed, g.ID)
			w.tried["freed"]++
		} else {
			p.set[g.ID] = next
		}
	}
	if _, has := p.set[m.wants.ID]; m.wants.ID != "" && m.held == "" && !has {
		w.admit(f, p, m)
	}
}

func (w *world) admit(f Fleet, p *commit, m message) {
	if a := Admit(f, m.wants); a.OK {
		p.set[m.wants.ID] = m.wants.Grant(f, a)
		w.tried["granted"]++
	} else {
		w.tried["refused"]++
	}
}

// view is the fleet as the store has it, with a report that is being taken in.
func (w *world) view(c *centre, p *commit) Fleet {
	f := Fleet{Now: t0.Add(w.now + c.wall), Limits: map[string]Limits{"video": w.limits}}
	for i, e := range w.edges {
		n := well(e.name, e.capacity, 0)
		away := w.store.away[e.name]
		if i == p.node {
			away = p.away
		}
		n.Services["video"] = Standing{Announcing: !away}
		f.Nodes = append(f.Nodes, n)
	}
	for _, g := range w.store.grants {
		if w.freesOnSilence && f.Now.Sub(g.Issued) > g.TTL {
			continue
		}
		f.Grants = append(f.Grants, g)
	}
	return f
}

// write commits what was worked out, if the fleet is still what it was, and tells
// the edge.
func (w *world) write(at int) {
	c := w.centres[at]
	p := c.pending
	if p == nil || c.cut {
		return
	}
	c.pending = nil
	if p.revision != w.store.revision && !w.noFence {
		w.tried["lost a race"]++
		return
	}
	e := w.edges[p.node]
	if !p.late {
		w.store.revision++
		w.store.newest[e.name], w.store.away[e.name] = max(p.number, w.store.newest[e.name]), p.away
		for id, g := range p.set {
			w.store.grants[id] = g
		}
		for _, id := range p.freed {
			delete(w.store.grants, id)
		}
	}
	intent := message{number: p.number}
	for _, g := range w.store.grants {
		if g.Node == e.name {
			intent.grants = append(intent.grants, g)
		}
	}
	if !e.cut[at] && e.centre == at {
		e.down[at] = append(e.down[at], intent)
	}
}

func (w *world) revoke(at int, much uint32) {
	if w.centres[at].cut {
		return
	}
	for _, e := range w.edges {
		id := fmt.Sprintf("%s.%d", e.name, e.asked)
		if g, ok := w.store.grants[id]; ok && much%8 == 0 {
			w.tried["revoked"]++
			w.store.grants[id] = g.Revoke()
			w.store.revision++
		}
	}
}

// hear takes in the next intent.
func (w *world) hear(e *edge) {
	if len(e.down[e.centre]) == 0 || e.cut[e.centre] {
		return
	}
	m := e.down[e.centre][0]
	e.down[e.centre] = e.down[e.centre][1:]
	for _, g := range m.grants {
		if g.ID != e.lease.ID {
			continue
		}
		if g.State == Revoked {
			w.stop(e)
			return
		}
		sent, ok := e.sent[m.number]
		if !ok {
			return
		}
		e.lease.Sent, e.lease.TTL, e.lease.State = t0.Add(sent), g.TTL, g.State
		if !e.lease.Begun && e.lease.MayAct(t0.Add(w.now)) {
			w.tried["withdrew"]++
			e.lease.Begun = true
		}
	}
}

// check counts those that are away by leave: failures ask for none.
func (w *world) check() error {
	var gone, all float64
	left := 0
	for _, e := range w.edges {
		all += e.weight
		if e.lease.Begun {
			gone += e.weight
		} else {
			left++
		}
	}
	if left < w.limits.least() {
		return fmt.Errorf("%d are left, and %d must announce", left, w.limits.least())
	}
	if gone > all*w.limits.share()+1e-9 {
		return fmt.Errorf("%.2f of the capacity is withdrawn, and %.2f may be", gone/all, w.limits.share())
	}
	return nil
}
