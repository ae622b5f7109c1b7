package policy

import "fmt"

// loadCauses is what a neighbour's rung makes of a service there.
func (r *round) loadCauses(svc *Service, neighbor string, at int) (rung int, f families) {
	i := r.climberOf(neighbor, at)
	if i < 0 || r.out.Climbers[i].Rung == 0 {
		return 0, families{}
	}
	c := &r.c.Load.Climbers[i]
	rung = r.out.Climbers[i].Rung
	detail := r.rungText(i)
	return rung, families{v4: c.cause(svc, rung, false, detail), v6: c.cause(svc, rung, true, detail)}
}

// cause is what a rung makes of a service's prefixes of one family.
func (c *Climber) cause(svc *Service, rung int, v6 bool, detail string) Cause {
	touched, kept := false, false
	for _, p := range svc.Prefixes {
		if p.Addr().Is6() != v6 {
			continue
		}
		g := c.Governs(rung, p)
		touched = touched || g > 0
		kept = kept || g == 0 || !c.Rungs[g-1].Withdraw
	}
	if len(svc.Prefixes) == 0 { // none are named: as if it had one
		touched, kept = true, !c.Rungs[rung-1].Withdraw
	}
	switch {
	case !touched:
		return Cause{}
	case !kept:
		return Cause{Withdrawn, Load, detail}
	}
	return Cause{Steered, Load, detail}
}

// rungText is a text that was made earlier.
type rungText struct {
	name, pinned string
	rung, rungs  int
	text         string
}

// rungText says where a climber stands.
func (r *round) rungText(i int) string {
	d := &r.out.Climbers[i]
	for len(r.b.texts) <= i {
		r.b.texts = append(r.b.texts, rungText{})
	}
	want := rungText{name: d.Name, rung: d.Rung, rungs: d.Rungs}
	if d.Restraint.Hindrance == Pinned {
		want.pinned = d.Restraint.Word
	}
	t := &r.b.texts[i]
	if want.text = t.text; t.text == "" || want != *t {
		want.text = onRung(d.Name, d.Rung, d.Rungs, want.pinned)
		*t = want
	}
	return t.text
}

// onRung says where a climber stands, for a cause.
func onRung(name string, rung, rungs int, pinned string) string {
	text := fmt.Sprintf("%s on rung %d of %d", name, rung, rungs)
	if pinned != "" {
		text += ", pinned: " + pinned
	}
	return text
}
