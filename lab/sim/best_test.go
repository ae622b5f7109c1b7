package sim

import (
	"fmt"
	"testing"
)

// target is what the default controller shall keep to in a scenario, over all
// seeds. Where it does not yet, stands says how far it is, and the test holds it
// to that: it must not get worse, and once it is met it must be taken off here.
type target struct {
	scenario string
	figure   Figure
	most     float64 // the worst of all seeds
	stands   float64 // 0: met
}

// What misses most: a first step that proves too small, since each further one has
// to wait until the ledger allows it, and a wrong or stale figure that is acted on
// too far. In the median the targets are met, but for groups that damp.
//
// The targets of routes: few changes, nobody damps, nobody else is overloaded, all
// home within 45 minutes.
var targets = []target{
	{"flash-crowd", OverloadSeconds, 90, 500},
	{"flash-crowd", UpdatesPerHour, 4, 0},
	{"flash-crowd", WithdrawalsPerHour, 1, 0},
	{"flash-crowd", PrefixesDamped, 0, 0},
	{"flash-crowd", HomeSeconds, 45 * 60, 5500},
	{"flash-crowd", SecondaryOverloads, 0, 4},
	{"lying-prediction", UpdatesPerHour, 4, 0},
	{"lying-prediction", WithdrawalsPerHour, 1, 0},
	{"lying-prediction", HomeSeconds, 45 * 60, 5600},
	{"lying-prediction", SecondaryOverloads, 0, 5},
	{"stale-metrics", UpdatesPerHour, 4, 0},
	{"stale-metrics", WithdrawalsPerHour, 1, 0},
	{"stale-metrics", SecondaryOverloads, 0, 4},
	{"damping-upstreams", UpdatesPerHour, 4, 0},
	{"damping-upstreams", WithdrawalsPerHour, 1, 0},
	{"damping-upstreams", PrefixesDamped, 0, 1},
	{"damping-upstreams", SecondaryOverloads, 0, 5},
	{"node-loss", UpdatesPerHour, 4, 0},
	{"node-loss", WithdrawalsPerHour, 1, 0},
	{"node-loss", HomeSeconds, 45 * 60, 5400},
	{"diurnal", UpdatesPerHour, 4, 0},
	{"diurnal", WithdrawalsPerHour, 1, 0},
	{"all-hot", UpdatesPerHour, 4, 0},
	{"all-hot", WithdrawalsPerHour, 1, 0},
	{"worldcup", OverloadSeconds, 0, 0},
	{"worldcup", SettledError, 0.03, 0},
	{"worldcup", SettledHighSeconds, 0, 0},
}

func TestTheDefaultControllerKeepsToItsTargets(t *testing.T) {
	if apart(t) {
		return
	}
	results := map[string]Summaries{}
	for _, tc := range targets {
		got, done := results[tc.scenario]
		if !done {
			got = compared(t, load(t, tc.scenario), "pi").Controllers["pi"]
			results[tc.scenario] = got
		}
		what := fmt.Sprintf("%s: %s is %g, at worst %g", tc.scenario, tc.figure, got[tc.figure].Median, got[tc.figure].Worst)
		switch worst := got[tc.figure].Worst; {
		case worst <= tc.most && tc.stands > 0:
			t.Errorf("%s: the target, %g, is met; take %g off the list", what, tc.most, tc.stands)
		case worst > tc.most && worst > tc.stands:
			t.Errorf("%s; want at most %g", what, max(tc.most, tc.stands))
		}
	}
}

// TestEdgesThatTakeTurnsAreNeverDamped: with the flap ledger shared over the fleet, as
// real edges have it by the centre, nobody damps. What that costs is that a change
// waits for its turn.
func TestEdgesThatTakeTurnsAreNeverDamped(t *testing.T) {
	if apart(t) {
		return
	}
	sc := variant(t, load(t, "damping-upstreams"), "turns")
	got := compared(t, sc, "pi").Controllers["pi"]
	if got[PrefixesDamped].Worst > 0 || got[UpdatesPerHour].Worst > 4 {
		t.Errorf("prefixes damped: %g; updates per hour: %g", got[PrefixesDamped].Worst, got[UpdatesPerHour].Worst)
	}
	if free := compared(t, variant(t, load(t, "damping-upstreams"), "centre-away"), "pi").Controllers["pi"]; got[OverloadSeconds].Median >= free[OverloadSeconds].Median {
		t.Errorf("overload: %g s, and with the centre away %g s", got[OverloadSeconds].Median, free[OverloadSeconds].Median)
	}
}

// TestTheDefaultOverloadsForSecondsWhereNothingElseKeepsUp: in the median at most
// 90 s of the hour or so for which a link would be over its capacity.
func TestTheDefaultOverloadsForSecondsWhereNothingElseKeepsUp(t *testing.T) {
	if apart(t) {
		return
	}
	for _, name := range []string{"flash-crowd", "node-loss", "lying-prediction", "stale-metrics"} {
		sc := load(t, name)
		sc.Variants = nil
		r, err := Compare(t.Context(), sc, Options{Seeds: seeds, Controllers: []string{"none", "pi"}, NoOracle: true})
		if err != nil {
			t.Fatal(err)
		}
		pi, none := r.Controllers["pi"][OverloadSeconds], r.Controllers["none"][OverloadSeconds]
		if pi.Median > 90 || none.Median < 1800 {
			t.Errorf("%s: over the capacity for %.0f s, with nothing done %.0f s; want at most 90 s and more than half an hour", name, pi.Median, none.Median)
		}
	}
}

// TestNobodyDoesBetterThanTheDefault: whoever overloads less breaks more, or
// changes more than others' routers stand.
func TestNobodyDoesBetterThanTheDefault(t *testing.T) {
	if apart(t) {
		return
	}
	for _, name := range []string{"flash-crowd", "node-loss"} {
		r := compared(t, load(t, name), "none", "threshold-withdraw", "greedy", "pi")
		pi := r.Controllers["pi"]
		for _, other := range []string{"none", "threshold-withdraw", "greedy"} {
			if o := r.Controllers[other]; o[ExcessBytes].Median < pi[ExcessBytes].Median {
				t.Errorf("%s: with %s %s are too much, with pi %s", name, other, Short(o[ExcessBytes].Median), Short(pi[ExcessBytes].Median))
			}
		}
		for _, other := range []string{"threshold-withdraw", "greedy"} {
			if o := r.Controllers[other]; o[SessionsBroken].Median < pi[SessionsBroken].Median || o[UpdatesPerHour].Worst < pi[UpdatesPerHour].Worst {
				t.Errorf("%s: %s breaks %s sessions with %g updates, pi %s with %g", name, other,
					Short(o[SessionsBroken].Median), o[UpdatesPerHour].Worst, Short(pi[SessionsBroken].Median), pi[UpdatesPerHour].Worst)
			}
		}
	}
}

// worstBroken is where the worst seed stands; the target is 1.2 there, too.
const worstBroken = 1.7

// TestTheDefaultBreaksHardlyMoreSessionsThanTheOracle: at most 1.2 times as many
// in the median.
func TestTheDefaultBreaksHardlyMoreSessionsThanTheOracle(t *testing.T) {
	if apart(t) {
		return
	}
	sc := load(t, "flash-crowd")
	sc.Variants = nil
	r, err := Compare(t.Context(), sc, Options{Seeds: seeds, Controllers: []string{"pi"}})
	if err != nil {
		t.Fatal(err)
	}
	pi, oracle := r.Controllers["pi"][SessionsBroken], r.Oracle[SessionsBroken]
	if pi.Median > 1.2*oracle.Median || pi.Worst > worstBroken*oracle.Worst {
		t.Errorf("pi breaks %s sessions, at worst %s; the oracle %s and %s", Short(pi.Median), Short(pi.Worst), Short(oracle.Median), Short(oracle.Worst))
	}
	if over := r.Oracle[OverloadSeconds]; over.Worst > 0 {
		t.Errorf("with some draws no ladder suffices: the oracle overloads for up to %.0f s", over.Worst)
	}
}
