package edge

import (
	"fmt"
	"testing"

	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/policy"
)

// With 200 neighbours and 100 services a decision for each result took the node
// minutes to announce all, and seconds to answer.
func TestResultsThatWaitAreTakenInTogether(t *testing.T) {
	e := &Edge{checks: newChecks(), news: newBroadcast()}
	result := func(service string, up bool) checkResult {
		key := checkKey{service, "web"}
		ck := e.checks.run[key]
		if ck == nil {
			ck = &check{}
			e.checks.run[key] = ck
		}
		return checkResult{key, ck, healthcheck.Status{Decided: true, Up: up}}
	}
	for i := range 20 {
		e.checks.results <- result(fmt.Sprint("s", i), true)
	}
	e.checks.results <- result("s7", false) // changed above: needs a decision of its own
	e.checks.results <- result("s8", true)
	if trigger, decide := e.takeResults(<-e.checks.results); !decide || trigger != "check web of s0" || e.triggers["s7"] != "check web of s7" {
		t.Errorf("trigger %q, %q", trigger, e.triggers)
	}
	for i := range 20 {
		if !e.checks.run[checkKey{fmt.Sprint("s", i), "web"}].status.Up {
			t.Errorf("s%d is not up after the first decision", i)
		}
	}
	r, ok := e.checks.next()
	if !ok {
		t.Fatal("the second change of s7 is lost")
	}
	if trigger, decide := e.takeResults(r); !decide || trigger != "check web of s7" || e.checks.run[r.key].status.Up {
		t.Errorf("trigger %q", trigger)
	}
	if _, ok := e.checks.next(); ok || len(e.checks.results) > 0 {
		t.Error("a result is left")
	}
}

func TestRoutesAreRenderedAnewWhenTheyChange(t *testing.T) {
	w := newWorld(t)
	e := &Edge{cfg: w.config()}
	d := func(s policy.Severity) policy.Decision {
		return policy.Decision{Services: []policy.ServiceDecision{{Name: "video", Neighbors: []policy.NeighborDecision{
			{Name: e.cfg.Neighbors[0].Name, IPv4: policy.Cause{Severity: s, Detail: fmt.Sprint(s)}}}}}}
	}
	name := e.cfg.Neighbors[0].Name
	first := e.routes(d(policy.Announced))[name]
	if len(first) == 0 || !sameSlice(first, e.routes(d(policy.Announced))[name]) {
		t.Errorf("rendered twice, or not at all: %v", first)
	}
	if again := e.routes(d(policy.Draining))[name]; again[0].Equal(first[0]) {
		t.Errorf("a drain changes nothing: %v", again)
	}
	changed := *e.cfg
	e.cfg = &changed
	if again := e.routes(d(policy.Draining))[name]; len(again) == 0 || e.rendered.config != &changed {
		t.Error("another configuration was not rendered")
	}
}
