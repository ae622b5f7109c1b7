package edge

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
)

const (
	// detailEvery is how often it is looked at least whether there is something new to tell
	// people, detailSoon how soon after an event: routes follow decisions. detailLeast is how
	// often all is told without news, for the figures.
	detailEvery = time.Minute
	detailSoon  = time.Second
	detailLeast = 5 * time.Minute
	// What a detail has at most: decisions, lines of inputs in each, routes, and bytes in
	// all, of which the centre takes 512 KiB.
	detailDecisions = 20
	detailInputs    = 40
	detailRoutes    = 500
	detailBytes     = 256 << 10
)

// detailKeeper knows what people were told last.
type detailKeeper struct {
	soon time.Time // to look at it; zero: nothing has happened
	due  time.Time // to look at it beside what else is done then
	at   time.Time
	gist *centralv1.Detail
}

// happened has it looked at before long.
func (k *detailKeeper) happened(now time.Time) {
	if k.soon.IsZero() {
		k.soon = now.Add(detailSoon)
	}
}

// detailCentre tells the centre what people want to see of this node, if that is news.
func (e *Edge) detailCentre(now time.Time) {
	k := &e.centre.detail
	if now.Before(k.due) && (k.soon.IsZero() || now.Before(k.soon)) {
		return
	}
	k.soon, k.due = time.Time{}, now.Add(detailEvery)
	d := e.detail(now)
	g := detailGist(d)
	if since := now.Sub(k.at); k.gist != nil && since >= 0 && since < detailLeast && proto.Equal(g, k.gist) {
		return
	}
	k.gist, k.at = g, now
	e.centre.link.sayDetail(d)
}

// detail is what people want to see of this node, not too much of it.
func (e *Edge) detail(now time.Time) *centralv1.Detail {
	d := &centralv1.Detail{Status: e.snapshot(now).proto(), Series: e.load.series.proto()}
	for _, c := range e.history.newest("", detailDecisions) {
		p := changeProto(c)
		p.Inputs = fewer(p.Inputs)
		d.Decisions = append(d.Decisions, p)
	}
	for _, c := range e.load.newest(detailDecisions, func(LoadChange) bool { return true }) {
		p := loadChangeProto(c)
		p.Inputs = fewer(p.Inputs)
		d.Steering = append(d.Steering, p)
	}
	bound(d)
	return d
}

// fewer are the first lines, and how many there are besides.
func fewer(lines []string) []string {
	if len(lines) <= detailInputs {
		return lines
	}
	return append(lines[:detailInputs:detailInputs], fmt.Sprintf("... and %d more", len(lines)-detailInputs))
}

// bound leaves out what there is too much of, the least needed first.
func bound(d *centralv1.Detail) {
	routes := 0
	for _, s := range d.GetStatus().GetServices() {
		for _, n := range s.GetNeighbors() {
			keep := max(0, min(len(n.Routes), detailRoutes-routes))
			routes += len(n.Routes)
			n.Routes = n.Routes[:keep]
		}
	}
	if routes > detailRoutes {
		d.LeftOut = append(d.LeftOut, fmt.Sprintf("%d of %d routes", routes-detailRoutes, routes))
	}
	for _, cut := range []struct {
		what string
		do   func()
	}{
		{"what decisions were made of", func() {
			for _, c := range d.Decisions {
				c.Inputs = nil
			}
			for _, c := range d.Steering {
				c.Inputs = nil
			}
		}},
		{"all routes", func() { eachNeighbor(d, func(n *edgev1.Neighbor) { n.Routes = nil }) }},
		{"decisions", func() { d.Decisions, d.Steering = nil, nil }},
		{"the services' neighbours", func() {
			for _, s := range d.GetStatus().GetServices() {
				s.Neighbors = nil
			}
		}},
		{"the status", func() { d.Status = nil }},
	} {
		if proto.Size(d) <= detailBytes {
			return
		}
		cut.do()
		d.LeftOut = append(d.LeftOut, cut.what)
	}
}

func eachNeighbor(d *centralv1.Detail, do func(*edgev1.Neighbor)) {
	for _, s := range d.GetStatus().GetServices() {
		for _, n := range s.GetNeighbors() {
			do(n)
		}
	}
}

// detailGist is a detail without what changes all the time.
func detailGist(d *centralv1.Detail) *centralv1.Detail {
	g := proto.CloneOf(d)
	g.Series = nil
	still := func(l *edgev1.Link) {
		if l != nil {
			l.Utilization, l.AgeSeconds, l.LoadBps, l.Shed, l.Slowdown, l.Drop = nil, nil, 0, 0, 0, 0
		}
	}
	for _, l := range g.GetStatus().GetLinks() {
		still(l)
	}
	for _, s := range g.GetStatus().GetServices() {
		for _, c := range s.GetChecks() {
			c.Last, c.DurationSeconds = nil, 0
		}
	}
	eachNeighbor(g, func(n *edgev1.Neighbor) {
		still(n.Link)
		n.FlapPenalty, n.Shed = 0, 0
	})
	return g
}
