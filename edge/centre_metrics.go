package edge

import "time"

var (
	descCentre     = desc("central_connected", "1 while the centre answers; without a centre there is no such metric.")
	descCentreAge  = desc("central_stream_age_seconds", "Time since the centre was heard last; absent before.")
	descGeneration = desc("central_intent_generation", "Generation of the centre's intent in force.")
	descGrants     = desc("central_grants_held", "Grants that the node acts on.", "kind")
	descOlder      = desc("central_intents_ignored_total", "Intents that were ignored as older than the one in force.")
	descSafety     = desc("central_override_safety", "Operators' words in force that override the limits of the fleet.")
	descClock      = desc("clock_synchronised", "1 if the kernel says that the clock is synchronised; with a centre only.")
	descClockAhead = desc("clock_ahead_seconds", "How far the clock is ahead of the centre's; with a centre only.")
	descNotOpened  = desc("maintenance_not_opened", "1 while a maintenance window does not open because the clock cannot be trusted.")
)

// CentreView is how the node stands with the centre.
type CentreView struct {
	// State is none, connected or away; Address and Fault are of the last try.
	State, Address, Fault string
	// Heard is when an intent came last; zero: never in this run.
	Heard time.Time
	// Generation of the intent in force.
	Generation uint64
	// Held counts the grants acted on by kind, Overrides those in spite of the limits.
	Held      map[string]int
	Overrides int
	// Refused counts what the centre does not give leave for, by kind.
	Refused map[string]int
	// CertificateEnds and CAEnds are when the node's certificate and the first of the
	// centre's CA end; zero: not known.
	CertificateEnds, CAEnds time.Time
	// Ignored counts intents that were older than the one in force.
	Ignored uint64
	// NotUnderstood is what of the intent in force is left out.
	NotUnderstood []string
	// Synchronised is what the kernel says of the clock, Ahead how far it is ahead of
	// the centre's. NotOpened: a window waits for a clock that can be trusted.
	Synchronised, NotOpened bool
	Ahead                   time.Duration
}

func (k *centreKeeper) view(now time.Time) CentreView {
	v := CentreView{State: k.state(), Address: k.address, Fault: k.faults[k.address], Heard: k.clock.stamp, Generation: k.want.generation, Held: map[string]int{},
		Ignored: k.stale, NotUnderstood: k.notUnderstood(), Synchronised: k.clock.synchronised, NotOpened: k.refused, Ahead: k.clock.ahead(now), Refused: k.refusals()}
	identity := k.link.certificates()
	v.CertificateEnds, v.CAEnds = identity.node, identity.ca
	for _, l := range k.kept.Leases {
		if l.Begun {
			v.Held[string(l.Kind)]++
		}
		if l.Override && l.Begun {
			v.Overrides++
		}
	}
	return v
}

// warnings are for whoever reads the status.
func (v CentreView) warnings() []string {
	var out []string
	if v.State == "away" {
		text := "the centre is away: what is announced stays, and nothing is withdrawn for load or soft failures"
		if v.Fault != "" {
			text += " (" + v.Address + ": " + v.Fault + ")"
		}
		out = append(out, text)
	}
	for _, text := range v.NotUnderstood {
		out = append(out, "of what the centre wants this is not understood, and left out: "+text)
	}
	if v.NotOpened {
		out = append(out, "a maintenance window does not open: this machine's clock is not synchronised, or not near the centre's")
	}
	if v.Overrides > 0 {
		out = append(out, "an operator's word overrides the limits of the fleet")
	}
	return out
}

func (m metrics) centre(s Snapshot) {
	c := s.Centre
	if c.State == "none" {
		return
	}
	m.gauge(descCentre, bit(c.State == "connected"))
	if !c.Heard.IsZero() {
		m.gauge(descCentreAge, max(0, s.At.Sub(c.Heard).Seconds()))
	}
	m.gauge(descGeneration, float64(c.Generation))
	for _, kind := range []string{"window", "load", "soft_failure", "override"} {
		m.gauge(descGrants, float64(c.Held[kind]), kind)
	}
	m.counter(descOlder, float64(c.Ignored))
	m.gauge(descSafety, float64(c.Overrides))
	m.gauge(descClock, bit(c.Synchronised))
	m.gauge(descClockAhead, c.Ahead.Seconds())
	m.gauge(descNotOpened, bit(c.NotOpened))
	m.identity(c)
}
