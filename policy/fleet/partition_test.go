package fleet

import (
	"flag"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// schedules is how many the property test tries.
const schedules = 10_000

// plan is a fleet and what happens to it.
type plan struct {
	caps   []int
	limits Limits
	steps  []uint32
}

func plans() *rapid.Generator[plan] {
	return rapid.Custom(func(t *rapid.T) plan {
		caps := rapid.SliceOfN(rapid.SampledFrom([]int{0, 10, 10, 10, 40}), 2, 6).Draw(t, "capacities")
		return plan{
			caps: caps,
			limits: Limits{MinAnnouncing: rapid.IntRange(1, len(caps)-1).Draw(t, "min_announcing"),
				MaxWithdrawn: rapid.SampledFrom([]float64{0, 0.34, 0.5, 0.8}).Draw(t, "max_withdrawn")},
			steps: rapid.SliceOfN(rapid.Uint32(), 50, 80).Draw(t, "steps"),
		}
	})
}

func TestGrantsUnderPartition(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value
	was := checks.String()
	if err := checks.Set(strconv.Itoa(schedules)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Set(was) })
	tried := map[string]int{}
	ran := 0
	rapid.Check(t, func(t *rapid.T) {
		ran++
		p := plans().Draw(t, "plan")
		w := newWorld(p, rules{})
		if err := w.run(p.steps); err != nil {
			t.Fatal(err)
		}
		for what, n := range w.tried {
			tried[what] += n
		}
	})
	for _, what := range []string{"granted", "refused", "withdrew", "freed", "lease ran out", "restarted while away",
		"lost a race", "centre without store", "revoked", "late report"} {
		if tried[what] < schedules/100 {
			t.Errorf("%q was hardly tried: %v", what, tried)
		}
	}
	if ran < schedules {
		t.Errorf("only %d schedules", ran)
	}
	t.Logf("%d schedules: %v", ran, tried)
}

// TestTheModelFindsBrokenCentres shows that the property can fail.
func TestTheModelFindsBrokenCentres(t *testing.T) {
	for name, broken := range map[string]rules{
		"a lease that ran out frees at the centre": {freesOnSilence: true},
		"old reports are believed":                 {anyOrder: true},
		"an offer that is not in use is free":      {freesOffers: true},
		"no fence":                                 {noFence: true},
	} {
		t.Run(name, func(t *testing.T) {
			gen := plans()
			for seed := range 5000 {
				p := gen.Example(seed)
				if newWorld(p, broken).run(p.steps) != nil {
					return
				}
			}
			t.Error("no schedule showed it")
		})
	}
}
