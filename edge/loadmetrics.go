package edge

import (
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

var (
	descUsed        = desc("utilization_ratio", "Load of the link, in shares of its capacity.", "link")
	descAge         = desc("sample_age_seconds", "How old the newest figure of the link is.", "link")
	descStale       = desc("sample_stale", "1 while the link's figures are too old to act on, or there is none.", "link")
	descLinkShed    = desc("link_shed_ratio", "Share of the link's demand that the controller wants elsewhere.", "link")
	descSlowdown    = desc("link_slowdown_ratio", "Share of new sessions on the link that should go elsewhere.", "link")
	descDrop        = desc("link_drop_ratio", "Share of current sessions on the link that should move.", "link")
	descAbsorb      = desc("link_absorbs", "1 while nothing can take what should leave the link.", "link")
	descShed        = desc("shed_ratio", "What the neighbour's rung is believed to shed of its demand.", "neighbor")
	descPenalty     = desc("flap_penalty", "The most that routers of the neighbour's AS may hold against one of our prefixes.", "neighbor")
	descHindrance   = desc("rung_hindrance", "1; the label tells what keeps the neighbour on its rung.", "neighbor", "hindrance")
	descRungChanges = desc("rung_changes_total", "Changes of the neighbour's rung.", "neighbor")
	descPinned      = desc("pinned", "1 while an operator keeps the neighbour on its rung.", "neighbor")
	descSource      = desc("load_source_up", "1 if the source gives figures.", "link", "source")
	descRefused     = desc("load_samples_refused_total", "Figures that were refused or could not be had.", "link", "source", "reason")
	descNode        = desc("node_utilization_ratio", "Load of the machine's own resources, 1 being all of it or the limit.", "resource")
	descRTT         = desc("connection_round_trip_seconds", "Median of the round trip times of clients' connections.", "neighbor")
	descRetransmits = desc("connection_retransmits_ratio", "Share of segments to clients that were sent again.", "neighbor")
)

// load is what steers by load, where anything does; rungs are there in any case.
func (m metrics) load(s Snapshot) {
	for i := range s.Decision.Climbers {
		m.climber(s, &s.Decision.Climbers[i])
	}
	if s.Config.Load.Mode == config.LoadOff {
		return
	}
	m.gauge(descTarget, s.Config.Load.Target)
	for i := range s.Decision.Links {
		m.link(s, &s.Decision.Links[i])
	}
	for _, src := range s.Load.Sources {
		m.gauge(descSource, bit(src.Up), src.Link, src.Source)
		for reason, n := range src.Refused {
			m.counter(descRefused, float64(n), src.Link, src.Source, reason.String())
		}
	}
	for _, r := range s.Load.Node.Resources {
		m.gauge(descNode, r.Utilization, r.Name)
	}
	for _, q := range s.Load.Quality {
		m.gauge(descRTT, q.RTT.Seconds(), q.Neighbor)
		m.gauge(descRetransmits, q.Retransmits, q.Neighbor)
	}
}

func (m metrics) climber(s Snapshot, d *policy.ClimberDecision) {
	m.gauge(descShed, d.Shed, d.Name)
	m.gauge(descPenalty, d.Penalty, d.Name)
	m.gauge(descNearness, d.Nearness, d.Name)
	m.gauge(descHindrance, 1, d.Name, d.Restraint.Hindrance.String())
	m.counter(descRungChanges, float64(s.Load.Moves[d.Name]), d.Name)
	pinned := false
	for _, p := range s.Pins {
		pinned = pinned || p.Neighbor == d.Name
	}
	m.gauge(descPinned, bit(pinned), d.Name)
}

func (m metrics) link(s Snapshot, d *policy.LinkDecision) {
	m.gauge(descStale, bit(!d.Known || d.Stale), d.Name)
	m.gauge(descLinkShed, d.Shed, d.Name)
	m.gauge(descSlowdown, d.Slowdown, d.Name)
	m.gauge(descDrop, d.Drop, d.Name)
	m.gauge(descAbsorb, bit(d.Absorb), d.Name)
	if c := s.capacity(d.Name); c > 0 {
		m.gauge(descCapacity, c/8, d.Name)
	}
	if d.Known {
		m.gauge(descUsed, d.Utilization, d.Name)
		m.gauge(descAge, max(0, s.At.Sub(s.Load.Samples[d.Name].At).Seconds()), d.Name)
	}
}
