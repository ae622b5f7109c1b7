package sim

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"time"

	"github.com/catchment-bgp/catchment/policy"
	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// epoch is the wall clock's time at the start of a run.
var epoch = time.Date(2026, 6, 11, 18, 0, 0, 0, time.UTC)

// steering is the real policy at one edge.
type steering struct {
	config  policy.Config
	buffer  policy.Buffer
	state   policy.State
	input   policy.Input
	site    *Site
	climb   [][]int // by neighbour and rung of its climber: the rung of the world
	session bool
	centre  bool
	losses  uint64
	last    policy.Decision
}

const service = "traffic"

var modes = map[string]control.Mode{
	"threshold": control.Threshold, "threshold-withdraw": control.Threshold,
	"curve": control.Curve, "damped": control.Damped, "pi": control.PI,
}

// newSteering configures the policy of an edge. sheds is what each rung of each
// neighbour is believed to shed.
func newSteering(controller string, sc *Scenario, site, edge int, sheds [][]float64) *steering {
	s := &steering{site: &sc.Sites[site], session: sc.Actuator == BySessions, centre: sc.Load.Centre}
	l := &sc.Load
	control := control.Config{Mode: modes[controller], Target: l.Target, Slowdown: l.Slowdown, Drop: l.Drop,
		DeadTime: l.DeadTime, Sessions: s.session}
	s.config = policy.Config{
		ReturnAfter: []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute},
		Grace:       5 * time.Second,
		Load: policy.LoadConfig{
			Control: control, Flap: ledger(l), AllowWithdraw: l.AllowWithdraw,
			DwellUp: l.DwellUp, DwellDown: l.DwellDown, DownAfter: l.DownAfter, Seed: s.site.Name,
		},
	}
	if controller == "threshold-withdraw" { // what many do: all or nothing, and no ledger
		s.config.Load.AllowWithdraw, s.config.Load.Flap = true, flap.Config{}
	}
	for _, link := range s.site.Links {
		s.config.Load.Links = append(s.config.Load.Links, policy.Link{Name: link.Name, Capacity: link.Capacity,
			Period: sc.Metrics.Period + sc.Metrics.Delay, Landing: link.Landing, Off: link.Off})
	}
	s.announce(controller, sc, site, edge, sheds)
	s.input = policy.Input{
		Health:   map[string]policy.Health{service: {Hard: policy.Up, Soft: policy.Up}},
		WayBack4: policy.Up, WayBack6: policy.Up,
		Samples: map[string]policy.Sample{}, Sessions: map[string]policy.Session{},
	}
	for _, n := range s.site.Neighbors {
		s.input.Sessions[n.Name] = policy.Session{Up: true}
	}
	return s
}

// ledger is the flap ledger's configuration.
func ledger(l *Load) flap.Config {
	c := flap.Config{Exploration: l.Exploration, Margin: l.Margin}
	for _, m := range l.Makers {
		if m == Cisco {
			c.Profiles = append(c.Profiles, flap.Cisco())
		} else {
			c.Profiles = append(c.Profiles, flap.Juniper())
		}
	}
	return c
}

// announce configures the service and the ladders.
func (s *steering) announce(controller string, sc *Scenario, site, edge int, sheds [][]float64) {
	svc := policy.Service{Name: service}
	four, six := false, false
	for _, p := range sc.Prefixes {
		svc.Prefixes = append(svc.Prefixes, p.Prefix)
		four, six = four || p.Prefix.Addr().Is4(), six || p.Prefix.Addr().Is6()
	}
	for j, n := range s.site.Neighbors {
		svc.Neighbors = append(svc.Neighbors, policy.Neighbor{Name: n.Name, IPv4: four, IPv6: six})
		c := policy.Climber{Name: n.Name, ASN: n.ASN, Link: n.Link, Share: share(sc, site, edge, n.ASN), Epoch: n.Name}
		climb := []int{0}
		for k, g := range n.Ladder {
			if controller == "threshold-withdraw" && !g.Withdraw || s.session {
				continue
			}
			c.Rungs = append(c.Rungs, policy.Rung{Sheds: sheds[j][k], Withdraw: g.Withdraw, Leave: g.Gshut,
				Prefixes: append([]netip.Prefix(nil), g.Prefixes...)})
			climb = append(climb, k+1)
		}
		s.config.Load.Climbers = append(s.config.Load.Climbers, c)
		s.climb = append(s.climb, climb)
	}
	s.config.Services = []policy.Service{svc}
}

// share is an edge's part of the budget of changes at an AS: without a centre, or
// where edges take turns, it is divided by all edges that announce there.
func share(sc *Scenario, site, edge int, asn uint32) flap.Share {
	if sc.Load.Centre && !sc.Load.Turns {
		return flap.Share{}
	}
	var out flap.Share
	for i, s := range sc.Sites {
		for _, n := range s.Neighbors {
			if n.ASN != asn {
				continue
			}
			if i == site {
				out.Index = out.Edges + edge
			}
			out.Edges += s.Edges
			break
		}
	}
	if out.Edges == 1 {
		return flap.Share{}
	}
	return out
}

func (s *steering) decide(in *situation, out *answer) {
	if in.losses != s.losses {
		s.losses = in.losses
		s.restart()
	}
	s.input.Now = epoch.Add(in.now)
	for i, f := range in.figures {
		if f.at >= 0 {
			s.input.Samples[s.site.Links[i].Name] = policy.Sample{Load: f.load, At: epoch.Add(f.at)}
		}
	}
	if s.centre {
		s.input.Room, s.input.RoomAt = in.room, s.input.Now
	}
	if in.told != nil {
		s.input.Told = map[uint32]flap.Told{}
		for _, n := range s.site.Neighbors {
			s.input.Told[n.ASN] = flap.Told{Penalty: in.told[n.ASN], At: s.input.Now, Since: epoch.Add(-flap.ToldHandover)}
		}
	}
	if in.others >= 0 {
		s.input.OthersMoved = epoch.Add(in.others)
	}
	var d policy.Decision
	s.state, d = s.buffer.Next(s.config, s.state, s.input)
	s.last = d
	out.wake = -1
	if !d.Wake.IsZero() {
		out.wake = d.Wake.Sub(epoch)
	}
	for j, n := range d.Services[0].Neighbors {
		if n.Rung < len(s.climb[j]) {
			out.rungs[j] = s.climb[j][n.Rung]
		}
	}
	for i, l := range d.Links {
		out.shed[i] = l.Shed
		if s.session {
			out.slow[i], out.drop[i] = l.Slowdown, l.Drop
		}
	}
}

// penalties are the highest that its ledger has, by AS.
func (s *steering) penalties() map[uint32]float64 {
	out := map[uint32]float64{}
	for j, c := range s.last.Climbers {
		asn := s.site.Neighbors[j].ASN
		out[asn] = max(out[asn], c.Penalty)
	}
	return out
}

// explain says of a neighbour where it stands and what keeps it there, and of its
// link how it is loaded.
func (s *steering) explain(neighbor int) (text, kind string) {
	if neighbor >= len(s.last.Climbers) {
		return "", ""
	}
	c := &s.last.Climbers[neighbor]
	text = fmt.Sprintf("rung %d, penalty %.0f: %s", c.Rung, c.Penalty, c.Restraint)
	kind = fmt.Sprint(c.Rung, c.Restraint.Hindrance)
	for i := range s.last.Links {
		if l := &s.last.Links[i]; l.Name == s.site.Neighbors[neighbor].Link {
			text += fmt.Sprintf("; load %.2f, demand %.2f, shed %.2f, in force %.2f", l.Utilization, l.Demand, l.Shed, l.InForce)
			if l.Absorb {
				text += ", absorbing"
			}
			if l.Stale {
				text += ", stale"
				kind += " stale"
			}
		}
	}
	return text, kind
}

// restart is a node that died and came back: it keeps what is on its disk. What
// cannot be written to a disk is not lost either.
func (s *steering) restart() {
	var kept policy.State
	if text, err := json.Marshal(s.state); err == nil && json.Unmarshal(text, &kept) == nil {
		s.state = kept
	}
}
