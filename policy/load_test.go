package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/control"
	"github.com/catchment-bgp/catchment/policy/flap"
)

// driver gives a node inputs one after the other.
type driver struct {
	c Config
	s State
	d Decision
}

// at decides at a time, with loads by link, in shares of their capacities.
func (p *driver) at(d time.Duration, loads map[string]float64, shape ...func(*Input)) Decision {
	in := healthy(at(d))
	in.Samples = map[string]Sample{}
	for l, load := range loads {
		in.Samples[l] = Sample{Load: load, At: in.Now}
	}
	for _, f := range shape {
		f(&in)
	}
	p.s, p.d = Next(p.c, p.s, in)
	return p.d
}

// hold gives the same loads each second.
func (p *driver) hold(from, to time.Duration, loads map[string]float64, shape ...func(*Input)) Decision {
	for d := from; d <= to; d += time.Second {
		p.at(d, loads, shape...)
	}
	return p.d
}

func (p *driver) rung(name string) int {
	for _, c := range p.d.Climbers {
		if c.Name == name {
			return c.Rung
		}
	}
	return -1
}

func hindrances(d Decision) string {
	var out []string
	for _, c := range d.Climbers {
		out = append(out, c.Restraint.Hindrance.String())
	}
	return strings.Join(out, " ")
}

func one(load float64) map[string]float64 { return map[string]float64{"a": load} }

func TestEveryRefusalHasItsReason(t *testing.T) {
	pin := func(in *Input) {
		in.Pins = []Pin{{Neighbor: "a", Rung: 1, Reason: "test", Until: at(time.Hour)}}
	}
	for _, tt := range []struct {
		name   string
		shape  func(c *Config)
		play   func(p *driver)
		want   string
		absorb bool
	}{
		{"off", func(c *Config) { c.Load.Control.Mode = control.Off }, func(p *driver) { p.hold(0, time.Minute, one(1.2)) }, "no_controller", false},
		{"sessions", func(c *Config) { c.Load.Control.Sessions = true }, func(p *driver) { p.hold(0, time.Minute, one(1.2)) }, "sessions", false},
		{"no ladder", func(c *Config) { c.Load.Climbers[0].Rungs = nil }, func(p *driver) { p.hold(0, time.Minute, one(1.2)) }, "no_ladder", true},
		{"no link", func(c *Config) { c.Load.Climbers[0].Link = "b" }, func(p *driver) { p.hold(0, time.Minute, one(1.2)) }, "uncontrollable", true},
		{"a link that is off", func(c *Config) { c.Load.Links[0].Off = "return: routed" }, func(p *driver) { p.hold(0, time.Minute, one(1.2)) }, "uncontrollable", true},
		{"a link that is off, and that nobody names", func(c *Config) {
			c.Load.Links[0].Off, c.Load.Climbers[0].Link = "return: routed", ""
		}, func(p *driver) { p.hold(0, time.Minute, one(1.2)) }, "uncontrollable", true},
		{"a link that is off and was full for a moment", func(c *Config) {
			c.Load.Links[0].Off, c.Load.Climbers[0].Link = "return: routed", ""
		}, func(p *driver) { p.hold(0, 15*time.Second, one(1.2)) }, "uncontrollable", false},
		{"a link that is off, and whose figures are stale", func(c *Config) { c.Load.Links[0].Off = "return: routed" },
			func(p *driver) { p.hold(0, time.Minute, one(1.2)); p.at(70*time.Second, nil) }, "uncontrollable", false},
		{"no figure", nil, func(p *driver) { p.at(0, nil) }, "no_figure", false},
		{"no capacity", func(c *Config) { c.Load.Links[0].Capacity = 0 }, func(p *driver) { p.hold(0, time.Minute, one(1.2)) }, "no_figure", false},
		{"stale", nil, func(p *driver) { p.hold(0, 10*time.Second, one(1.2)); p.at(13*time.Second, nil) }, "stale", false},
		{"content", nil, func(p *driver) { p.hold(0, time.Minute, one(0.5)) }, "content", false},
		{"gathering", nil, func(p *driver) { p.hold(0, 15*time.Second, one(0.95)) }, "gathering", false},
		{"dwelling", nil, func(p *driver) { p.hold(0, 60*time.Second, one(1.9)) }, "dwelling", false},
		{"others moved", nil, func(p *driver) {
			p.hold(0, 60*time.Second, one(1.2), func(in *Input) { in.OthersMoved = t0 })
		}, "other_mover", false},
		{"ledger", nil, func(p *driver) {
			p.s.Load.Ledger = p.s.Load.Ledger.Charge(p.c.Load.Flap, t0, flap.AttributeChange, flap.Key{ASN: 65001, Prefix: prefixA})
			p.hold(0, 30*time.Second, one(1.2))
		}, "ledger", false},
		{"needs a grant", func(c *Config) { c.Load.Climbers[0].Rungs = []Rung{{Withdraw: true}} },
			func(p *driver) { p.hold(0, 30*time.Second, one(1.2)) }, "needs_grant", true},
		{"a withdrawal that never fits", func(c *Config) {
			c.Load.Climbers[0].Rungs = []Rung{{Withdraw: true}}
			c.Load.AllowWithdraw = true
		}, func(p *driver) { p.hold(0, 30*time.Second, one(1.2)) }, "ledger", true},
		{"top rung", func(c *Config) { c.Load.Climbers[0].Rungs = []Rung{{Sheds: 0.2}} },
			func(p *driver) { p.hold(0, 150*time.Second, one(1.2)) }, "top_rung", true},
		{"still needed", nil, func(p *driver) { p.hold(0, 22*time.Second, one(1.2)); p.hold(23*time.Second, 40*time.Minute, one(0.5)) }, "still_needed", false},
		{"pinned", nil, func(p *driver) { p.hold(0, time.Minute, one(1.2), pin) }, "pinned", false},
	} {
		p := &driver{c: loadNode("a")}
		if tt.shape != nil {
			tt.shape(&p.c)
		}
		tt.play(p)
		if got := hindrances(p.d); got != tt.want || p.d.Links[0].Absorb != tt.absorb {
			t.Errorf("%s: %s, absorb %v (%v)", tt.name, got, p.d.Links[0].Absorb, p.d.Climbers[0].Restraint)
		}
		if text := p.d.Climbers[0].Restraint.String(); strings.Contains(text, "invalid") || text == "" {
			t.Errorf("%s: %q", tt.name, text)
		}
	}
}

func TestARestraintSaysItInASentence(t *testing.T) {
	for want, r := range map[string]Restraint{
		"the load asks for no other rung":                                                {},
		"pinned: circuit work (until 2026-03-29T00:30:00Z)":                              {Pinned, t0, "circuit work"},
		"what it sheds would overload another link of this node: ix":                     {WouldLand, time.Time{}, "ix"},
		"one more change could make others damp the prefix (until 2026-03-29T00:30:00Z)": {Ledger, t0, ""},
		"invalid(200)": {Hindrance: 200},
	} {
		if r.String() != want {
			t.Errorf("%q, want %q", r, want)
		}
	}
	for h := Content; h <= NotChosen; h++ {
		text, _ := h.MarshalText()
		var back Hindrance
		if err := back.UnmarshalText(text); err != nil || back != h {
			t.Errorf("%s came back as %v: %v", text, back, err)
		}
		if said := (Restraint{Hindrance: h}).String(); strings.Contains(said, "invalid") {
			t.Errorf("%v: %s", h, said)
		}
	}
}

func TestAStepUpWaitsForItsDwell(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.c.Load.Flap = flap.Config{}
	p.c.Load.Climbers[0].Rungs = []Rung{{Sheds: 0.05}, {Sheds: 0.1}, {Sheds: 0.15}}
	for _, tt := range []struct {
		load  float64
		dwell time.Duration
	}{{0.98, 120 * time.Second}, {1.2, 60 * time.Second}} {
		p.s = State{}
		p.c.Load.Control.Mode = control.Threshold // a step each time
		var moves []time.Duration
		for d := time.Duration(0); d < 6*time.Minute; d += time.Second {
			if p.at(d, one(tt.load)); p.d.Climbers[0].Moved {
				moves = append(moves, d)
			}
		}
		if len(moves) != 3 || moves[0] != 19*time.Second || moves[1]-moves[0] != tt.dwell || moves[2]-moves[1] != tt.dwell {
			t.Errorf("load %v: %v, want every %v", tt.load, moves, tt.dwell)
		}
	}
}

func TestAStepDownWaitsForItsDwellAndLowLoad(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.c.Load.Flap = flap.Config{}
	p.hold(0, 25*time.Second, one(1.2))
	first := p.rung("a")
	if first != 2 {
		t.Fatalf("on rung %d", first)
	}
	var down []time.Duration
	for d := 26 * time.Second; d < 50*time.Minute; d += time.Second {
		if p.at(d, one(0.3)); p.d.Climbers[0].Moved {
			down = append(down, d-20*time.Second)
		}
	}
	if len(down) != 2 || down[0] < 15*time.Minute || down[0] > 18*time.Minute || down[1]-down[0] < 15*time.Minute || down[1]-down[0] > 18*time.Minute {
		t.Errorf("down after %v", down)
	}
	q := &driver{c: p.c}
	q.hold(0, 25*time.Second, one(1.2))
	q.hold(26*time.Second, 30*time.Minute, one(0.5)) // 1.0 without the rung: 0.8 on the first
	if q.rung("a") != 2 {
		t.Errorf("stepped down to a predicted load over %v", low)
	}
	q.hold(30*time.Minute, 30*time.Minute+9*time.Minute+58*time.Second, one(0.3))
	if q.rung("a") != 2 {
		t.Error("stepped down before the load was low for 10 min")
	}
	if q.hold(40*time.Minute, 40*time.Minute+5*time.Second, one(0.3)); q.rung("a") != 1 {
		t.Errorf("on rung %d after 10 min of low load: %v", q.rung("a"), q.d.Climbers[0].Restraint)
	}
}

func TestNothingMovesOnStaleFigures(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.hold(0, 25*time.Second, one(1.2))
	p.hold(26*time.Second, 30*time.Minute, one(0.5))
	last := p.hold(30*time.Minute+time.Second, 30*time.Minute+time.Second, one(0.1))
	if stale := at(30*time.Minute + 4*time.Second); !last.Wake.Equal(stale) {
		t.Errorf("wake %v, want when the figure gets stale", last.Wake)
	}
	for d := 31 * time.Minute; d < 5*time.Hour; d += time.Minute {
		if p.at(d, nil); p.rung("a") != 2 || !p.d.Links[0].Stale || !p.d.Links[0].Known {
			t.Fatalf("at %v: %+v, %+v", d, p.d.Climbers[0], p.d.Links[0])
		}
	}
	p.hold(5*time.Hour, 5*time.Hour+9*time.Minute, one(0.1))
	if p.rung("a") != 2 {
		t.Error("the time without figures counted as low load")
	}
}

func TestAFigureOfTheFutureIsNone(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.at(0, nil, func(in *Input) { in.Samples["a"] = Sample{Load: 2, At: at(time.Hour)} })
	if p.d.Links[0].Known {
		t.Errorf("%+v", p.d.Links[0])
	}
}

func TestTheSmallerCapacityCounts(t *testing.T) {
	for _, tt := range []struct{ configured, live, want float64 }{{10, 0, 0.5}, {10, 5, 1}, {10, 20, 0.5}, {0, 20, 0.25}} {
		p := &driver{c: loadNode("a")}
		p.c.Load.Links[0].Capacity = tt.configured
		p.at(0, nil, func(in *Input) { in.Samples["a"] = Sample{Load: 5, Capacity: tt.live, At: in.Now} })
		if got := p.d.Links[0].Utilization; got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

func TestALowFigureForAWhileIsReportedAsGathering(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.c.Load.DwellDown = time.Minute
	p.hold(0, 25*time.Second, one(1.2))
	p.hold(26*time.Second, 5*time.Minute, one(0.1))
	if r := p.d.Climbers[0].Restraint; r.Hindrance != Gathering || !r.Until.Equal(at(10*time.Minute+26*time.Second)) {
		t.Errorf("%+v", r)
	}
}

func TestARungSurvivesARestartAndIsCharged(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.hold(0, 25*time.Second, one(1.2))
	before := p.d.Climbers[0].Penalty
	p.s = restart(t, p.s)
	d := p.at(40*time.Second, nil)
	if p.rung("a") != 2 || d.Services[0].Neighbors[0].Rung != 2 || d.Climbers[0].Restraint.Hindrance != NoFigure {
		t.Errorf("%+v", d.Climbers[0])
	}
	if d.Climbers[0].Penalty <= before {
		t.Errorf("the restart was not charged: %v, before %v", d.Climbers[0].Penalty, before)
	}
	d = p.at(41*time.Second, nil)
	if p.s.Load.Climbers[0].Since.IsZero() || d.Climbers[0].Penalty > 5000 {
		t.Errorf("charged again: %+v", d.Climbers[0])
	}
}

func TestTheClockSetBackKeepsTheDwell(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.c.Load.Flap = flap.Config{}
	p.c.Load.Control.Mode = control.Threshold
	p.hold(0, 25*time.Second, one(1.2))
	if p.rung("a") != 1 {
		t.Fatal(p.rung("a"))
	}
	p.at(-time.Hour, nil)
	if got := p.s.Load.Climbers[0].Changed; !got.Equal(at(-time.Hour)) {
		t.Errorf("changed %v", got)
	}
	// figures of a clock that was set forward do not shorten it
	q := &driver{c: p.c}
	q.hold(0, 20*time.Second, one(1.2))
	q.at(25*time.Second, nil, func(in *Input) { in.Samples["a"] = Sample{Load: 1.2, At: at(29 * time.Second)} })
	if q.rung("a") != 1 {
		t.Errorf("on rung %d", q.rung("a"))
	}
}

func TestModesOtherThanPIMoveTheLadderToo(t *testing.T) {
	for _, tt := range []struct {
		mode control.Mode
		load float64
		want int
	}{{control.Threshold, 0.9, 1}, {control.Curve, 0.9, 2}, {control.Curve, 1.0, 3}, {control.Damped, 0.9, 2}} {
		p := &driver{c: loadNode("a")}
		p.c.Load.Control = control.Default(tt.mode)
		if p.hold(0, 25*time.Second, one(tt.load)); p.rung("a") != tt.want {
			t.Errorf("mode %d at %v: rung %d, want %d", tt.mode, tt.load, p.rung("a"), tt.want)
		}
		p.hold(26*time.Second, 40*time.Minute, one(0.1))
		if p.rung("a") >= tt.want {
			t.Errorf("mode %d: still on rung %d", tt.mode, p.rung("a"))
		}
	}
}

func TestFiguresOfAMinuteSpeakForThatMinute(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.c.Load.Links[0].Period = time.Minute
	if p.at(0, one(1.2)); p.rung("a") != 2 {
		t.Errorf("on rung %d with the first figure", p.rung("a"))
	}
	p = &driver{c: loadNode("a")}
	p.c.Load.UpAfter = 5 * time.Second
	if p.hold(0, 5*time.Second, one(1.2)); p.rung("a") != 2 {
		t.Errorf("on rung %d after 5 s", p.rung("a"))
	}
}

func TestAPinFreezesTheController(t *testing.T) {
	p := &driver{c: loadNode("a")}
	pin := func(in *Input) {
		in.Pins = []Pin{{Neighbor: "a", Rung: 1, Reason: "test", Since: t0, Until: at(10 * time.Minute)}}
	}
	p.hold(0, 9*time.Minute, one(1.5), pin)
	if p.rung("a") != 1 || p.d.Climbers[0].Restraint.Word != "test" || p.s.Load.Climbers[0].Learned != nil {
		t.Errorf("%+v", p.d.Climbers[0])
	}
	p.hold(10*time.Minute, 15*time.Minute, one(1.5), pin)
	if p.rung("a") <= 1 {
		t.Errorf("after the pin on rung %d: %v", p.rung("a"), p.d.Climbers[0].Restraint)
	}
}

func TestATurnedOffControllerLeavesNoRungBehind(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.hold(0, 25*time.Second, one(1.2))
	p.c.Load.Control.Mode = control.Off
	if d := p.at(30*time.Second, one(1.2)); p.rung("a") != 0 || d.Links[0].Utilization != 1.2 {
		t.Errorf("%+v %+v", d.Climbers[0], d.Links[0])
	}
	p = &driver{c: loadNode("a")}
	p.hold(0, 25*time.Second, one(1.2))
	p.c.Load.Climbers[0].Rungs = p.c.Load.Climbers[0].Rungs[:1]
	if p.at(30*time.Second, one(1.2)); p.rung("a") != 1 {
		t.Errorf("with a shorter ladder: %+v", p.d.Climbers[0])
	}
}

func TestSessionsAreShedWithoutRungs(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.c.Load.Control.Sessions = true
	d := p.hold(0, time.Minute, one(1.0))
	if l := d.Links[0]; l.Slowdown <= 0 || l.Drop <= 0 || p.rung("a") != 0 {
		t.Errorf("%+v", l)
	}
	if d.Wake.After(at(time.Minute + 20*time.Second)) {
		t.Errorf("wake %v, want the end of the plan at the latest", d.Wake)
	}
}

func TestTopRungsAtAllNeighborsNeedAGrant(t *testing.T) {
	p := &driver{c: loadNode("a", "b")}
	loads := map[string]float64{"a": 3, "b": 3}
	p.hold(0, 25*time.Second, loads)
	if p.rung("a") != 3 || p.rung("b") != 2 {
		t.Errorf("rungs %d and %d: %s", p.rung("a"), p.rung("b"), hindrances(p.d))
	}
	p.c.Load.AllowWithdraw = true
	p.c.Load.Flap.Exploration = 1
	p.s = State{}
	if p.hold(0, 25*time.Second, loads); p.rung("a") != 3 || p.rung("b") != 3 {
		t.Errorf("with leave: rungs %d and %d", p.rung("a"), p.rung("b"))
	}
}
