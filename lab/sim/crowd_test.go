package sim

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const twoLinks = `name: links
duration: 2h
actuator: sessions
sessions: {bitrate: 1Mbps, min: 10m, max: 20m, segment: 5s, sticky: true}
sites:
  - {name: s, links: [{name: a, capacity: 1000 sessions}, {name: b, capacity: 1000 sessions}]}
groups:
  - {name: viewers, demand: 1000 sessions, noise: 0, first: [{link: s/a, share: 0.75}, {link: s/b, share: 0.25}]}
`

// watch drives sessions by hand.
func (w *crowded) watch(step *int, d time.Duration) {
	for range int(d / w.sc.Step) {
		w.begin(time.Duration(*step) * w.sc.Step)
		w.advance(*step)
		*step++
	}
}

func (w *crowded) sessions(link int) float64 { return w.links[link].load / w.sc.Sessions.Bitrate }

func TestLeftAloneSessionsStayAtTheirFirstChoice(t *testing.T) {
	w, step := newCrowded(parse(t, "links", twoLinks), 1), 0
	w.watch(&step, time.Hour)
	about(t, "at a", w.sessions(0), 750, 30) // each session chooses for itself
	about(t, "at both", w.sessions(0)+w.sessions(1), 1000, 1e-6)
	if w.broken > 0 || w.shifted > 0 || w.away > 0 {
		t.Errorf("broken %g, moved %g, away %g", w.broken, w.shifted, w.away)
	}
}

func TestRefusingMovesNoFasterThanSessionsEnd(t *testing.T) {
	w, step := newCrowded(parse(t, "links", twoLinks), 1), 0
	w.watch(&step, time.Minute)
	before := w.sessions(0)
	w.set(0, 1, 0)
	w.watch(&step, time.Minute)
	// A session lasts 15 minutes on average: a fifteenth ends in one.
	about(t, "after a minute, at a", w.sessions(0), before*(1-1.0/15), before*0.01)
	w.watch(&step, 20*time.Minute)
	about(t, "after the longest session, at a", w.sessions(0), 0, 1e-6)
	about(t, "broken", w.broken, 0, 1e-9)
}

func TestDropMovesItsShareAtEachSegment(t *testing.T) {
	w, step := newCrowded(parse(t, "links", twoLinks), 1), 0
	w.watch(&step, time.Minute)
	before := w.sessions(0)
	w.set(0, 1, 0.2)
	w.watch(&step, 15*time.Second)
	about(t, "after three segments, at a", w.sessions(0)/before, math.Pow(1-0.2/5, 15), 0.02)
	about(t, "at both", w.sessions(0)+w.sessions(1), 1000, 1e-6)
	about(t, "broken", w.broken, 0, 1e-9)
}

func TestWhoIsRefusedByAllWaitsAndIsBroken(t *testing.T) {
	w, step := newCrowded(parse(t, "links", twoLinks), 1), 0
	w.watch(&step, time.Minute)
	w.set(0, 1, 1)
	w.set(1, 1, 1)
	w.watch(&step, time.Minute)
	about(t, "lost", w.lost/w.demand, 1, 0.01)
	about(t, "broken", w.broken, 1000, 10)
	w.set(0, 0, 0)
	w.set(1, 0, 0)
	w.watch(&step, time.Minute)
	about(t, "lost once they are taken again", w.lost/w.demand, 0, 0.01)
}

func TestStickySessionsStayWhereTheyWereMoved(t *testing.T) {
	for _, sticky := range []bool{true, false} {
		text := twoLinks
		if !sticky {
			text = strings.Replace(text, "sticky: true", "sticky: false", 1)
		}
		w, step := newCrowded(parse(t, "links", text), 1), 0
		w.watch(&step, time.Minute)
		w.set(0, 1, 1)
		w.watch(&step, time.Minute)
		w.set(0, 0, 0)
		w.watch(&step, time.Minute)
		if back := w.sessions(0); sticky && back > 100 || !sticky && back < 700 {
			t.Errorf("sticky %v: %.0f are back after a minute", sticky, back)
		}
	}
}

func TestSessionsLastAsLongAsTheyShould(t *testing.T) {
	s := &Sessions{Min: 10 * time.Minute, Max: 20 * time.Minute}
	for _, tc := range []struct {
		age, later time.Duration
		want       float64
	}{
		{0, 10 * time.Minute, 1}, {0, 15 * time.Minute, 0.5}, {0, 20 * time.Minute, 0}, {15 * time.Minute, 17*time.Minute + 30*time.Second, 0.5},
		{21 * time.Minute, 22 * time.Minute, 0},
	} {
		about(t, "what outlives", outlives(s, tc.age, tc.later), tc.want, 1e-9)
	}
}

func TestNoSessionAppearsOrVanishes(t *testing.T) {
	sc := parse(t, "links", twoLinks)
	rapid.Check(t, func(t *rapid.T) {
		sc := *sc
		sc.Sessions.Sticky = rapid.Bool().Draw(t, "sticky")
		w, step := newCrowded(&sc, rapid.Uint64().Draw(t, "seed")), 0
		for range rapid.IntRange(1, 20).Draw(t, "moves") {
			share := rapid.Float64Range(-0.5, 1.5)
			w.set(rapid.IntRange(0, 1).Draw(t, "link"), share.Draw(t, "slowdown"), share.Draw(t, "drop"))
			if rapid.IntRange(0, 9).Draw(t, "what") == 0 {
				w.fall(0, rapid.Bool().Draw(t, "down"))
			}
			w.watch(&step, time.Duration(rapid.IntRange(1, 100).Draw(t, "seconds"))*time.Second)
			sum := w.links[0].load + w.links[1].load + w.lost
			if math.Abs(sum-w.demand) > 1e-6*w.demand || w.links[0].load < 0 || w.links[1].load < 0 || w.lost < -1e-6 {
				t.Fatalf("of %g are %g and %g there, %g lost", w.demand, w.links[0].load, w.links[1].load, w.lost)
			}
		}
	})
}
