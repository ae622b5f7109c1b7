package policy

import (
	"testing"
	"time"
)

func TestTheSummaryIsTheLeastSevereAndTellsTheRest(t *testing.T) {
	dead := with(at(time.Second), Down, Up)
	noIPv4 := healthy(at(time.Minute))
	noIPv4.WayBack4 = Down
	drained := healthy(at(time.Second))
	drained.Overrides = []Override{{Service: "video", Neighbor: "b", Verb: Drain, Reason: "upgrade", Since: t0, WithdrawAt: at(time.Hour)}}
	overAndDead := dead
	overAndDead.Overrides = []Override{{Service: "video", Neighbor: "b", Verb: Withdraw, Reason: "upgrade", Since: t0}}
	other := drained
	other.Overrides = []Override{{Service: "dns", Verb: Withdraw, Reason: "another service", Since: t0}}
	v4only, none := node(), node()
	v4only.Services[0].Neighbors = []Neighbor{{Name: "a", IPv4: true}}
	none.Services[0].Neighbors = []Neighbor{{Name: "a"}}
	for _, tt := range []struct {
		name   string
		config Config
		in     Input
		want   Cause
	}{
		{"all alike", node(), dead, Cause{Withdrawn, HardFailure, "web: refused"}},
		{"one neighbour drained", node(), drained, Cause{Announced, Normal, "b ipv4 draining: drain: upgrade; b ipv6 draining: drain: upgrade"}},
		{"a word on one neighbour does not hide a failure", node(), overAndDead,
			Cause{Withdrawn, HardFailure, "web: refused; b ipv4 withdrawn: withdraw: upgrade; b ipv6 withdrawn: withdraw: upgrade"}},
		{"one family lost", node(), noIPv4, Cause{Announced, Normal,
			"a ipv4 withdrawn: no IPv4 default route: replies would be lost (add one, or set way_back.require: none); b ipv4 withdrawn: no IPv4 default route: replies would be lost (add one, or set way_back.require: none)"}},
		{"a family that no session carries does not count", v4only, noIPv4, Cause{Withdrawn, HardFailure, "no IPv4 default route: replies would be lost (add one, or set way_back.require: none)"}},
		{"nobody carries any", none, healthy(at(time.Second)), Cause{Withdrawn, Normal, "no neighbour carries its prefixes"}},
		{"a word on another service", node(), other, Cause{Announced, Normal, ""}},
	} {
		s, _ := Next(tt.config, State{}, healthy(t0))
		lost := healthy(at(time.Second))
		lost.WayBack4 = tt.in.WayBack4
		s, _ = Next(tt.config, s, lost)
		_, d := Next(tt.config, s, tt.in)
		if got := d.Services[0].Cause; got != tt.want {
			t.Errorf("%s: %v %v %q, want %v %v %q", tt.name, got.Severity, got.Reason, got.Detail, tt.want.Severity, tt.want.Reason, tt.want.Detail)
		}
	}
}

func TestAServiceOfWhichNothingIsKnownIsNotAnnounced(t *testing.T) {
	_, d := Next(node(), State{}, Input{Now: t0, WayBack4: Up, WayBack6: Up})
	if got, want := d.Services[0].Cause, (Cause{Withdrawn, HardFailure, "not checked yet"}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	_, d = Next(node(), State{}, Input{Now: t0, Health: healthy(t0).Health})
	if got := d.Services[0].Neighbors[0].IPv6; got.Severity != Withdrawn || got.Detail != "IPv6 routes of this machine not read yet" {
		t.Errorf("before the routes are read: %v", got)
	}
}

func TestSinceIsWhenStateOrReasonLastChanged(t *testing.T) {
	s := inService(t)
	for _, step := range []struct {
		in    Input
		since time.Time
	}{
		{healthy(at(time.Minute)), t0},
		{with(at(2*time.Minute), Down, Up), at(2 * time.Minute)},
		{with(at(3*time.Minute), Down, Down), at(2 * time.Minute)},
	} {
		var d Decision
		s, d = Next(node(), s, step.in)
		if got := d.Services[0].Since; !got.Equal(step.since) {
			t.Errorf("at %v: since %v, want %v", step.in.Now, got, step.since)
		}
	}
}

func TestFamiliesHaveWaysBackOfTheirOwn(t *testing.T) {
	s := inService(t)
	in := healthy(at(time.Second))
	in.WayBack6 = Down
	s, d := Next(node(), s, in)
	if !d.Wake.Equal(at(6 * time.Second)) {
		t.Errorf("wake %v, want the end of the grace", d.Wake)
	}
	if got := d.Services[0].Neighbors[0]; got.IPv4.Severity != Announced || got.IPv6.Severity != Announced {
		t.Errorf("in the grace: %v", got)
	}
	in.Now = d.Wake
	_, d = Next(node(), s, in)
	for _, n := range d.Services[0].Neighbors {
		if n.IPv4.Severity != Announced || n.IPv6.Severity != Withdrawn || n.IPv6.Reason != HardFailure {
			t.Errorf("after the grace: %v", n)
		}
	}
}

func TestAWayBackReplacedInTheGraceChangesNothing(t *testing.T) {
	s := inService(t)
	for i := range 100 { // replaced every 4.9 s, for ever
		now := time.Duration(i) * 5 * time.Second
		gone, back := healthy(at(now)), healthy(at(now+4900*time.Millisecond))
		gone.WayBack4 = Down
		var d Decision
		for _, in := range []Input{gone, back} {
			s, d = Next(node(), s, in)
			if got := d.Services[0].Cause; got != (Cause{Announced, Normal, ""}) {
				t.Fatalf("at %v: %v", in.Now.Sub(t0), got)
			}
		}
	}
	if s.WayBack4.Hold.Failures != nil {
		t.Errorf("failures were counted: %v", s.WayBack4.Hold.Failures)
	}
}
