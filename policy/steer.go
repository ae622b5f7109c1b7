package policy

// load decides on which rung each climber stands.
func (r *round) load() {
	cs := r.c.Load.Climbers
	r.next.Load.Ledger = r.was.Load.Ledger
	r.next.Load.Climbers = resize(r.next.Load.Climbers, len(cs))
	r.out.Climbers = resize(r.out.Climbers, len(cs))
	r.out.Links = resize(r.out.Links, len(r.c.Load.Links))
	for i := range r.c.Load.Links {
		r.out.Links[i] = LinkDecision{Name: r.c.Load.Links[i].Name}
	}
	for i := range cs {
		st, d := &r.next.Load.Climbers[i], &r.out.Climbers[i]
		*st = r.recall(i)
		*d = ClimberDecision{Name: cs[i].Name, Rungs: len(cs[i].Rungs), Restraint: Restraint{Hindrance: NoController}}
		r.obeyPin(&cs[i], st, d)
		if d.Rung = st.Rung; d.Rung > 0 {
			d.Shed = cs[i].Rungs[d.Rung-1].Sheds
		}
	}
}

// recall returns what is remembered of a climber, as far as it still holds.
func (r *round) recall(i int) ClimberState {
	c := &r.c.Load.Climbers[i]
	was := find(r.was.Load.Climbers, i, c.Name, func(s *ClimberState) string { return s.Name })
	if was == nil {
		return ClimberState{Name: c.Name, Epoch: c.Epoch}
	}
	st := *was
	st.Epoch = c.Epoch
	st.Rung = max(0, min(st.Rung, len(c.Rungs)))
	return st
}

// obeyPin puts the climber where an operator wants it. When nobody else would
// bring it down again, it returns with the end of the pin.
func (r *round) obeyPin(c *Climber, st *ClimberState, d *ClimberDecision) {
	rung, was := st.Rung, st.Rung
	pin := r.pin(c.Name)
	switch {
	case pin != nil:
		rung = max(0, min(pin.Rung, len(c.Rungs)))
		r.wake(pin.Until)
		d.Restraint = Restraint{Pinned, pin.Until, pin.Reason}
	case st.Pinned:
		rung = 0
	}
	st.Pinned = pin != nil
	if rung != was {
		st.Rung, st.Since, d.Moved = rung, r.in.Now, true
	}
}

// pin is the latest word of an operator on a neighbour's rung; nil: none.
func (r *round) pin(neighbor string) *Pin {
	for i := len(r.in.Pins) - 1; i >= 0; i-- {
		if p := &r.in.Pins[i]; p.Neighbor == neighbor && p.Active(r.in.Now) {
			return p
		}
	}
	return nil
}

// loadCauses is what a neighbour's rung makes of a service there.
func (r *round) loadCauses(svc *Service, neighbor string) (rung int, f families) {
	for i := range r.c.Load.Climbers {
		c := &r.c.Load.Climbers[i]
		if c.Name != neighbor || r.out.Climbers[i].Rung == 0 {
			continue
		}
		rung = r.out.Climbers[i].Rung
		detail := r.rungText(i)
		return rung, families{v4: c.cause(svc, rung, false, detail), v6: c.cause(svc, rung, true, detail)}
	}
	return 0, families{}
}

// cause is what a rung makes of a service's prefixes of one family.
func (c *Climber) cause(svc *Service, rung int, v6 bool, detail string) Cause {
	touched, kept := false, len(svc.Prefixes) == 0
	for _, p := range svc.Prefixes {
		if p.Addr().Is6() != v6 {
			continue
		}
		g := c.Governs(rung, p)
		touched = touched || g > 0
		kept = kept || g == 0 || !c.Rungs[g-1].Withdraw
	}
	if len(svc.Prefixes) == 0 { // a service without any named: as if it had one
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

// rungText says where a climber stands, in a text made once.
func (r *round) rungText(i int) string {
	d := &r.out.Climbers[i]
	for len(r.b.texts) <= i {
		r.b.texts = append(r.b.texts, rungText{})
	}
	t := &r.b.texts[i]
	reason := ""
	if d.Restraint.Hindrance == Pinned {
		reason = d.Restraint.Word
	}
	if t.text == "" || t.rung != d.Rung || t.rungs != d.Rungs || t.reason != reason || t.name != d.Name {
		*t = rungText{d.Name, d.Rung, d.Rungs, reason, onRung(d.Name, d.Rung, d.Rungs, reason)}
	}
	return t.text
}

// charge enters in the ledger what others are shown.
func (r *round) charge() {}
