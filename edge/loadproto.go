package edge

import (
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/policy"
)

// link is what is known of a link. Before the first figure it counts as stale.
func (s Snapshot) link(name string) *edgev1.Link {
	out := &edgev1.Link{Name: name, Stale: true, Target: target(s.Config.Load)}
	for i := range s.Config.Links {
		if l := &s.Config.Links[i]; l.Name == name {
			out.CapacityBps = float64(l.Capacity)
		}
	}
	sample, measured := s.Load.Samples[name]
	if measured {
		out.LoadBps = sample.Load
		if sample.Capacity > 0 {
			out.CapacityBps = sample.Capacity
		}
	}
	for i := range s.Decision.Links {
		d := &s.Decision.Links[i]
		if d.Name != name || !d.Known {
			continue
		}
		if measured && out.CapacityBps > 0 {
			used, age := sample.Load/out.CapacityBps, max(0, s.At.Sub(sample.At).Seconds())
			out.Utilization, out.AgeSeconds = &used, &age
		}
		out.Stale = d.Stale
		out.Shed, out.Slowdown, out.Drop, out.Absorb = d.Shed, d.Slowdown, d.Drop, d.Absorb
		if d.Restraint.Hindrance != policy.Content {
			out.Detail = d.Restraint.String()
		}
	}
	return out
}

func toPin(p policy.Pin) *edgev1.Pin {
	return &edgev1.Pin{
		Neighbor: p.Neighbor, Rung: int32(p.Rung), Reason: p.Reason, By: p.By, Since: stamp(p.Since), Until: stamp(p.Until),
	}
}

func pinsProto(pins []policy.Pin, changed bool) *edgev1.PinResponse {
	out := &edgev1.PinResponse{Changed: changed}
	for _, p := range pins {
		out.Pins = append(out.Pins, toPin(p))
	}
	return out
}

func loadChangeProto(c LoadChange) *edgev1.LoadDecision {
	out := &edgev1.LoadDecision{
		At: stamp(c.At), Link: c.Link, Neighbor: c.Neighbor, From: int32(c.From), To: int32(c.To),
		Shed: c.Shed, Detail: c.Detail, Inputs: c.Inputs,
	}
	if c.Known {
		out.Utilization = &c.Utilization
	}
	return out
}
