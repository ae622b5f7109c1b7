package policy

import (
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
)

// TestWithoutLeaveLoadStandsOnNoRungThatWithdraws: neither after the pin that put it there, nor after a restart with a
// configuration that no longer gives leave.
func TestWithoutLeaveLoadStandsOnNoRungThatWithdraws(t *testing.T) {
	pinned := func(in *Input) {
		in.Pins = []Pin{{Neighbor: "a", Rung: 3, Reason: "test", Until: at(2 * time.Minute), OverrideSafety: true}}
	}
	for name, top := range map[string]Rung{"withdraws": {Withdraw: true}, "others may": {Sheds: 1, Leave: true}} {
		for _, allow := range []bool{false, true} {
			p := &driver{c: loadNode("a")}
			p.c.Load.Climbers[0].Rungs[2], p.c.Load.AllowWithdraw = top, allow
			p.hold(0, time.Minute, one(0.6), pinned)
			if p.rung("a") != 3 {
				t.Fatalf("%s: pinned on 3, stands on %d", name, p.rung("a"))
			}
			want := 2
			if allow {
				want = 3
			}
			// What still crosses the link is not the neighbour's: it says nothing of a return.
			p.hold(2*time.Minute, 2*time.Minute+5*time.Second, one(0.6))
			if p.rung("a") != want {
				t.Errorf("%s, leave %v: after the pin on rung %d, want %d", name, allow, p.rung("a"), want)
			}
			p = &driver{c: p.c, s: State{Load: LoadState{Climbers: []ClimberState{{Name: "a", Rung: 7}}}}}
			p.at(0, nil)
			if p.rung("a") != want {
				t.Errorf("%s, leave %v: after a restart on rung %d, want %d", name, allow, p.rung("a"), want)
			}
		}
	}
}

// TestAPinDoesNotBecomeAWithdrawalByAnotherLadder: a rung that was a prepend when it was pinned may have the number of a
// withdrawal after a restart with another ladder.
func TestAPinDoesNotBecomeAWithdrawalByAnotherLadder(t *testing.T) {
	for _, tt := range []struct {
		name            string
		allow, override bool
		want            int
	}{
		{"no leave", false, false, 2},
		{"load has leave", true, false, 3},
		{"the operator said so", false, true, 3},
	} {
		p := &driver{c: loadNode("a")}
		p.c.Load.Climbers[0].Rungs[2], p.c.Load.AllowWithdraw = Rung{Withdraw: true}, tt.allow
		p.at(0, nil, func(in *Input) {
			in.Pins = []Pin{{Neighbor: "a", Rung: 3, Reason: "test", Since: t0, OverrideSafety: tt.override}}
		})
		if p.rung("a") != tt.want || p.d.Climbers[0].Restraint.Hindrance != Pinned {
			t.Errorf("%s: on rung %d (%v), want %d", tt.name, p.rung("a"), p.d.Climbers[0].Restraint, tt.want)
		}
	}
}

// TestLinksThatMoveTogetherTakeNoRungWithoutLeave: nor may they where that rung would make them alike.
func TestLinksThatMoveTogetherTakeNoRungWithoutLeave(t *testing.T) {
	p := &driver{c: loadNode("a", "b")}
	p.c.Load.Control.Mode = control.Curve
	p.c.Load.Climbers[0].Rungs = []Rung{{Sheds: 0.2}}
	p.c.Load.Climbers[1].Rungs = []Rung{{Sheds: 0.2, Leave: true}, {Sheds: 0.2}}
	moved := false
	for d := time.Duration(0); d < 30*time.Minute; d += time.Second {
		p.at(d, map[string]float64{"a": 2, "b": 2})
		moved = moved || p.rung("b") > 0
		if p.rung("b") == 1 {
			t.Fatalf("after %v b stands on the rung that others may withdraw for: %+v", d, p.d.Climbers[1])
		}
	}
	if !moved {
		t.Errorf("b has not moved: %v", hindrances(p.d))
	}
}
