package policy

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

// cisco counts as Cisco's routers do, without exploration.
var cisco = flap.Config{Profiles: []flap.Profile{flap.Cisco()}, Margin: 0.1}

// charged is a node in service whose ledger counts by cisco.
func charged() *driver {
	p := &driver{c: loadNode("a")}
	p.c.Load.Flap = cisco
	p.at(0, nil, session(true, 0))
	return p
}

func session(up bool, losses uint64) func(*Input) {
	return func(in *Input) { in.Sessions = map[string]Session{"a": {Up: up, Losses: losses}} }
}

func health(hard Verdict) func(*Input) {
	return func(in *Input) { in.Health = map[string]Health{"video": {Hard: hard, Soft: Up, HardDetail: "web"}} }
}

func word(verb Verb, drained time.Duration) func(*Input) {
	return func(in *Input) {
		in.Overrides = []Override{{Service: "video", Verb: verb, Reason: "x", Since: t0, WithdrawAt: at(drained)}}
	}
}

func pinned(rung int) func(*Input) {
	return func(in *Input) { in.Pins = []Pin{{Neighbor: "a", Rung: rung, Reason: "x", Since: t0}} }
}

func TestWhateverOthersSeeIsCharged(t *testing.T) {
	type step struct {
		after time.Duration
		shape func(*Input)
		want  float64 // the penalty, of Cisco's points; all within a second or so
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"the first announcement is free", []step{{1, session(true, 0), 0}}},
		{"a hard failure, and the return", []step{{1, health(Down), 1000}, {2, health(Down), 1000}, {3, health(Up), 1000}}},
		{"a rung, and another", []step{{1, pinned(1), 500}, {2, pinned(1), 500}, {3, pinned(2), 1000}, {4, pinned(0), 1500}}},
		{"beyond the budget, for an operator", []step{{1, pinned(1), 500}, {2, pinned(2), 1000}, {3, pinned(3), 1500}, {4, pinned(1), 2000}, {5, pinned(0), 2500}}},
		{"a drain counts as a withdrawal, and its end as another", []step{{1, word(Drain, 3*time.Second), 1000}, {4, word(Drain, 3*time.Second), 2000}}},
		{"a session that is lost", []step{{1, session(false, 1), 1000}, {2, session(false, 1), 1000}, {3, session(true, 1), 1000}}},
		{"one lost and back between two looks", []step{{1, session(true, 3), 3000}}},
	} {
		p := charged()
		for _, s := range tt.steps {
			d := p.at(s.after*time.Second, nil, session(true, 0), s.shape)
			if got := d.Climbers[0].Penalty; math.Abs(got-s.want) > 10 {
				t.Errorf("%s, after %d s: %.0f, want %.0f", tt.name, s.after, got, s.want)
			}
		}
	}
}

func TestReturnsAreChargedWhereRoutersDo(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.c.Load.Flap = flap.Config{Profiles: []flap.Profile{flap.Juniper()}}
	p.at(0, nil, session(true, 0))
	for i, tt := range []struct {
		shape func(*Input)
		want  float64
	}{
		{session(false, 1), 1000}, {session(false, 1), 1000}, {session(true, 1), 2000},
		{session(false, 3), 5000}, {session(true, 3), 6000}, {session(true, 3), 6000},
	} {
		d := p.at(time.Duration(i+1)*time.Second, nil, tt.shape)
		if got := d.Climbers[0].Penalty; math.Abs(got-tt.want) > 50 {
			t.Errorf("step %d: %.0f, want %.0f", i, got, tt.want)
		}
	}
}

func TestALostSessionOfAWithdrawnServiceCostsNothing(t *testing.T) {
	p := charged()
	p.at(time.Second, nil, session(true, 0), health(Down))
	if d := p.at(2*time.Second, nil, session(false, 1), func(in *Input) { health(Down)(in) }); math.Abs(d.Climbers[0].Penalty-1000) > 5 {
		t.Errorf("%.0f", d.Climbers[0].Penalty)
	}
}

func TestARungIsChargedForWhatItTouches(t *testing.T) {
	c := climbing()
	c.Load.Flap = cisco
	c.Load.Climbers = c.Load.Climbers[:1]
	p := &driver{c: c}
	p.at(0, nil)
	p.at(time.Second, nil, pinned(1))
	penalties := func() (out []float64) {
		for _, prefix := range []netip.Prefix{prefixA, prefixB, prefix6} {
			out = append(out, math.Round(p.s.Load.Ledger.Penalty(cisco, flap.Key{ASN: 65001, Prefix: prefix}, at(4*time.Second))/100)*100)
		}
		return out
	}
	for _, tt := range []struct {
		rung int
		want [3]float64
	}{
		{1, [3]float64{500, 0, 0}}, {2, [3]float64{1000, 500, 500}}, {3, [3]float64{1000, 500, 1500}},
		{2, [3]float64{1000, 500, 1500}}, {4, [3]float64{2000, 1500, 2500}},
	} {
		p.at(2*time.Second, nil, pinned(tt.rung))
		if got := penalties(); [3]float64(got) != tt.want {
			t.Errorf("on rung %d: %v, want %v", tt.rung, got, tt.want)
		}
	}
}

func TestRungsThatMakeOthersWithdrawCostAWithdrawal(t *testing.T) {
	p := charged()
	p.c.Load.Climbers[0].Rungs = []Rung{{Sheds: 0.5, Leave: true}}
	p.c.Load.AllowWithdraw = true
	p.hold(0, 25*time.Second, one(1.2), session(true, 0))
	if d := p.d; p.rung("a") != 1 || math.Abs(d.Climbers[0].Penalty-1000) > 10 {
		t.Errorf("%+v", d.Climbers[0])
	}
}

func TestAnotherNeighborOrderFindsItsOwnMemory(t *testing.T) {
	p := &driver{c: loadNode("a", "b")}
	p.hold(0, 25*time.Second, map[string]float64{"a": 0.95, "b": 0.3})
	if p.rung("a") != 1 {
		t.Fatalf("a on rung %d", p.rung("a"))
	}
	before := p.s.Load.Ledger.Penalty(p.c.Load.Flap, flap.Key{ASN: 65001, Prefix: prefixA}, at(26*time.Second))
	c := loadNode("b", "a")
	c.Load.Climbers[0].ASN, c.Load.Climbers[1].ASN = 65002, 65001
	c.Load.Climbers[0], c.Load.Climbers[1] = c.Load.Climbers[1], c.Load.Climbers[0]
	c.Load.Links[0], c.Load.Links[1] = c.Load.Links[1], c.Load.Links[0]
	p.c = c
	d := p.at(26*time.Second, map[string]float64{"a": 0.8, "b": 0.3})
	if p.rung("a") != 1 || p.rung("b") != 0 || d.Climbers[0].Penalty != before || d.Services[0].Neighbors[1].Rung != 1 {
		t.Errorf("%+v", d)
	}
}

func TestAReturnFromAWithdrawRungIsAReadvertisement(t *testing.T) {
	p := charged()
	p.c.Load.Climbers[0].Rungs = []Rung{{Withdraw: true}}
	p.c.Load.AllowWithdraw = true
	p.hold(0, 25*time.Second, one(1.2), session(true, 0))
	if d := p.d; p.rung("a") != 1 || d.Services[0].Severity != Withdrawn || d.Services[0].Reason != Load {
		t.Fatalf("%+v", p.d.Climbers[0])
	}
	was := p.d.Climbers[0].Penalty
	p.hold(26*time.Second, 30*time.Minute, one(0), session(true, 0))
	if p.rung("a") != 0 || p.d.Climbers[0].Penalty > was {
		t.Errorf("%+v", p.d.Climbers[0])
	}
}
