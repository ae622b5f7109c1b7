package policy

import (
	"testing"
	"time"
)

// TestAClockSetBackStopsLoadControlForNoLongerThanItsDwells: what was remembered of a time that is yet to come counts as
// of now.
func TestAClockSetBackStopsLoadControlForNoLongerThanItsDwells(t *testing.T) {
	for name, resume := range map[string]func(State) State{
		"restarted": func(s State) State { return restart(t, s) },
		"running":   func(s State) State { return s },
	} {
		p := &driver{c: loadNode("a")}
		p.hold(0, 25*time.Second, one(0.95))
		if p.rung("a") == 0 {
			t.Fatal("it has not climbed")
		}
		from := p.rung("a")
		p.s = resume(p.s)
		back := -24 * time.Hour
		p.at(back, one(0.95))
		if l := p.d.Links[0]; !l.Known || l.Stale || l.Utilization != 0.95 || l.Age != 0 {
			t.Errorf("%s: a new figure right after: %+v", name, l)
		}
		p.hold(back, back+4*time.Second, one(1.3))
		if p.rung("a") != from {
			t.Errorf("%s: it moved to %d at once", name, p.rung("a"))
		}
		if l := p.d.Links[0]; l.Utilization != 1.3 {
			t.Errorf("%s: the link counts as %.2f full; want 1.3", name, l.Utilization)
		}
		p.at(back+30*time.Second, nil)
		if !p.d.Links[0].Stale {
			t.Errorf("%s: without figures for 26 s the link is not stale: %+v", name, p.d.Links[0])
		}
		p.hold(back+31*time.Second, back+80*time.Minute, one(0.3))
		if p.rung("a") >= from {
			t.Errorf("%s: after 80 min at 0.3 it is still on rung %d: %v", name, p.rung("a"), p.d.Climbers[0].Restraint)
		}
	}
}
