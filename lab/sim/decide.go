package sim

import (
	"fmt"
	"sync"
	"time"
)

// worthwhile is the number of nodes from which deciding at once gains anything.
const worthwhile = 32

// decide has all edges decide that have news or asked for this time.
func (r *run) decide(now time.Duration) {
	r.due = r.due[:0]
	for i := range r.nodes {
		if n := &r.nodes[i]; r.informed(n, now) {
			n.in.now, n.in.losses, n.in.others = now, r.base.sites[n.site].losses, r.othersMoved(n)
			n.in.room = r.room(n)
			n.in.told = r.told(n)
			r.due = append(r.due, n)
		}
	}
	if r.workers < 2 || len(r.due) < worthwhile {
		ask(r.due)
	} else {
		var others sync.WaitGroup
		part := (len(r.due) + r.workers - 1) / r.workers
		for from := part; from < len(r.due); from += part {
			others.Go(func() { ask(r.due[from:min(from+part, len(r.due))]) })
		}
		ask(r.due[:part])
		others.Wait()
	}
	for _, n := range r.due {
		before := len(r.base.changes)
		r.w.obey(n.site, n.edge, &n.out)
		if len(r.base.changes) > before {
			r.moved[n.site] = now
		}
	}
}

func ask(nodes []*node) {
	for _, n := range nodes {
		n.pilot.decide(&n.in, &n.out)
	}
}

// informed reads the figures that have come in for an edge, and says whether it
// is to decide.
func (r *run) informed(n *node, now time.Duration) bool {
	s := &r.base.sites[n.site]
	if s.down {
		return false
	}
	news := now == 0
	for l := range n.read {
		f := &r.feeds[s.first+l]
		n.in.fresh[l] = false
		for n.read[l] < f.taken {
			next := f.recent[n.read[l]%kept]
			if next.at+r.base.sc.Metrics.Delay+n.lag > now {
				break
			}
			n.in.figures[l], n.in.fresh[l] = next, true
			n.read[l]++
			news = true
		}
	}
	return news || n.out.wake >= 0 && now >= n.out.wake
}

// othersMoved is when another site that shares clients with a node's last moved,
// as the centre would say.
func (r *run) othersMoved(n *node) time.Duration {
	last := time.Duration(-1)
	if !r.base.sc.Load.Centre {
		return last
	}
	for i, t := range r.moved {
		if i != n.site && r.near[n.site][i] {
			last = max(last, t)
		}
	}
	return last
}

// room is what the sites that share clients with a node's can take, as the centre
// would say, by the figures that have come in.
func (r *run) room(n *node) float64 {
	sum := 0.0
	for i, s := range r.base.sites {
		if i == n.site || s.down || !r.near[n.site][i] {
			continue
		}
		for l := range s.links {
			if f := &r.feeds[s.first+l]; f.taken > 0 {
				sum += max(0, brim*r.base.links[s.first+l].capacity-f.recent[(f.taken-1)%kept].load)
			}
		}
	}
	return sum
}

const brim = 0.85

// charged is a pilot that keeps a flap ledger.
type charged interface {
	// penalties are the highest by AS that its ledger has.
	penalties() map[uint32]float64
}

// told is what the other edges were charged at each AS, as the centre would say.
func (r *run) told(n *node) map[uint32]float64 {
	if l := &r.base.sc.Load; !l.Centre || !l.Turns {
		return nil
	}
	sum := map[uint32]float64{}
	for i := range r.nodes {
		if p, ok := r.nodes[i].pilot.(charged); ok && &r.nodes[i] != n {
			for asn, penalty := range p.penalties() {
				sum[asn] += penalty
			}
		}
	}
	return sum
}

// notes are what the nodes have to say.
func (r *run) notes() []string {
	var out []string
	for i := range r.nodes {
		n := &r.nodes[i]
		e, ok := n.pilot.(explainer)
		if !ok || r.base.sites[n.site].down {
			continue
		}
		site := &r.base.sc.Sites[n.site]
		if n.said == nil {
			n.said = make([]string, len(site.Neighbors))
		}
		for j := range site.Neighbors {
			if text, kind := e.explain(j); kind != n.said[j] {
				n.said[j] = kind
				out = append(out, fmt.Sprintf("%s edge %d, %s: %s", site.Name, n.edge, site.Neighbors[j].Name, text))
			}
		}
	}
	return out
}
