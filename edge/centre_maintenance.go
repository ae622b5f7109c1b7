package edge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/maintenance"
	"github.com/catchment-bgp/catchment/policy"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// track is how far the drain of one service at one neighbour is.
type track struct {
	maintenance.Track
	// Left is true once it was withdrawn with leave: it stays so until the last window
	// ends, whatever becomes of the leave.
	Left bool `json:"left,omitempty"`
}

// opened is an occurrence that has begun here. Its length counts from then by the
// monotonic clock, too: a clock that is set back leaves no window open for ever.
type opened struct {
	At     time.Time     `json:"at"`
	Length time.Duration `json:"length"`
}

// windowKeeper runs the windows by this machine's clock.
type windowKeeper struct {
	of        *config.Config // what the calendars were made of; nil: to be made
	all       maintenance.Calendar
	bad       []string // windows that are not understood
	calendars map[targetKey]maintenance.Calendar
	keys      []targetKey // of calendars that have windows
	ours      []maintenance.Window
	// moments hold from looked until change, by the wall.
	moments        map[targetKey]maintenance.Moment
	states         map[string]maintenance.State // by window
	moment         maintenance.Moment           // of all
	looked, change time.Time
	running        map[targetKey][]maintenance.Occurrence
	phases         map[targetKey]maintenance.Phase
	safe           map[string]time.Time // by window: since when all is off the wire
	next           time.Time
}

// forget has the calendars made anew.
func (k *windowKeeper) forget() { k.of, k.next = nil, time.Time{} }

// wake notes a time to look again.
func (k *windowKeeper) wake(now, t time.Time) {
	if t.After(now) {
		k.next = earliest(k.next, t)
	}
}

// calendar works the windows out.
func (e *Edge) calendar() {
	k := &e.centre.windows
	if k.of == e.cfg {
		return
	}
	var err error
	if k.all, err = maintenance.New(e.centre.want.windows); err != nil {
		e.log.Error("windows that are not understood are left out", "error", err)
	}
	k.bad = nil
	if err != nil {
		k.bad = strings.Split(err.Error(), "\n") // a line for each window
	}
	k.of, k.calendars, k.keys = e.cfg, map[targetKey]maintenance.Calendar{}, nil
	for key, t := range targets(e.cfg) {
		if c := k.all.For(t); len(c.Windows()) > 0 {
			k.calendars[key] = c
			k.keys = append(k.keys, key)
		}
	}
	slices.SortFunc(k.keys, targetKey.compare)
	k.moments, k.ours = nil, slices.DeleteFunc(slices.Clone(k.all.Windows()), func(w maintenance.Window) bool { return !k.hits(w.ID) })
}

// hits says whether a window is for something here.
func (k *windowKeeper) hits(id string) bool {
	return slices.ContainsFunc(k.keys, func(key targetKey) bool {
		return slices.ContainsFunc(k.calendars[key].Windows(), func(w maintenance.Window) bool { return w.ID == id })
	})
}

// look reads the calendars, which costs something, where that may have changed.
func (k *windowKeeper) look(now time.Time) {
	wall := now.Round(0)
	if k.moments != nil && !wall.Before(k.looked) && (k.change.IsZero() || wall.Before(k.change)) {
		return
	}
	k.moment, k.looked = k.all.At(now), wall
	k.change, k.moments = k.moment.Next, make(map[targetKey]maintenance.Moment, len(k.keys))
	k.states = make(map[string]maintenance.State, len(k.ours))
	for _, w := range k.ours {
		k.states[w.ID], _ = w.State(now) // the calendar has valid ones only
	}
	for _, key := range k.keys {
		k.moments[key] = k.calendars[key].At(now)
		k.change = earliest(k.change, k.moments[key].Next)
	}
}

// maintain takes the windows a step on, and says what they ask for.
func (e *Edge) maintain(now time.Time) {
	c, k := &e.centre, &e.centre.windows
	e.calendar()
	k.running, k.phases, k.next = map[targetKey][]maintenance.Occurrence{}, map[targetKey]maintenance.Phase{}, time.Time{}
	if len(k.keys) == 0 {
		c.kept.Tracks, c.kept.Opened, k.safe, c.refused = nil, nil, nil, false
		return
	}
	k.look(now)
	e.open(now)
	if len(c.kept.Opened) == 0 && len(c.kept.Tracks) == 0 {
		k.safe = nil
		return
	}
	tracks := map[targetKey]track{}
	for _, key := range k.keys {
		k.running[key] = slices.DeleteFunc(slices.Clone(k.moments[key].Running), func(o maintenance.Occurrence) bool { return !e.isOpen(now, o) })
	}
	for _, key := range k.keys {
		was := c.kept.Tracks[key]
		t := track{}
		var phase maintenance.Phase
		var next time.Time
		t.Track, phase, next = maintenance.Next(now, k.running[key], was.Track, e.traffic(key))
		t.Left = was.Left && t.Began.Equal(was.Began)
		if k.phases[key] = phase; phase == maintenance.In {
			continue
		}
		k.wake(now, next)
		tracks[key] = t
	}
	c.kept.Tracks = tracks
	for _, key := range k.keys {
		if k.phases[key] != maintenance.In {
			c.orders.Windows = append(c.orders.Windows, e.windowCause(now, key))
		}
	}
	e.watchSafe(now)
}

// open opens the occurrences that have begun, where the clock can be trusted, and
// closes those that are over.
func (e *Edge) open(now time.Time) {
	c, k := &e.centre, &e.centre.windows
	m := k.moment
	k.next = m.Next
	was, refused := c.kept.Opened, false
	c.kept.Opened = map[string]opened{}
	for _, o := range m.Running {
		id := occurrenceID(o)
		in, open := was[id]
		if !open {
			if !c.clock.good(now) {
				refused = true
				continue
			}
			in = opened{At: now}
		}
		in.Length = o.End.Sub(o.Begin)
		c.kept.Opened[id] = in
		k.wake(now, in.At.Add(in.Length))
	}
	if refused && !c.refused {
		e.log.Error("a maintenance window does not open: the clock is not synchronised, or not near the centre's", "ahead", c.clock.ahead(now).String())
	}
	c.refused = refused
	if refused {
		k.wake(now, now.Add(clockEvery))
	}
}

func occurrenceID(o maintenance.Occurrence) string {
	return fmt.Sprintf("%s@%d", o.Window, o.Begin.Unix())
}

func (e *Edge) isOpen(now time.Time, o maintenance.Occurrence) bool {
	in, open := e.centre.kept.Opened[occurrenceID(o)]
	return open && now.Sub(in.At) < in.Length
}

// traffic is what is known of a service at a neighbour.
func (e *Edge) traffic(key targetKey) maintenance.Traffic {
	t := maintenance.Traffic{Drain: service(e.cfg, key.service).Drain}
	if n := neighborOf(e.cfg, key.neighbor); n.Link != "" {
		for i := range e.decision.Links {
			if l := &e.decision.Links[i]; l.Name == n.Link {
				t.Known, t.Utilization = l.Known && !l.Stale, l.Utilization
			}
		}
	}
	nd := atNeighbor(beforeAt(before(e.decision, key.service), key.neighbor, 0))
	t.Idle = nd.Severity == policy.Withdrawn && nd.Reason != policy.Maintenance
	return t
}

// windowCause is what the windows ask for at one target, and whether there is leave.
func (e *Edge) windowCause(now time.Time, key targetKey) policy.Window {
	c, k := &e.centre, &e.centre.windows
	running := k.running[key]
	w := policy.Window{Service: key.service, Neighbor: key.neighbor, Over: k.phases[key] == maintenance.Withdrawn,
		Detail: k.moments[key].Detail(c.want.disabled)}
	id := "window/" + key.service
	l, asked := c.kept.Leases[id]
	if e.elsewhere(key.service) && !asked {
		w.Leave = true
	} else {
		if asked && !l.Begun && !slices.ContainsFunc(running, func(o maintenance.Occurrence) bool { return o.Window == l.Window }) {
			asked = false // it was asked for another one
		}
		if !asked {
			l = e.ask(now, id, lease{Lease: fleet.Lease{Kind: fleet.Window}, Service: key.service, Window: running[0].Window, Reason: running[0].Reason})
		}
		w.Leave = l.State != "" && l.MayAct(now)
		w.Asked = !w.Leave && l.State == "" && l.Refused == "" && c.connected() && now.Sub(l.Asked) < answerTime
		if w.Asked {
			k.wake(now, l.Asked.Add(answerTime))
		}
		if w.Over && w.Leave && !l.Begun {
			l.Begun, l.BegunAt = true, now
			c.kept.Leases[id] = l
		}
	}
	t := c.kept.Tracks[key]
	if w.Leave = w.Leave || t.Left && l.State != fleet.Revoked; w.Over && w.Leave && !t.Left {
		t.Left = true
		c.kept.Tracks[key] = t
	}
	if w.Over && !w.Leave && !w.Asked {
		why := "the centre is away"
		switch {
		case l.State == fleet.Revoked:
			why = "the leave was revoked"
		case l.Refused != "":
			why = l.Refused
		}
		w.Detail += "; only de-preferred, not withdrawn: " + why
	}
	return w
}

// answerTime is how long an answer of the centre is waited for.
const answerTime = 5 * time.Second

// elsewhere says whether a service stays announced at a neighbour that no window is
// for: then a window takes no capacity of the fleet away that needs leave.
func (e *Edge) elsewhere(name string) bool {
	k := &e.centre.windows
	sd := before(e.decision, name)
	return slices.ContainsFunc(sd.Neighbors, func(nd policy.NeighborDecision) bool {
		return len(k.running[targetKey{name, nd.Name}]) == 0 && atNeighbor(nd).Severity < policy.Draining && e.load.sessions[nd.Name].Up
	})
}

// watchSafe notes since when all that a window withdraws is off the wire.
func (e *Edge) watchSafe(now time.Time) {
	c, k := &e.centre, &e.centre.windows
	was := k.safe
	k.safe = map[string]time.Time{}
	var status map[string]announcer.Status
	for _, w := range k.ours {
		hit, off := false, true
		for _, o := range c.orders.Windows {
			key := targetKey{o.Service, o.Neighbor}
			if !slices.ContainsFunc(k.running[key], func(o maintenance.Occurrence) bool { return o.Window == w.ID }) {
				continue
			}
			hit = true
			off = off && o.Over && o.Leave
		}
		if !hit || !off {
			continue
		}
		if t, known := was[w.ID]; known {
			k.safe[w.ID] = t
			k.wake(now, t.Add(e.cfg.LeaveHold))
			continue
		}
		if status == nil {
			status = e.opt.Announcer.Status()
		}
		if e.offWire(w.ID, status) {
			k.safe[w.ID] = now
			k.wake(now, now.Add(e.cfg.LeaveHold))
		} else {
			k.wake(now, now.Add(retryAfter))
		}
	}
}

// offWire says whether no route of what a window is for stands at its neighbours.
func (e *Edge) offWire(window string, status map[string]announcer.Status) bool {
	for key, running := range e.centre.windows.running {
		if !slices.ContainsFunc(running, func(o maintenance.Occurrence) bool { return o.Window == window }) {
			continue
		}
		st := status[key.neighbor]
		svc := service(e.cfg, key.service)
		standing := func(r announcer.Route) bool { return slices.Contains(svc.Prefixes, r.Prefix) }
		if st.State == guard.Established && slices.ContainsFunc(st.Standing, standing) || slices.ContainsFunc(st.Wanted, standing) {
			return false
		}
	}
	return true
}
