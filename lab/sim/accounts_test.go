package sim

import (
	"os/exec"
	"testing"
)

const seeds = 30

// apart runs a test in a process without the race detector, and says whether it
// has: many seeds take minutes under it, and find no race that a few do not.
func apart(t *testing.T) bool {
	t.Helper()
	if !raced {
		return false
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^"+t.Name()+"$", ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", cmd, err, out)
	}
	return true
}

// compared plays a scenario over all seeds.
func compared(t *testing.T, sc *Scenario, controllers ...string) Result {
	t.Helper()
	alone := *sc
	alone.Variants = nil
	r, err := Compare(t.Context(), &alone, Options{Seeds: seeds, Controllers: controllers, NoOracle: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func variant(t *testing.T, sc *Scenario, name string) *Scenario {
	t.Helper()
	for _, v := range sc.Variants {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("there is no variant %s", name)
	return nil
}

// TestTheWorldcupsAccount: servers that shed by a curve of the load, known once in
// a minute and a minute late, swung in antiphase; damping calmed them.
func TestTheWorldcupsAccount(t *testing.T) {
	if apart(t) {
		return
	}
	sc := load(t, "worldcup")
	r := compared(t, sc, "curve", "damped", "pi")
	curve, damped, pi := r.Controllers["curve"], r.Controllers["damped"], r.Controllers["pi"]
	if curve[PeakToPeak].Median < 0.30 || curve[Antiphase].Median > -0.5 {
		t.Errorf("curve swings by %.2f with a correlation of %.2f; want over 0.30 and below -0.5", curve[PeakToPeak].Median, curve[Antiphase].Median)
	}
	if got, most := damped[PeakToPeak].Median, curve[PeakToPeak].Median/3; got > most {
		t.Errorf("damped swings by %.2f; want at most a third of the curve's, %.2f", got, most)
	}
	if pi[SettledError].Worst > 0.03 || pi[SettledHighSeconds].Worst > 0 {
		t.Errorf("pi is up to %.3f from its target, and over 0.95 for %.0f s; want 0.03 and 0", pi[SettledError].Worst, pi[SettledHighSeconds].Worst)
	}
	fast := *sc
	fast.Metrics.Period, fast.Metrics.Delay = sc.Metrics.Period/6, 0
	if got := compared(t, &fast, "curve").Controllers["curve"]; got[PeakToPeak].Median > 0.1 {
		t.Errorf("with figures of ten seconds curve swings by %.2f; want calm", got[PeakToPeak].Median)
	}
	gentle := *sc
	gentle.Load.Drop = gentle.Load.Drop[:0:0]
	gentle.Load.Drop = append(gentle.Load.Drop, struct{ Load, Share float64 }{0, 0})
	if got := compared(t, &gentle, "curve").Controllers["curve"]; got[PeakToPeak].Median > curve[PeakToPeak].Median/3 {
		t.Errorf("without drop curve swings by %.2f; want little", got[PeakToPeak].Median)
	}
}

// TestTheReservesAccount: a main group that sends everything to the reserve while
// its load, polled every 300 s, is over a threshold buries the reserve.
func TestTheReservesAccount(t *testing.T) {
	if apart(t) {
		return
	}
	sc := load(t, "reserve-avalanche")
	for _, tc := range []struct {
		sc         *Scenario
		overloaded bool
	}{
		{sc, true},
		{variant(t, sc, "poll-300s-sticky"), true},
		{variant(t, sc, "poll-30s"), true},
		{variant(t, sc, "poll-30s-sticky"), false},
	} {
		got := compared(t, tc.sc, "curve").Controllers["curve"]
		if tc.overloaded && (got[SecondaryOverloads].Median < 1 || got[OverloadSeconds].Median < 60) {
			t.Errorf("%s: the reserve was overloaded %.0f times, for %.0f s in all", tc.sc.Name, got[SecondaryOverloads].Median, got[OverloadSeconds].Median)
		}
		if !tc.overloaded && (got[SecondaryOverloads].Worst > 0 || got[OverloadSeconds].Worst > 0) {
			t.Errorf("%s: the reserve was overloaded %.0f times, for %.0f s in all; want never", tc.sc.Name, got[SecondaryOverloads].Worst, got[OverloadSeconds].Worst)
		}
	}
}

// TestALostNodeMovesNobodyElse: the sessions that break are those of the lost
// site's clients, there and back.
func TestALostNodeMovesNobodyElse(t *testing.T) {
	if apart(t) {
		return
	}
	sc := load(t, "node-loss")
	got := compared(t, sc, "none").Controllers["none"]
	// A sixth of 660 Gbit/s at 5 Mbit/s, twice; ties spread the site's clients.
	clients := 2 * 110e9 / sc.Sessions.Bitrate
	if got[SessionsBroken].Worst > clients*1.15 || got[SessionsBroken].Median < clients*0.85 {
		t.Errorf("%.0f sessions broke, at worst %.0f; the site has %.0f, and loses them twice", got[SessionsBroken].Median, got[SessionsBroken].Worst, clients/2)
	}
}
