package central

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestAnEdgeIsBehindThatDoesNotConfirmForLongOrDoesNotUnderstand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		edges := l.join(2)
		pass(time.Minute)
		behind := func(want, when string) {
			t.Helper()
			if got := l.series("catchment_central_streams_behind"); got != want {
				t.Errorf("%s: %s are behind, want %s", when, got, want)
			}
		}
		tag := func(value string) {
			t.Helper()
			r := &centralv1.TagNodeRequest{Node: "n01", Value: value, Meaning: value, Reason: "test"}
			if _, err := l.api.TagNode(l.ctx(), r); err != nil {
				t.Fatal(err)
			}
		}
		behind("0", "at rest")
		edges[0].set(func(e *simEdge) { e.deaf = true })
		tag("57629:101")
		pass(behindAfter / 2)
		behind("0", "while the intent may be on its way")
		tag("57629:102") // does not begin the time anew
		pass(behindAfter)
		behind("1", "when nothing was confirmed for long")
		if n, err := l.api.GetNode(l.ctx(), &centralv1.GetNodeRequest{Name: "n01"}); err != nil || n.GetWantedGeneration() <= n.GetGeneration() {
			t.Errorf("of the node that is behind: %d in force, %d sent, %v", n.GetGeneration(), n.GetWantedGeneration(), err)
		}
		edges[0].set(func(e *simEdge) { e.deaf = false })
		pass(resendEvery)
		behind("0", "when it has been said again")

		edges[1].set(func(e *simEdge) { e.strange = []string{`window w1: zone "Lab/Newtown" is not known`} })
		pass(time.Second)
		behind("1", "when it is not understood")
		n, err := l.api.GetNode(l.ctx(), &centralv1.GetNodeRequest{Name: "n02"})
		if err != nil || len(n.GetNotUnderstood()) != 1 || n.GetNotUnderstood()[0] != edges[1].strange[0] {
			t.Errorf("the node: %q, %v", n.GetNotUnderstood(), err)
		}
		edges[1].set(func(e *simEdge) { e.strange = slices.Repeat([]string{"x" + strings.Repeat("\u00fc", 400)}, 1000) })
		pass(time.Second)
		if n, err = l.api.GetNode(l.ctx(), &centralv1.GetNodeRequest{Name: "n02"}); err != nil || len(n.GetNotUnderstood()) != mostNotUnderstood {
			t.Errorf("of a node that says much: %d, %v", len(n.GetNotUnderstood()), err)
		}
		for _, text := range n.GetNotUnderstood() {
			if len(text) > mostNotUnderstoodText || !utf8.ValidString(text) {
				t.Errorf("a text has %d bytes: %q", len(text), text)
			}
		}
		item, err := l.store.Get(l.ctx(), key(kindLive, "n02"))
		if most := 2 * mostNotUnderstood * mostNotUnderstoodText; err != nil || len(item.Value) > most {
			t.Errorf("the store has %d bytes of it, %v", len(item.Value), err)
		}
		edges[1].set(func(e *simEdge) { e.strange = nil })
		pass(time.Second)
		behind("0", "when it is understood")
	})
}

// What is always on its way is not late: an edge that confirms each intent is not behind because there is a newer one.
func TestABusyEdgeIsNotBehind(t *testing.T) {
	now := time.Now()
	s := &session{epoch: 3, told: []telling{{generation: 10, at: now.Add(-time.Hour)}, {generation: 11, at: now.Add(-time.Minute)}, {generation: 12, at: now.Add(-time.Second)}}}
	for _, tt := range []struct {
		epoch, generation uint64
		want              bool
	}{{3, 12, false}, {3, 11, false}, {3, 10, true}, {3, 0, true}, {2, 12, true}} {
		l := liveDoc{Epoch: tt.epoch}
		l.Report.m = &centralv1.Report{Generation: tt.generation}
		if got := s.behind(l, now); got != tt.want {
			t.Errorf("generation %d of epoch %d in force: behind %v", tt.generation, tt.epoch, got)
		}
	}
	if (&session{epoch: 3}).behind(liveDoc{}, now) {
		t.Error("an edge that was told nothing yet is behind")
	}
}
