package fleet

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// confirm is what comes of all reports: each node told confirms it.
func confirm(f Fleet, told []string) {
	for _, n := range f.Nodes {
		f.stand(n.Name, func(s *Standing) {
			s.Told = slices.Contains(told, n.Name)
			s.Keeps = s.Told
		})
	}
}

func TestKeepSpreadsOverSitesAndStays(t *testing.T) {
	f := alike(6, 0, Limits{MinAnnouncing: 2})
	for i := range f.Nodes {
		f.Nodes[i].Site = []string{"ams", "ams", "fra"}[i/2]
	}
	told := Keep(f, "video", nil, nil)
	if !slices.Equal(told, []string{"n00", "n04"}) {
		t.Fatalf("%v", told)
	}
	if got := Keep(f, "video", []string{"n05", "n01"}, nil); !slices.Equal(got, []string{"n05", "n01"}) {
		t.Errorf("those told are as good as any: %v", got)
	}
}

func TestKeeperGoesWhenItsSuccessorHasConfirmed(t *testing.T) {
	f := alike(3, 0, Limits{})
	told := Keep(f, "video", nil, nil)
	confirm(f, told)
	f.stand("n00", func(s *Standing) { s.Healthy = false })
	told = Keep(f, "video", told, nil)
	if !slices.Equal(told, []string{"n00", "n01"}) {
		t.Fatalf("a successor is told, and the failing keeper not let go yet: %v", told)
	}
	if again := Keep(f, "video", told, nil); !slices.Equal(again, told) {
		t.Fatalf("nothing has changed: %v", again)
	}
	confirm(f, told)
	if told = Keep(f, "video", told, nil); !slices.Equal(told, []string{"n01"}) {
		t.Fatalf("the successor has confirmed: %v", told)
	}
	confirm(f, told)
	f.stand("n00", func(s *Standing) { s.Healthy = true })
	if told = Keep(f, "video", told, nil); !slices.Equal(told, []string{"n01"}) {
		t.Errorf("recovery moves nothing: %v", told)
	}
}

func TestKeeperThatAsksForAGrantIsReplacedFirst(t *testing.T) {
	f := alike(3, 0, Limits{})
	told := Keep(f, "video", nil, nil)
	confirm(f, told)
	if a := Admit(f, ask("n00")); a.OK || a.Refusal.Limit != Keeper {
		t.Fatalf("%+v", a)
	}
	told = Keep(f, "video", told, []string{"n00"})
	confirm(f, told)
	if a := Admit(f, ask("n00")); !a.OK {
		t.Fatalf("told %v: %+v", told, a)
	}
	f.Grants = []Grant{held("n00")}
	if told = Keep(f, "video", told, nil); !slices.Equal(told, []string{"n01"}) {
		t.Errorf("%v", told)
	}
}

func TestKeepHasNobodyToTellWhereNobodyAnnounces(t *testing.T) {
	f := alike(2, 0, Limits{MinAnnouncing: 2})
	f.Nodes[0].Seen = false
	f.stand("n01", func(s *Standing) { s.Announcing = false })
	if got := Keep(f, "video", []string{"n00"}, nil); len(got) != 0 {
		t.Errorf("%v", got)
	}
	f = alike(2, 0, Limits{MinAnnouncing: 2})
	f.stand("n00", func(s *Standing) { s.Healthy = false })
	if got := Keep(f, "video", nil, nil); !slices.Equal(got, []string{"n01", "n00"}) {
		t.Errorf("the last ones keep, sound or not: %v", got)
	}
}

// One router whose view is wrong must not undo what a hard failure leaves announced.
func TestWhatRoutersOutsideSayLetsNoKeeperGo(t *testing.T) {
	unseen := func(s *Standing) { s.Announcing, s.Reason, s.Lacking = false, Unseen, "rr (ipv4)" }
	f := alike(3, 0, Limits{})
	told := Keep(f, "video", nil, nil)
	confirm(f, told)
	f.stand("n00", unseen)
	told = Keep(f, "video", told, nil)
	if !slices.Equal(told, []string{"n00", "n01"}) {
		t.Fatalf("a successor is told first: %v", told)
	}
	confirm(f, told)
	if got := Keep(f, "video", told, nil); !slices.Equal(got, []string{"n01"}) {
		t.Errorf("the successor has confirmed: %v", got)
	}
	for _, n := range f.Nodes {
		f.stand(n.Name, unseen)
	}
	if got := Keep(f, "video", told, nil); !slices.Equal(got, []string{"n00"}) {
		t.Errorf("all are unseen, and fail: %v", got)
	}
	if got := Keep(f, "video", nil, nil); !slices.Equal(got, []string{"n00"}) {
		t.Errorf("nobody is told: %v", got)
	}
	f.Grants = []Grant{held("n00")}
	if got := Keep(f, "video", []string{"n00"}, nil); slices.Contains(got, "n00") {
		t.Errorf("it has leave: %v", got)
	}
}

// keeper is an edge with a check, and messages on their way to and from a centre.
type keeper struct {
	healthy bool
	kept    bool   // by the newest intent that it has
	has     uint64 // generation of that
	up      []keeperReport
	down    []keeperIntent
}

type keeperReport struct {
	healthy, announcing bool
	has                 uint64
}

type keeperIntent struct {
	generation uint64
	keep       bool
}

func (k *keeper) announces() bool { return k.healthy || k.kept }

// TestBadChecksNeverTakeTheLastAway fails and mends checks one by one and all at
// once, with reports and intents late by any time.
func TestBadChecksNeverTakeTheLastAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "edges")
		least := rapid.IntRange(1, min(4, n-1)).Draw(t, "min_announcing")
		f := alike(n, 0, Limits{MinAnnouncing: least})
		edges := make([]keeper, n)
		toldAt := make([]uint64, n) // generation at which an edge was last told
		told := Keep(f, "video", nil, nil)
		var generation uint64 = 1
		for i := range edges {
			kept := slices.Contains(told, f.Nodes[i].Name)
			edges[i] = keeper{healthy: true, kept: kept, has: 1}
			toldAt[i] = 1
		}
		confirm(f, told)
		take := func(i int) {
			if len(edges[i].up) == 0 {
				return
			}
			r := edges[i].up[0]
			edges[i].up = edges[i].up[1:]
			f.stand(f.Nodes[i].Name, func(s *Standing) {
				s.Healthy, s.Announcing, s.Keeps = r.healthy, r.announcing, s.Told && r.has >= toldAt[i]
			})
			next := Keep(f, "video", told, nil)
			if slices.Equal(next, told) {
				return
			}
			generation++
			for j := range edges {
				was, is := slices.Contains(told, f.Nodes[j].Name), slices.Contains(next, f.Nodes[j].Name)
				if was == is {
					continue
				}
				if is {
					toldAt[j] = generation
				}
				f.stand(f.Nodes[j].Name, func(s *Standing) { s.Told, s.Keeps = is, false })
				edges[j].down = append(edges[j].down, keeperIntent{generation, is})
			}
			told = next
		}
		check := func(what string) {
			announcing := 0
			for i := range edges {
				if edges[i].announces() {
					announcing++
				}
			}
			if announcing < least {
				t.Fatalf("%s: %d of %d announce, %d must; told %v", what, announcing, n, least, told)
			}
		}
		report := func(i int) {
			e := &edges[i]
			e.up = append(e.up, keeperReport{e.healthy, e.announces(), e.has})
		}
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			i := rapid.IntRange(0, n-1).Draw(t, "edge")
			what := rapid.SampledFrom([]string{"fail", "fail", "mend", "take", "take", "take", "hear", "hear", "fail all", "report"}).Draw(t, "what")
			switch what {
			case "fail", "mend":
				edges[i].healthy = what == "mend"
				report(i)
			case "fail all":
				for j := range edges {
					edges[j].healthy = false
					report(j)
				}
			case "report":
				report(i)
			case "take":
				take(i)
			case "hear":
				if len(edges[i].down) > 0 {
					m := edges[i].down[0]
					edges[i].down = edges[i].down[1:]
					edges[i].kept, edges[i].has = m.keep, m.generation
					report(i)
				}
			}
			check(what)
		}
		if len(told) > n {
			t.Fatal("more told than there are")
		}
	})
}

func TestOneFailureAmongManyIsLetGo(t *testing.T) {
	f := alike(20, 0, Limits{MinAnnouncing: 2})
	told := Keep(f, "video", nil, nil)
	confirm(f, told)
	for i := range 18 { // one after the other, each replaced in turn
		name := fmt.Sprintf("n%02d", i)
		f.stand(name, func(s *Standing) { s.Healthy = false })
		told = Keep(f, "video", told, nil)
		confirm(f, told)
		told = Keep(f, "video", told, nil)
		confirm(f, told)
		if slices.Contains(told, name) || len(told) != 2 {
			t.Fatalf("%s fails alone and is kept: %v", name, told)
		}
		f.stand(name, func(s *Standing) { s.Announcing = false })
	}
	f.stand("n18", func(s *Standing) { s.Healthy = false })
	f.stand("n19", func(s *Standing) { s.Healthy = false })
	if told = Keep(f, "video", told, nil); !slices.Equal(slices.Sorted(slices.Values(told)), []string{"n18", "n19"}) {
		t.Errorf("the last two stay: %v", told)
	}
}
