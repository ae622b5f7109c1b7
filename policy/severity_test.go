package policy

import (
	"fmt"
	"testing"
	"time"
)

// situation is one combination of everything that bears on an announcement, of a
// service that was announced until a moment ago.
type situation struct {
	hard, soft Verdict
	back       [2]wayBack // IPv4, IPv6
	words      []Override
}

// wayBack is what is known of a family's way back.
type wayBack uint8

const (
	present wayBack = iota
	missing         // for less than the grace
	lost            // for longer
	unread
)

var wayBacks = []wayBack{present, missing, lost, unread}

// wordsToTry are all kinds of override, at all neighbours and at one, in force,
// run out, and with the drain time over.
func wordsToTry() []Override {
	var out []Override
	for _, o := range []Override{
		{Verb: Drain, WithdrawAt: at(time.Hour)}, {Verb: Drain, WithdrawAt: at(time.Minute)},
		{Verb: Withdraw}, {Verb: Announce}, {Verb: Announce, EvenIfDead: true},
	} {
		for _, neighbor := range []string{"", "a"} {
			for _, until := range []time.Time{{}, at(time.Minute)} {
				o.Service, o.Neighbor, o.Until, o.Since, o.Reason = "video", neighbor, until, t0, "a test"
				out = append(out, o)
			}
		}
	}
	return out
}

// decide brings the situation about and asks for the decision, a minute after t0.
func (s situation) decide(t *testing.T) Decision {
	state := inService(t)
	in := healthy(at(50 * time.Second))
	in.WayBack4, in.WayBack6 = s.verdict(0, lost), s.verdict(1, lost)
	state, _ = Next(node(), state, in)
	in = with(at(time.Minute), s.hard, s.soft)
	in.WayBack4, in.WayBack6 = s.verdict(0, lost, missing), s.verdict(1, lost, missing)
	in.Overrides = s.words
	_, d := Next(node(), state, in)
	return d
}

// verdict is that of a family's way back while those named are missing.
func (s situation) verdict(family int, down ...wayBack) Verdict {
	for _, w := range down {
		if s.back[family] == w {
			return Down
		}
	}
	if s.back[family] == unread {
		return Unknown
	}
	return Up
}

// oracle says, rule by rule, what shall be at a neighbour for a family.
func (s situation) oracle(neighbor string, family int) (Severity, Reason) {
	now := at(time.Minute)
	var draining, withdrawn, announce, evenIfDead bool
	for _, o := range s.words {
		if o.Neighbor != "" && o.Neighbor != neighbor || !o.Until.IsZero() && !o.Until.After(now) {
			continue
		}
		switch {
		case o.Verb == Withdraw || o.Verb == Drain && !o.WithdrawAt.After(now):
			withdrawn = true
		case o.Verb == Drain:
			draining = true
		case o.EvenIfDead:
			evenIfDead, announce = true, true
		default:
			announce = true
		}
	}
	dead := s.hard != Up || s.back[family] == lost || s.back[family] == unread
	switch {
	case withdrawn:
		return Withdrawn, Overridden
	case dead && !evenIfDead:
		return Withdrawn, HardFailure
	case draining:
		return Draining, Overridden
	case s.soft == Down && !announce:
		return Steered, SoftFailure
	case announce:
		return Announced, Overridden
	}
	return Announced, Normal
}

func (s situation) String() string {
	text := fmt.Sprintf("hard %v, soft %v, way back %v", s.hard, s.soft, s.back)
	for _, o := range s.words {
		text += fmt.Sprintf(", %v at %q until %v, withdraw at %v, even if dead %v", o.Verb, o.Neighbor, o.Until, o.WithdrawAt, o.EvenIfDead)
	}
	return text
}

// check compares a decision with the oracle, and with the one rule above all.
func (s situation) check(t *testing.T) {
	d := s.decide(t)
	for _, nd := range d.Services[0].Neighbors {
		for family, got := range []Cause{nd.IPv4, nd.IPv6} {
			severity, reason := s.oracle(nd.Name, family)
			if got.Severity != severity || got.Reason != reason {
				t.Fatalf("%v:\nat %s family %d: %v for %v, want %v for %v", s, nd.Name, family, got.Severity, got.Reason, severity, reason)
			}
			if got.Reason != Normal && got.Detail == "" {
				t.Fatalf("%v:\nat %s family %d: %v without a detail", s, nd.Name, family, got.Reason)
			}
			if s.hard == Down && got.Severity != Withdrawn && !s.forced() {
				t.Fatalf("%v:\na dead service is %v at %s", s, got.Severity, nd.Name)
			}
		}
	}
}

func (s situation) forced() bool {
	for _, o := range s.words {
		if o.EvenIfDead {
			return true
		}
	}
	return false
}

// TestNothingAnnouncesADeadService goes through every combination of verdicts and
// ways back with every pair of overrides.
func TestNothingAnnouncesADeadService(t *testing.T) {
	words := wordsToTry()
	pairs := [][]Override{nil}
	for i, a := range words {
		pairs = append(pairs, []Override{a})
		for _, b := range words[i+1:] {
			pairs = append(pairs, []Override{a, b}, []Override{b, a})
		}
	}
	n := 0
	for _, hard := range []Verdict{Up, Down, Unknown} {
		for _, soft := range []Verdict{Up, Down, Unknown} {
			for _, v4 := range wayBacks {
				for _, v6 := range wayBacks {
					for _, pair := range pairs {
						situation{hard, soft, [2]wayBack{v4, v6}, pair}.check(t)
						n++
					}
				}
			}
		}
	}
	if want := 9 * 16 * (1 + 20 + 20*19); n != want {
		t.Errorf("%d combinations, want %d", n, want)
	}
}

func TestTheMostSevereCauseDecidesAndRankNamesIt(t *testing.T) {
	operator, hard, soft := Cause{Withdrawn, Overridden, "withdraw: x"}, Cause{Withdrawn, HardFailure, "web"}, Cause{Steered, SoftFailure, "origin"}
	drain, keep := Cause{Draining, Overridden, "drain: y"}, Cause{Announced, Overridden, "announce: z"}
	for _, tt := range []struct {
		name   string
		causes []Cause
		want   Cause
	}{
		{"nothing speaks against it", nil, Cause{Announced, Normal, ""}},
		{"a word ranks over normal", []Cause{keep}, keep},
		{"soft over announced", []Cause{keep, soft}, soft},
		{"drain over soft", []Cause{soft, drain}, drain},
		{"hard over drain", []Cause{drain, hard, soft}, hard},
		{"of two that withdraw the operator names it", []Cause{hard, operator}, operator},
		{"whatever their order", []Cause{operator, hard}, operator},
		{"details of one reason are joined", []Cause{hard, {Withdrawn, HardFailure, "no IPv4 default route"}}, Cause{Withdrawn, HardFailure, "web; no IPv4 default route"}},
		{"and not repeated", []Cause{hard, hard, {Withdrawn, HardFailure, ""}}, hard},
		{"a longer text takes in a shorter", []Cause{hard, {Withdrawn, HardFailure, "web: refused"}}, Cause{Withdrawn, HardFailure, "web: refused"}},
	} {
		if got := Combine(tt.causes...); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestReasonsAreListedByRank(t *testing.T) {
	all := Reasons()
	if len(all) != len(reasonNames)-1 {
		t.Fatalf("%d reasons are listed, %d have names", len(all), len(reasonNames)-1)
	}
	for i, r := range all {
		if int(r) != i+1 {
			t.Errorf("place %d has %v", i, r)
		}
	}
}
