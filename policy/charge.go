package policy

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

// carries says whether the service's prefix is announced to the neighbour.
func (n *Neighbor) carries(p netip.Prefix) bool {
	if p.Addr().Is6() {
		return n.IPv6
	}
	return n.IPv4
}

// charge enters in the ledger what others are shown that is new to them, for
// whatever reason, and each loss of a session.
func (r *round) charge() {
	next := &r.next.Load
	n := 0
	for s := range r.out.Services {
		n += len(r.out.Services[s].Neighbors)
	}
	next.Shown = resize(next.Shown, n)
	restarted := !r.was.Load.Running
	next.Running = true
	n = 0
	for s := range r.out.Services {
		sd := &r.out.Services[s]
		for k := range sd.Neighbors {
			nd := &sd.Neighbors[k]
			now := Shown{Service: sd.Name, Neighbor: nd.Name, IPv4: nd.IPv4.besideLoad(), IPv6: nd.IPv6.besideLoad(), Rung: nd.Rung}
			was := r.shown(n, sd.Name, nd.Name)
			now.Ever4 = now.IPv4 != Withdrawn || was != nil && was.Ever4
			now.Ever6 = now.IPv6 != Withdrawn || was != nil && was.Ever6
			next.Shown[n] = now
			if i := r.climberOf(nd.Name, k); i >= 0 {
				r.chargeChange(&r.c.Services[s], k, i, was, now)
				r.chargeSession(&r.c.Services[s], k, i, restarted && was != nil, was, now)
			}
			n++
		}
	}
	r.post()
	for i := range r.c.Load.Climbers {
		st := &next.Climbers[i]
		session := r.in.Sessions[st.Name]
		st.Down = (st.Down || session.Losses > st.Losses) && !session.Up
		st.Losses = session.Losses
	}
}

// besideLoad is the severity of a cause but for load, of which the rung tells.
func (c Cause) besideLoad() Severity {
	if c.Reason == Load {
		return Announced
	}
	return c.Severity
}

// shown is what the neighbour was shown before; nil: nothing yet.
func (r *round) shown(at int, service, neighbor string) *Shown {
	last := r.was.Load.Shown
	if at < len(last) && last[at].Service == service && last[at].Neighbor == neighbor {
		return &last[at]
	}
	for i := range last {
		if last[i].Service == service && last[i].Neighbor == neighbor {
			return &last[i]
		}
	}
	return nil
}

// climberOf is the index of the climber of a neighbour, most likely the one
// given; -1: it is none.
func (r *round) climberOf(neighbor string, likely int) int { return r.c.climberOf(neighbor, likely) }

func (c *Config) climberOf(neighbor string, likely int) int {
	cs := c.Load.Climbers
	if likely < len(cs) && cs[likely].Name == neighbor {
		return likely
	}
	for i := range cs {
		if cs[i].Name == neighbor {
			return i
		}
	}
	return -1
}

// chargeChange charges the difference between what was and is announced.
func (r *round) chargeChange(svc *Service, k, i int, was *Shown, now Shown) {
	if was == nil || *was == now {
		return
	}
	ever := func(p netip.Prefix) bool { return p.Addr().Is4() && was.Ever4 || p.Addr().Is6() && was.Ever6 }
	c := &r.c.Load.Climbers[i]
	last := now.Rung > was.Rung && r.leavesNone(i, now.Rung)
	when := r.in.Now
	if st := &r.next.Load.Climbers[i]; r.out.Climbers[i].Moved && !st.Pinned && c.Share.Edges <= 1 {
		when = st.Since
	}
	for _, p := range svc.Prefixes {
		if !svc.Neighbors[k].carries(p) {
			continue
		}
		if e := c.event(was.face(p, c), now.face(p, c)); e != 0 {
			if e == flap.Readvertisement && !ever(p) {
				continue
			}
			if last {
				e = flap.Withdrawal
			}
			r.enter(e, when, c, p, 1)
		}
	}
}

// face is what is announced of one prefix.
type face struct {
	severity Severity
	rung     int
}

func (s *Shown) face(p netip.Prefix, c *Climber) face {
	f := face{s.IPv4, c.Governs(s.Rung, p)}
	if p.Addr().Is6() {
		f.severity = s.IPv6
	}
	if f.severity == Withdrawn || f.rung > 0 && c.Rungs[f.rung-1].Withdraw {
		return face{severity: Withdrawn}
	}
	return f
}

// event is how others may charge the change from one face to another; 0: nothing
// has changed for them.
func (c *Climber) event(was, now face) flap.Event {
	switch {
	case was == now:
		return 0
	case now.severity == Withdrawn:
		return flap.Withdrawal
	case was.severity == Withdrawn:
		return flap.Readvertisement
	case now.severity == Draining && was.severity != Draining:
		return flap.Withdrawal
	case now.rung != was.rung:
		return c.charged(was.rung, now.rung)
	}
	return flap.AttributeChange
}

// chargeSession charges what a lost session, or our own restart, took away and
// what its return brings back.
func (r *round) chargeSession(svc *Service, k, i int, restarted bool, was *Shown, now Shown) {
	c, st := &r.c.Load.Climbers[i], &r.next.Load.Climbers[i]
	session := r.in.Sessions[c.Name]
	lost := 0
	if session.Losses > st.Losses && r.was.Load.Running {
		lost = int(min(session.Losses-st.Losses, mostLosses))
	}
	back := lost
	if !session.Up {
		back = max(0, lost-1)
	}
	if st.Down && (session.Up || lost > 0) {
		back++
	}
	if restarted {
		lost, back = 1, 1
	}
	if lost+back == 0 {
		return
	}
	for _, p := range svc.Prefixes {
		if restarted && was.face(p, c).severity == Withdrawn {
			continue // our end took nothing away
		}
		if svc.Neighbors[k].carries(p) && now.face(p, c).severity != Withdrawn {
			r.enter(flap.Withdrawal, r.in.Now, c, p, lost)
			r.enter(flap.Readvertisement, r.in.Now, c, p, back)
		}
	}
}

// mostLosses bounds how many losses are charged at once: by then the penalty is
// the highest there is.
const mostLosses = 50

// entry is an event that is still to be charged.
type entry struct {
	event flap.Event
	when  time.Time
	key   flap.Key
}

// enter notes an event to be charged some times.
func (r *round) enter(e flap.Event, when time.Time, c *Climber, p netip.Prefix, times int) {
	for range times {
		r.b.entries = append(r.b.entries, entry{e, when, flap.Key{ASN: c.ASN, Prefix: p}})
	}
}

// post charges what was noted. All of one kind go together, since each charge
// copies the ledger: thousands of prefixes may change at once.
func (r *round) post() {
	slices.SortStableFunc(r.b.entries, func(a, b entry) int {
		return cmp.Or(a.when.Compare(b.when), cmp.Compare(a.event, b.event))
	})
	for rest := r.b.entries; len(rest) > 0; {
		first := rest[0]
		r.b.keys = r.b.keys[:0]
		for len(rest) > 0 && rest[0].event == first.event && rest[0].when.Equal(first.when) {
			r.b.keys = append(r.b.keys, rest[0].key)
			rest = rest[1:]
		}
		r.next.Load.Ledger = r.next.Load.Ledger.Charge(r.c.Load.Flap, first.when, first.event, r.b.keys...)
	}
	r.b.entries = r.b.entries[:0]
}

// penalties fills in what routers may keep of us by now.
func (r *round) penalties() {
	penalties(r.c, r.next.Load.Ledger, r.in.Now, r.out.Climbers)
}

// Aged returns a decision with the penalties as they have become since it was made.
func (d Decision) Aged(c Config, s State, now time.Time) Decision {
	if len(d.Climbers) != len(c.Load.Climbers) {
		return d // of another configuration
	}
	d.Climbers = slices.Clone(d.Climbers)
	for i := range d.Climbers {
		d.Climbers[i].Penalty, d.Climbers[i].Nearness = 0, 0
	}
	penalties(&c, s.Load.Ledger, now, d.Climbers)
	return d
}

// penalties fills in what routers may keep of us, by climber of the configuration.
func penalties(c *Config, ledger flap.Ledger, now time.Time, out []ClimberDecision) {
	if ledger.IsZero() {
		return
	}
	for s := range c.Services {
		svc := &c.Services[s]
		for k := range svc.Neighbors {
			i := c.climberOf(svc.Neighbors[k].Name, k)
			if i < 0 {
				continue
			}
			for _, p := range svc.Prefixes {
				if svc.Neighbors[k].carries(p) {
					penalty, suppress := ledger.Nearest(c.Load.Flap, flap.Key{ASN: c.Load.Climbers[i].ASN, Prefix: p}, now)
					out[i].Penalty = max(out[i].Penalty, penalty)
					if suppress > 0 {
						out[i].Nearness = max(out[i].Nearness, penalty/suppress)
					}
				}
			}
		}
	}
}
