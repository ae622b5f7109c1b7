package fleet

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// at is a second of the test's day.
func at(second int) time.Time {
	return time.Date(2026, 12, 1, 2, 0, second, 0, time.UTC)
}

func TestWhatNoWitnessHasForTheGraceIsUnseen(t *testing.T) {
	lacks := func(view string, begun int) Witness { return Witness{View: view, Begun: at(begun), Spoke: true} }
	silent := func(view string, begun int) Witness { return Witness{View: view, Begun: at(begun)} }
	sees := func(view string, begun int) Witness {
		return Witness{View: view, Begun: at(begun), Spoke: true, Sees: true}
	}
	since := func(second int) Sight { return Sight{Since: at(second)} }
	a, both := []string{"a"}, []string{"a", "b"}
	for _, c := range []struct {
		name      string
		before    Sight
		witnesses []Witness
		now       int
		want      Sight
	}{
		{"no witness", since(0), nil, 100, Sight{}},
		{"it is seen", since(0), []Witness{lacks("a", 1), sees("b", 1)}, 100, Sight{}},
		{"it was lost just now", Sight{}, []Witness{lacks("a", -500)}, 100, Sight{Since: at(100), Views: a}},
		{"within half the grace", since(0), []Witness{lacks("a", -500)}, 29, Sight{Since: at(0), Views: a}},
		{"asked again", since(0), []Witness{lacks("a", -500), lacks("b", 0)}, 30, Sight{Since: at(0), Views: both, Ask: a}},
		{"within the grace, told again", since(0), []Witness{lacks("a", 31)}, 59, Sight{Since: at(0), Views: a}},
		{"the grace is over, told again", since(0), []Witness{lacks("a", 31), lacks("b", 1)}, 60, Sight{Since: at(0), Views: both, Unseen: true}},
		{"the grace is over, one has not told again", since(0), []Witness{lacks("a", 31), lacks("b", -1)}, 90, Sight{Since: at(0), Views: both, Ask: []string{"b"}}},
		{"one has, and says nothing of the family", since(0), []Witness{lacks("a", 31), silent("b", 31)}, 60, Sight{Since: at(0), Views: a, Unseen: true}},
		{"all say nothing of the family", since(0), []Witness{silent("a", 31)}, 90, since(0)},
		{"it had said nothing before it was asked", since(0), []Witness{silent("a", -500)}, 90, Sight{Since: at(0), Views: a, Ask: a}},
		{"asked from time to time, not yet", since(0), []Witness{lacks("a", 31)}, 90, Sight{Since: at(0), Views: a, Unseen: true}},
		{"asked from time to time", since(0), []Witness{lacks("a", 31)}, 91, Sight{Since: at(0), Views: a, Unseen: true, Ask: a}},
		{"asked ever more seldom, not yet", since(0), []Witness{lacks("a", 300)}, 599, Sight{Since: at(0), Views: a, Unseen: true}},
		{"asked ever more seldom", since(0), []Witness{lacks("a", 300)}, 600, Sight{Since: at(0), Views: a, Unseen: true, Ask: a}},
		{"asked still", since(0), []Witness{lacks("a", 80000)}, 80600, Sight{Since: at(0), Views: a, Unseen: true, Ask: a}},
		{"the clock was set back", since(100), []Witness{lacks("a", 31)}, 60, Sight{Since: at(60), Views: a}},
	} {
		if got := Look(c.before, c.witnesses, time.Minute, at(c.now)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestAnUnseenNodeIsNoCapacityAndIsNamed(t *testing.T) {
	f := alike(3, 10, Limits{MinAnnouncing: 2})
	if a := Admit(f, ask("n02")); !a.OK {
		t.Fatalf("with all seen: %+v", a)
	}
	f.stand("n01", func(s *Standing) { s.Announcing, s.Reason, s.Lacking = false, Unseen, "transit-a-rr (ipv4)" })
	a := Admit(f, ask("n02"))
	if a.OK || a.Refusal.Limit != MinAnnouncing || !strings.Contains(a.Refusal.Reason, "; unseen from outside: n01 at transit-a-rr (ipv4)") {
		t.Errorf("%+v", a)
	}
	if s := Summary(f); !strings.Contains(s, "n01 is unseen at transit-a-rr (ipv4)") {
		t.Errorf("%s", s)
	}
}
