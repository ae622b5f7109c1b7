package edge

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/policy"
)

// group is a service with checks given by a letter each: U up, D down, ? without
// a verdict, o only observing; small letters are soft.
func group(states string, require healthcheck.Require) (*checks, config.Service) {
	cs, svc := newChecks(), config.Service{Name: "video", Require: require}
	for i, r := range states {
		hc := healthcheck.Check{Name: fmt.Sprint("c", i), Soft: strings.ContainsRune("ud", r)}
		ck := &check{config: hc, observing: r == 'o'}
		switch r {
		case 'U', 'u':
			ck.status = healthcheck.Status{Up: true, Decided: true}
		case 'D', 'd':
			ck.status = healthcheck.Status{Decided: true, Error: "refused"}
		}
		svc.Checks = append(svc.Checks, hc)
		cs.run[checkKey{"video", hc.Name}] = ck
	}
	return cs, svc
}

func TestGroupsOfChecks(t *testing.T) {
	all, anyOf := healthcheck.Require{}, healthcheck.Require{Mode: healthcheck.RequireAny}
	two := healthcheck.Require{Mode: healthcheck.RequireAtLeast, N: 2}
	half := healthcheck.Require{Mode: healthcheck.RequirePercent, N: 50}
	const (
		up, down, unknown = policy.Up, policy.Down, policy.Unknown
	)
	for _, tt := range []struct {
		states     string
		require    healthcheck.Require
		hard, soft policy.Verdict
		detail     string // of the hard ones
	}{
		{"", all, up, up, ""},
		{"U", all, up, up, ""},
		{"D", all, down, up, "c0: refused"},
		{"?", all, unknown, up, ""},
		{"UD?", all, down, up, "c1: refused"},
		{"DUD", all, down, up, "c0: refused; c2: refused"},
		{"UD", anyOf, up, up, ""},
		{"D?", anyOf, unknown, up, "c0: refused"},
		{"DD", anyOf, down, up, "c0: refused; c1: refused"},
		{"UUD", two, up, up, ""},
		{"U?D", two, unknown, up, "c2: refused"},
		{"UDD", two, down, up, "c1: refused; c2: refused"},
		{"U", two, up, up, ""}, // never more than there are
		{"UUd", two, up, down, ""},
		{"UD", half, up, up, ""},
		{"UDD", half, down, up, "c1: refused; c2: refused"},
		{"Ud", all, up, down, ""},
		{"Du", all, down, up, "c0: refused"},
		{"uud", anyOf, up, up, ""},
		{"Uo", all, up, up, ""}, // one that observes does not count
		{"Do", anyOf, down, up, "c0: refused"},
		{"UDo", two, down, up, "c1: refused"},
	} {
		cs, svc := group(tt.states, tt.require)
		got := cs.health(svc, nil)
		if got.Hard != tt.hard || got.Soft != tt.soft || got.HardDetail != tt.detail {
			t.Errorf("%q, %v: %v, want %v %v %q", tt.states, tt.require, got, tt.hard, tt.soft, tt.detail)
		}
	}
}

func TestWhatOnlyTimesAProbeIsNotItsTarget(t *testing.T) {
	a := healthcheck.Check{Name: "web", HTTP: &healthcheck.HTTP{URL: "http://a/"}, Interval: 1, Rise: 2, Timeout: 5}
	for name, tt := range map[string]struct {
		change func(c *healthcheck.Check)
		same   bool
	}{
		"times":   {func(c *healthcheck.Check) { c.Interval, c.FastInterval, c.Jitter, c.RestartGrace = 7, 7, 0.3, 7 }, true},
		"counts":  {func(c *healthcheck.Check) { c.Rise, c.Fall, c.Watch = 7, 7, true }, true},
		"URL":     {func(c *healthcheck.Check) { c.HTTP = &healthcheck.HTTP{URL: "http://b/"} }, false},
		"kind":    {func(c *healthcheck.Check) { c.HTTP, c.TCP = nil, &healthcheck.TCP{Address: "a:80"} }, false},
		"timeout": {func(c *healthcheck.Check) { c.Timeout = 1 }, false}, // it can be too short to ever pass
		"scope":   {func(c *healthcheck.Check) { c.Soft = true }, false},
	} {
		b := a
		tt.change(&b)
		if got := sameTarget(a, b); got != tt.same {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// renamed is a check of the service by another name.
var renamed = []string{"name: web", "name: site"}

func TestANewCheckOnlyObservesUntilItHasPassed(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.reload(web, web+"\n      - {name: deep, http: {url: \"http://198.51.100.1:8080/deep\"}}")
		w.report("deep", "404")
		w.pass(time.Minute)
		w.expect("ix", ix4, ix6)
		if got := w.snapshot().Checks["video"][1]; got.Name != "deep" || !got.Observing || got.Up {
			t.Errorf("%+v", got)
		}
		w.report("deep", "")
		w.rest()
		if w.snapshot().Checks["video"][1].Observing {
			t.Error("it has passed and still only observes")
		}
		w.report("deep", "500")
		w.rest()
		w.expect("ix")
		w.expectState("video", "withdrawn hard_failure deep: 500")
	})
}

func TestAReloadThatReplacesAllChecksOfADeadServiceDoesNotAnnounceIt(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.report("web", "refused")
		w.rest()
		n := w.journal.len()
		if _, _, err := w.node.Plan(context.Background(), w.config(renamed...)); err != nil {
			t.Fatal(err)
		}
		w.reload(renamed...)
		w.pass(time.Minute)
		w.report("site", "refused")
		w.pass(time.Minute)
		if got := w.journal.since(n, "tell"); got != nil {
			t.Errorf("%q", got)
		}
		w.expectState("video", "withdrawn hard_failure web: refused")
		w.report("site", "")
		w.pass(10 * time.Second)
		w.expect("ix", ix4, ix6)
	})
}

func TestAReloadThatReplacesAllChecksKeepsAHealthyServiceAnnounced(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		w.reload(renamed...)
		w.report("site", "404")
		w.pass(time.Minute)
		if got := w.journal.since(n, "tell"); got != nil {
			t.Errorf("%q", got)
		}
		w.reload("name: web", "name: other") // once more, while nothing counts
		w.pass(time.Minute)
		w.expect("ix", ix4, ix6)
	})
}

// slower is the base configuration's check at other times.
var slower = []string{web, `{name: web, http: {url: "http://198.51.100.1:8080/health"}, interval: 5s, timeout: 500ms}`}

func TestACheckAtOtherTimesKeepsItsVerdictAndCounts(t *testing.T) {
	for name, fault := range map[string]string{"up": "", "down": "refused"} {
		t.Run(name, func(t *testing.T) {
			up(t, func(t *testing.T, w *world) {
				w.report("web", fault)
				w.rest()
				n := w.journal.len()
				w.reload(slower...)
				w.probe("web", healthcheck.Status{Error: "first try"}) // no verdict yet
				w.pass(time.Second)
				if got := w.journal.since(n, "tell"); got != nil {
					t.Errorf("%q", got)
				}
				if got := w.snapshot().Checks["video"][0]; got.Observing || got.Up != (fault == "") || !got.Decided || got.Error != "first try" {
					t.Errorf("%+v", got)
				}
				w.report("web", "refused")
				w.rest()
				w.expect("ix")
				w.report("web", "")
				w.pass(10 * time.Second)
				w.expect("ix", ix4, ix6)
			})
		})
	}
}

func TestACheckThatCannotRunIsAFailure(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		o := w.options()
		o.Checks = nil // the real ones
		c := w.config()
		c.Services[0].Checks[0].Rise = 0
		c.Services[0].Checks = c.Services[0].Checks[:1]
		c.Services[1].Checks = nil
		node, err := New(c, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		w.adopt(node)
		w.pass(time.Second)
		if got := w.state("video"); !strings.Contains(got, "withdrawn hard_failure web: rise: ") {
			t.Errorf("%q", got)
		}
	})
}

func TestReportsOfAStoppedCheckDoNotCount(t *testing.T) {
	cs, _ := group("U", healthcheck.Require{})
	key := checkKey{"video", "c0"}
	for name, r := range map[string]checkResult{
		"of an earlier one":   {key, &check{}, healthcheck.Status{Decided: true}},
		"of one that is gone": {checkKey{"video", "gone"}, &check{}, healthcheck.Status{Decided: true}},
	} {
		if cs.take(r) != nothingNew || !cs.run[key].status.Up {
			t.Errorf("%s: it was taken in", name)
		}
	}
}

func TestResultThatChangesNothingAsksForNoDecision(t *testing.T) {
	key := checkKey{"video", "web"}
	ck := &check{observing: true}
	cs := newChecks()
	cs.run[key] = ck
	for i, step := range []struct {
		up, decided bool
		err         string
		want        taken
	}{
		{false, false, "refused", newWords},
		{false, false, "refused", nothingNew},
		{false, true, "refused", newVerdict},
		{false, true, "timeout", newWords},
		{false, true, "timeout", nothingNew},
		{true, true, "", newVerdict},
		{true, true, "", nothingNew},
		{true, true, "refused", newWords}, // fall is not reached
		{true, true, "", newWords},
	} {
		st := healthcheck.Status{Up: step.up, Decided: step.decided, Error: step.err, Last: time.Unix(int64(i), 0)}
		if got := cs.take(checkResult{key, ck, st}); got != step.want {
			t.Errorf("result %d: %d, want %d", i, got, step.want)
		}
		if ck.status.Last != st.Last {
			t.Errorf("result %d was not taken in", i)
		}
	}
	if got := cs.take(checkResult{key, &check{}, healthcheck.Status{}}); got != nothingNew || !ck.status.Up {
		t.Errorf("a result of another check: %d", got)
	}
}

func TestChecksOfANodeShareAPace(t *testing.T) {
	path := t.TempDir() // there, as the checks want it
	synctest.Test(t, func(t *testing.T) {
		cs, c := newChecks(), &config.Config{}
		for i := range 4 {
			hc := healthcheck.Check{Name: "there", File: &healthcheck.File{Path: path, Present: true},
				Interval: time.Second, Timeout: 500 * time.Millisecond, Rise: 1, Fall: 1, Jitter: 0.5}
			c.Services = append(c.Services, config.Service{Name: fmt.Sprint("s", i), Checks: []healthcheck.Check{hc}})
		}
		cs.set(t.Context(), c, nil)
		moments := map[time.Time]int{}
		for range 40 {
			r := <-cs.results
			moments[r.status.Last]++
		}
		cs.stop()
		for at, n := range moments {
			if n != 4 {
				t.Errorf("%d probes at %v, want 4 at each moment", n, at)
			}
		}
	})
}
