package sim

// The preferences of routes that others are asked not to prefer: those with GSHUT
// (RFC 8326) are the last resort of all.
const (
	shut    = -2
	steered = -1
)

// seen is how a group sees a candidate on which it has heard a code.
func (w *routed) seen(c *candidate, code uint8) (preference, path int, usable bool) {
	if code == gone {
		return 0, 0, false
	}
	preference, path = c.preference, c.path
	if code > 0 {
		rung := &w.routes[c.route].ladder[code-1]
		path += rung.Prepend
		switch {
		case rung.Gshut:
			preference = shut
		case c.steered < rung.Steer:
			preference = steered
		}
	}
	return preference, path, true
}

// place finds where a group's traffic of a prefix goes: to the candidates of the
// highest preference, of those to the ones of the shortest path, in equal parts.
// The result uses the memory of out.
func (w *routed) place(group, k int, out []part) []part {
	g := &w.groups[group]
	out = out[:0]
	top, shortest := 0, 0
	for i := range g.cands {
		c := &g.cands[i]
		if g.maker != nil && g.damper[c.asn*len(w.prefixes)+k].suppressed {
			continue
		}
		preference, path, ok := w.seen(c, g.heard[i*len(w.prefixes)+k].code)
		if !ok {
			continue
		}
		if len(out) == 0 || preference > top || preference == top && path < shortest {
			top, shortest, out = preference, path, out[:0]
		}
		if preference == top && path == shortest {
			r := &w.routes[c.route]
			out = append(out, part{route: c.route, site: r.site, link: r.link})
		}
	}
	for i := range out {
		out[i].share = 1 / float64(len(out))
	}
	return out
}

// listen lets a group that damps take in what it hears of each AS: of several
// sites behind one AS only that AS's own best path.
func (w *routed) listen(group, k int) {
	g := &w.groups[group]
	if g.maker == nil {
		return
	}
	for a, asn := range g.asns {
		best := int64(none)
		top, shortest := 0, 0
		for i := range g.cands {
			c := &g.cands[i]
			if c.asn != a {
				continue
			}
			code := g.heard[i*len(w.prefixes)+k].code
			preference, path, ok := w.seen(c, code)
			if !ok {
				continue
			}
			if best == none || preference > top || preference == top && path < shortest {
				top, shortest, best = preference, path, int64(c.route)<<8|int64(code)
			}
		}
		d := &g.damper[a*len(w.prefixes)+k]
		if w.now == 0 {
			d.best = best // what is there from the start is no change
			continue
		}
		was := d.suppressed
		g.maker.hear(d, w.now, best, w.sc.BGP.Exploration)
		if d.suppressed && !was {
			w.damped[dampedKey{asn, k}] = true
			w.damping = append(w.damping, dampedAt{group, a, k})
		}
	}
}

// reuse ends what has been damped for long enough.
func (w *routed) reuse() {
	kept := w.damping[:0]
	for _, at := range w.damping {
		g := &w.groups[at.group]
		d := &g.damper[at.asn*len(w.prefixes)+at.prefix]
		if g.maker.reused(d, w.now) {
			d.suppressed = false
			w.heed(at.group, at.prefix)
		} else {
			kept = append(kept, at)
		}
	}
	w.damping = kept
}
