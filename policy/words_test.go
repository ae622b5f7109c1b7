package policy

import (
	"encoding"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy/flap"
)

func TestNamesTravelAsText(t *testing.T) {
	var v Verdict
	var s Severity
	var r Reason
	for _, tt := range []struct {
		from encoding.TextMarshaler
		to   encoding.TextUnmarshaler
		is   func() bool
		text string
	}{
		{Down, &v, func() bool { return v == Down }, "down"},
		{Draining, &s, func() bool { return s == Draining }, "draining"},
		{Load, &r, func() bool { return r == Load }, "load"},
		{Reason(0), &r, func() bool { return r == 0 }, ""},
	} {
		text, err := tt.from.MarshalText()
		if string(text) != tt.text || err != nil {
			t.Errorf("%v: %q, %v", tt.from, text, err)
		}
		if err := tt.to.UnmarshalText(text); err != nil || !tt.is() {
			t.Errorf("%q came back otherwise: %v", text, err)
		}
	}
	if err := s.UnmarshalText([]byte("gone")); err == nil || err.Error() != `policy: "gone" is not a severity` || s != Draining {
		t.Errorf("%v, %v", err, s)
	}
}

func TestAReplayTellsWhatDiffers(t *testing.T) {
	c := loadNode("a")
	var s State
	var rs []Record
	for i := range 3 {
		in := healthy(at(time.Duration(i) * time.Second))
		in.Samples = map[string]Sample{"a": {Load: 0.9, At: in.Now}}
		rec := Record{Config: Digest(c), Input: in}
		s, rec.Decision = Next(c, s, in)
		rs = append(rs, rec)
	}
	if err := Replay(c, rs); err != nil {
		t.Errorf("as it was: %v", err)
	}
	changed := append([]Record{}, rs...)
	changed[1].Input.Samples = map[string]Sample{"a": {Load: 0.5, At: changed[1].Input.Now}}
	if err := Replay(c, changed); err == nil || !strings.HasPrefix(err.Error(), "policy: record 1, of 2026-03-29T00:30:01Z: decided {") {
		t.Errorf("another input: %v", err)
	}
	other := c
	other.Grace++
	if err := Replay(other, rs); err == nil || !strings.HasPrefix(err.Error(), "policy: record 0 was made under configuration ") {
		t.Errorf("another configuration: %v", err)
	}
	changed[1].Input.Samples = rs[1].Input.Samples
	changed[2].Decision.Links = []LinkDecision{{Shed: math.NaN()}}
	if err := Replay(c, changed); err == nil || !strings.HasSuffix(err.Error(), "it says json: unsupported value: NaN") {
		t.Errorf("no number: %v", err)
	}
	before := Digest(c)
	c.Load.Climbers[0].Weight = math.NaN()
	if Digest(c) == before || Digest(c) == "" {
		t.Error("a configuration that is none has no digest of its own")
	}
}

func TestMemoryKeepsEverything(t *testing.T) {
	p := &driver{c: loadNode("a", "b")}
	p.hold(0, 25*time.Second, map[string]float64{"a": 0.95, "b": 0.3})
	again := MemoryOf(p.s).State()
	if mustJSON(t, MemoryOf(again)) != mustJSON(t, MemoryOf(p.s)) {
		t.Error("the memory differs from what it is of")
	}
	in := healthy(at(26 * time.Second))
	_, want := Next(p.c, p.s, in)
	if _, got := Next(p.c, again, in); mustJSON(t, got) != mustJSON(t, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestAServiceWithoutNamedPrefixesIsTakenWhole(t *testing.T) {
	c := climbing()
	c.Services[0].Prefixes = nil
	for rung, want := range map[int]Severity{2: Steered, 4: Withdrawn} {
		in := healthy(at(time.Minute))
		in.Pins = []Pin{{Neighbor: "a", Rung: rung, Reason: "x"}}
		if _, d := Next(c, inService(t), in); d.Services[0].Neighbors[0].IPv4.Severity != want {
			t.Errorf("rung %d: %+v", rung, d.Services[0].Neighbors[0])
		}
	}
}

func TestOnlyWhatANeighborCarriesIsAskedFor(t *testing.T) {
	c := loadNode("a", "b")
	c.Services = append(c.Services, Service{Name: "dns", Prefixes: []netip.Prefix{prefix6, prefixB}, Neighbors: []Neighbor{{Name: "a", IPv6: true}}})
	p := &driver{c: c}
	p.hold(0, 25*time.Second, map[string]float64{"a": 0.95, "b": 0.95}, func(in *Input) {
		in.Health = map[string]Health{"video": {Hard: Up, Soft: Up}, "dns": {Hard: Up, Soft: Up}}
	})
	for prefix, want := range map[netip.Prefix]bool{prefixA: true, prefix6: true, prefixB: false} {
		if got := p.s.Load.Ledger.Penalty(c.Load.Flap, flap.Key{ASN: 65001, Prefix: prefix}, at(25*time.Second)) > 0; got != want {
			t.Errorf("%v charged: %v", prefix, got)
		}
	}
	if p.s.Load.Ledger.Len() != 3 {
		t.Errorf("%d keys are charged", p.s.Load.Ledger.Len())
	}
	// a step down asks only for what it changes
	p.c.Load.Climbers[0].Rungs[0].Prefixes = []netip.Prefix{prefixA}
	if p.hold(26*time.Second, 40*time.Minute, map[string]float64{"a": 0.1, "b": 0.1}); p.rung("a") != 0 {
		t.Errorf("%+v", p.d.Climbers[0])
	}
}

func TestEdgesThatTakeTurnsGoByTheClock(t *testing.T) {
	p := &driver{c: loadNode("a")}
	p.c.Load.Climbers[0].Share = flap.Share{Edges: 4, Index: 1}
	for d := time.Duration(0); d < 3*time.Hour; d += time.Second {
		p.at(d, one(1.2))
		if p.d.Climbers[0].Moved {
			break
		}
		if r := p.d.Climbers[0].Restraint; r.Hindrance == Ledger && (r.Until.IsZero() || p.d.Wake.After(r.Until)) {
			t.Fatalf("at %v: %+v, wake %v", d, r, p.d.Wake)
		}
	}
	if p.rung("a") != 2 {
		t.Fatalf("it never moved: %+v", p.d.Climbers[0])
	}
	ok, _ := flap.Ledger{}.Allow(p.c.Load.Flap, p.c.Load.Climbers[0].Share, p.s.Load.Climbers[0].Changed, flap.AttributeChange, flap.Key{ASN: 65001, Prefix: prefixA})
	if !ok {
		t.Errorf("moved at %v, out of turn", p.s.Load.Climbers[0].Changed)
	}
}

func TestWhatIsSeenToLandIsRemembered(t *testing.T) {
	var ls []Landed
	ls = landed(ls, "b", 0.4)
	first := ls
	ls = landed(landed(ls, "c", 0.1), "b", 0.6)
	if len(first) != 1 || first[0] != (Landed{"b", 0.4, 1}) {
		t.Errorf("what was given has changed: %+v", first)
	}
	if len(ls) != 2 || ls[0] != (Landed{"b", 0.5, 2}) || ls[1] != (Landed{"c", 0.1, 1}) {
		t.Errorf("%+v", ls)
	}
}

func TestAForgottenServiceIsForgotten(t *testing.T) {
	var b Buffer
	c := node()
	s, _ := b.Next(c, State{}, healthy(t0))
	s, _ = b.Next(c, s, healthy(at(time.Second)))
	c.Services[0].Name = "dns"
	for i := range 3 {
		s, _ = b.Next(c, s, healthy(at(time.Duration(i+2)*time.Second)))
	}
	if _, ok := s.Services["dns"]; !ok || len(s.Services) != 1 {
		t.Errorf("%v remembered", s.Services)
	}
}
