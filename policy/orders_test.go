package policy

import (
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

// ordered decides in a node where all was well before.
func ordered(t *testing.T, in Input) (State, Decision) {
	t.Helper()
	return Next(node(), inService(t), in)
}

func TestWindowsAreCausesByPhaseAndLeave(t *testing.T) {
	for _, tt := range []struct {
		name string
		w    Window
		hard Verdict
		want Cause
	}{
		{"drains", Window{}, Up, Cause{Draining, Maintenance, "w1"}},
		{"drains with leave", Window{Leave: true}, Up, Cause{Draining, Maintenance, "w1"}},
		{"over with leave", Window{Over: true, Leave: true}, Up, Cause{Withdrawn, Maintenance, "w1"}},
		{"over without leave", Window{Over: true}, Up, Cause{Steered, Maintenance, "w1"}},
		{"over, and the answer to come", Window{Over: true, Asked: true}, Up, Cause{Draining, Maintenance, "w1"}},
		{"a dead service is withdrawn whatever the window", Window{Over: true}, Down, Cause{Withdrawn, HardFailure, "web: refused"}},
	} {
		in := with(at(time.Second), tt.hard, Up)
		tt.w.Service, tt.w.Neighbor, tt.w.Detail = "video", "a", "w1"
		in.Orders.Windows = []Window{tt.w, {Service: "dns", Neighbor: "a", Over: true, Leave: true}}
		_, d := ordered(t, in)
		if got := d.Services[0].Neighbors[0].IPv4; got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		if got := d.Services[0].Neighbors[1].IPv4; tt.hard == Up && got.Severity != Announced {
			t.Errorf("%s: at the other neighbour %v", tt.name, got)
		}
	}
}

func TestAnAnnounceDoesNotOverrideMaintenance(t *testing.T) {
	in := healthy(at(time.Second))
	in.Overrides = []Override{{Service: "video", Verb: Announce, Reason: "r", EvenIfDead: true}}
	in.Orders.Windows = []Window{{Service: "video", Neighbor: "a", Over: true, Leave: true, Detail: "w1"}}
	_, d := ordered(t, in)
	if got := d.Services[0].Neighbors[0].IPv4; got != (Cause{Withdrawn, Maintenance, "w1"}) {
		t.Errorf("%v", got)
	}
}

func TestFleetLimits(t *testing.T) {
	kept := "kept announced, since too few others announce it: web: refused"
	for _, tt := range []struct {
		name       string
		hard, soft Verdict
		orders     Orders
		want       Cause
	}{
		{"kept in a hard failure", Down, Up, Orders{Keep: []string{"video"}}, Cause{Steered, FleetLimit, kept}},
		{"another service is kept", Down, Up, Orders{Keep: []string{"dns"}}, Cause{Withdrawn, HardFailure, "web: refused"}},
		{"what was not checked is not kept", Unknown, Up, Orders{Keep: []string{"video"}}, Cause{Withdrawn, HardFailure, "web: refused"}},
		{"a soft failure with leave", Up, Down, Orders{Leave: []string{"video"}}, Cause{Withdrawn, SoftFailure, "origin: slow"}},
		{"a soft failure without", Up, Down, Orders{}, Cause{Steered, SoftFailure, "origin: slow"}},
		{"a soft failure that is refused", Up, Down, Orders{Refused: []Refusal{{"dns", "no"}, {"video", "2 must announce"}}},
			Cause{Steered, FleetLimit, "origin: slow; not withdrawn: 2 must announce"}},
		{"frozen: no new soft failure", Up, Down, Orders{Frozen: true}, Cause{Announced, Normal, ""}},
		{"frozen: hard failures withdraw", Down, Up, Orders{Frozen: true}, Cause{Withdrawn, HardFailure, "web: refused"}},
		{"a turn does not withdraw", Up, Up, Orders{Turns: []Turn{{"video", at(time.Hour)}}}, Cause{Announced, Normal, ""}},
	} {
		in := with(at(time.Second), tt.hard, tt.soft)
		in.Orders = tt.orders
		if _, d := ordered(t, in); d.Services[0].Cause != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, d.Services[0].Cause, tt.want)
		}
	}
}

func TestWhatIsAwayReturnsInItsTurn(t *testing.T) {
	in := healthy(t0)
	in.Orders.Turns = []Turn{{"video", at(time.Minute)}}
	s, d := Next(node(), State{}, in)
	if got := d.Services[0].Cause; got.Severity != Withdrawn || got.Reason != FleetLimit || !d.Wake.Equal(at(time.Minute)) {
		t.Errorf("%v, wake %v", got, d.Wake)
	}
	in.Now = at(time.Minute)
	if _, d = Next(node(), s, in); d.Services[0].Severity != Announced {
		t.Errorf("%v", d.Services[0].Cause)
	}
}

func TestSoftFailuresStayAsTheyAreInAFreeze(t *testing.T) {
	s, _ := ordered(t, with(at(time.Second), Up, Down))
	in := with(at(time.Hour), Up, Up)
	in.Orders.Frozen = true
	s, d := Next(node(), s, in)
	if d.Services[0].Severity != Steered {
		t.Errorf("%v", d.Services[0].Cause)
	}
	in.Orders.Frozen = false
	s, _ = Next(node(), s, in)
	in.Now = at(2 * time.Hour)
	if _, d = Next(node(), s, in); d.Services[0].Severity != Announced {
		t.Errorf("%v", d.Services[0].Cause)
	}
}

func TestARungThatNeedsLeaveIsTakenAndKeptWithLeaveOnly(t *testing.T) {
	p := &driver{c: loadNode("a")}
	c := &p.c.Load.Climbers[0]
	c.Rungs = []Rung{{Withdraw: true, Sheds: 1}}
	p.c.Load.Flap = flap.Config{}
	orders := Orders{}
	ordered := func(in *Input) { in.Orders = orders }
	p.hold(0, 2*time.Minute, one(1.5), ordered)
	if p.rung("a") != 0 || p.d.Climbers[0].Restraint.Hindrance != NeedsGrant {
		t.Errorf("without leave: %+v", p.d.Climbers[0])
	}
	orders.Ascend = []string{"a"}
	p.hold(2*time.Minute, 4*time.Minute, one(1.5), ordered)
	if p.rung("a") != 1 {
		t.Errorf("with leave: %+v", p.d.Climbers[0])
	}
	orders.Ascend = nil
	p.at(4*time.Minute+time.Second, one(0.8), ordered)
	if p.rung("a") != 0 {
		t.Errorf("leave is over: %+v", p.d.Climbers[0])
	}
}

func TestATagIsChargedWhereSomethingIsAnnounced(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.hold(0, 5*time.Second, one(0.3))
	was := p.s.Load.Ledger
	s := p.s.Retold(p.c, p.d, at(5*time.Second))
	key := flap.Key{ASN: p.c.Load.Climbers[0].ASN, Prefix: p.c.Services[0].Prefixes[0]}
	before, after := was.Penalty(p.c.Load.Flap, key, at(5*time.Second)), s.Load.Ledger.Penalty(p.c.Load.Flap, key, at(5*time.Second))
	if after <= before {
		t.Errorf("from %.0f to %.0f", before, after)
	}
	in := healthy(at(6 * time.Second))
	in.Overrides = []Override{{Service: p.c.Services[0].Name, Verb: Withdraw, Reason: "r"}}
	s2, d := Next(p.c, p.s, in)
	if got := s2.Retold(p.c, d, in.Now).Load.Ledger.Penalty(p.c.Load.Flap, key, in.Now); got != s2.Load.Ledger.Penalty(p.c.Load.Flap, key, in.Now) {
		t.Error("what is withdrawn was charged")
	}
}
