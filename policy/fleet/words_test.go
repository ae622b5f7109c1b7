package fleet

import (
	"math"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReturnsGoPrefixByPrefixInTurn(t *testing.T) {
	a, b := netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8::/32")
	f := alike(6, 10, Limits{})
	waiting := []Waiting{
		{Node: "n02", Since: t0.Add(-time.Minute), Prefixes: []netip.Prefix{a, b}},
		{Node: "n01", Since: t0, Prefixes: []netip.Prefix{a}},
		{Node: "n00", Since: t0, Prefixes: []netip.Prefix{a, b}},
	}
	var order []string
	turns := Returns(f, "video", waiting, Pace{Seed: "s"})
	for i, turn := range turns {
		order = append(order, turn.Node+" "+turn.Prefix.String())
		late := turn.At.Sub(t0) - time.Duration(i)*30*time.Second
		if late < 0 || late >= 7500*time.Millisecond {
			t.Errorf("turn %d is %v after its step", i, late)
		}
	}
	want := []string{"n02 198.51.100.0/24", "n00 198.51.100.0/24", "n01 198.51.100.0/24", "n02 2001:db8::/32", "n00 2001:db8::/32"}
	if !slices.Equal(order, want) {
		t.Errorf("%v", order)
	}
	if again := Returns(f, "video", waiting, Pace{Seed: "s"}); !reflect.DeepEqual(turns, again) {
		t.Error("the same question has another answer")
	}
	if other := Returns(f, "video", waiting, Pace{Seed: "another"}); reflect.DeepEqual(turns, other) {
		t.Error("the seed makes no difference")
	}
	later := Returns(f, "video", waiting, Pace{After: t0.Add(time.Minute)})
	if !later[0].At.After(t0.Add(time.Minute + 29*time.Second)) {
		t.Errorf("new turns follow those that stand: %v", later[0].At.Sub(t0))
	}
}

func TestReturnsAreAllAtOnceInNeed(t *testing.T) {
	a := netip.MustParsePrefix("198.51.100.0/24")
	var waiting []Waiting
	for _, n := range []string{"n00", "n01", "n02"} {
		waiting = append(waiting, Waiting{Node: n, Prefixes: []netip.Prefix{a}})
	}
	away := func(f Fleet) Fleet {
		for _, w := range waiting {
			f.stand(w.Node, func(s *Standing) { s.Announcing = false })
		}
		return f
	}
	cases := map[string]struct {
		fleet Fleet
		once  bool
	}{
		"enough":                        {away(alike(6, 10, Limits{})), false},
		"less than must announce":       {away(alike(6, 10, Limits{MinAnnouncing: 4})), true},
		"nobody announces":              {away(alike(3, 10, Limits{})), true},
		"more is asked than can be had": {away(alike(6, 60, Limits{})), true},
	}
	for name, c := range cases {
		once := true
		for _, turn := range Returns(c.fleet, "video", waiting, Pace{}) {
			once = once && turn.At.Equal(t0)
		}
		if once != c.once {
			t.Errorf("%s: all at once is %v", name, once)
		}
	}
	many := make([]Waiting, 1000)
	for i := range many {
		many[i] = Waiting{Node: string(rune('a' + i)), Prefixes: []netip.Prefix{a}}
	}
	turns := Returns(alike(6, 10, Limits{}), "video", many, Pace{})
	if last := turns[999].At.Sub(t0); last > 11*time.Minute {
		t.Errorf("the last of many waits %v", last)
	}
}

func TestPlanTellsWhatLandsWhere(t *testing.T) {
	f := alike(3, 50, Limits{})
	f.Lands = Landing{"n00": {"n01": 0.2, "n02": 0.8}}
	a, landed := Plan(f, []string{"n00"})
	if a.OK || a.Refusal.Limit != BrimLimit || !strings.Contains(a.Refusal.Reason, "n02 would come to 90 %") {
		t.Errorf("%+v", a)
	}
	if len(landed) != 2 || landed[0].Node != "n02" || math.Abs(landed[0].WouldBe-0.9) > 1e-9 || landed[0].Utilization != 0.5 ||
		math.Abs(landed[1].WouldBe-0.6) > 1e-9 {
		t.Errorf("%+v", landed)
	}
	if a, _ := Plan(alike(3, 10, Limits{}), []string{"n00"}); !a.OK {
		t.Errorf("%+v", a)
	}
	if a, _ := Plan(alike(3, 10, Limits{MinAnnouncing: 2}), []string{"n00", "n01"}); a.OK || a.Refusal.Limit != MinAnnouncing {
		t.Errorf("each beside the other: %+v", a)
	}
	for _, drain := range [][]string{nil, {""}, {"other"}} {
		if a, _ := Plan(f, drain); a.OK || a.Refusal.Limit != Unknown {
			t.Errorf("%q: %+v", drain, a)
		}
	}
	if len(f.Grants) != 0 {
		t.Error("a plan has changed the fleet")
	}
}

func TestMayWithdrawCountsTheLargestFirst(t *testing.T) {
	f := alike(5, 0, Limits{MinAnnouncing: 2, MaxWithdrawn: 0.5})
	if got := MayWithdraw(f, "video"); got != 2 {
		t.Errorf("%d", got)
	}
	f.Nodes[4].Capacity = 1000
	if got := MayWithdraw(f, "video"); got != 0 {
		t.Errorf("the largest is more than half: %d", got)
	}
	f = alike(5, 0, Limits{MinAnnouncing: 2})
	f.Grants = []Grant{held("n00")}
	if got := MayWithdraw(f, "video"); got != 2 {
		t.Errorf("%d", got)
	}
}

func TestReserveComesWhenNothingElseAbsorbs(t *testing.T) {
	reserves := func(f Fleet) Fleet {
		for _, name := range []string{"r2", "r1"} {
			n := well(name, 100, 0)
			n.Standby = true
			n.Services["video"] = Standing{Healthy: true}
			f.Nodes = append(f.Nodes, n)
		}
		return f
	}
	hot := func() Fleet { f := reserves(alike(3, 70, Limits{})); f.Nodes[0].Load = Known(120); return f }
	cases := map[string]struct {
		fleet func() Fleet
		want  string
	}{
		"all is well":           {func() Fleet { return reserves(alike(3, 50, Limits{})) }, ""},
		"others absorb it":      {func() Fleet { f := reserves(alike(3, 20, Limits{})); f.Nodes[0].Load = Known(120); return f }, ""},
		"nothing absorbs":       {hot, "r1"},
		"too few announce":      {func() Fleet { return reserves(alike(1, 10, Limits{MinAnnouncing: 2})) }, "r1"},
		"frozen":                {func() Fleet { f := hot(); f.Frozen = "x"; return f }, ""},
		"the first is not seen": {func() Fleet { f := hot(); f.Nodes[4].Seen = false; return f }, "r2"},
		"the first does not do": {func() Fleet {
			f := hot()
			f.Nodes[4].Activated, f.Nodes[4].Load = t0, Known(90)
			f.stand("r1", func(s *Standing) { s.Announcing = true })
			return f
		}, "r1 r2"},
		"it stays for a while": {func() Fleet {
			f := reserves(alike(3, 10, Limits{}))
			f.Nodes[4].Activated = t0.Add(-ReserveStays + 1)
			return f
		}, "r1"},
		"it goes when it is not missed": {func() Fleet {
			f := reserves(alike(3, 10, Limits{}))
			f.Nodes[4].Activated = t0.Add(-ReserveStays)
			return f
		}, ""},
		"it stays when it would be missed": {func() Fleet {
			f := reserves(alike(3, 80, Limits{}))
			f.Nodes[4].Activated = t0.Add(-ReserveStays)
			f.stand("r1", func(s *Standing) { s.Announcing = true })
			return f
		}, "r1"},
	}
	for name, c := range cases {
		if got := strings.Join(Reserve(c.fleet()), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestSummaryIsOneSentence(t *testing.T) {
	f := alike(8, 40, Limits{})
	if got := Summary(f); got != "video: 8 of 8 nodes announce at 40 %." {
		t.Error(got)
	}
	f.Grants = []Grant{held("n00"), {Node: "n01", Service: "video", Kind: SoftFailure}}
	f.stand("n02", func(s *Standing) { s.Announcing, s.Reason = false, "hard failure" })
	f.Nodes[3].Seen = false
	f.Nodes[4].Disabled = true
	f.stand("n05", func(s *Standing) { s.Announcing, s.Reason = false, NoSession })
	f.Frozen = "match day"
	want := "video: 2 of 8 nodes announce at 40 %, n00 is away for window mw-0, n01 is away for a soft failure, " +
		"n02 is away for hard failure, n03 is not seen, n04 is disabled and 1 more; the fleet is frozen: match day."
	if got := Summary(f); got != want {
		t.Errorf("%s", got)
	}
	if got := Summary(Fleet{}); got != "No node has a service." {
		t.Error(got)
	}
}

func TestSharesDivideEachAS(t *testing.T) {
	got := Shares(map[string][]uint32{"c": {65001}, "a": {65002, 65001, 65001}, "b": {65001, 65003}, "d": nil})
	want := map[string][]Share{
		"a": {{65001, 3, 0}, {65002, 1, 0}},
		"b": {{65001, 3, 1}, {65003, 1, 0}},
		"c": {{65001, 3, 2}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

func TestStaggerKeepsBelowWhatOthersTolerate(t *testing.T) {
	d := Damping{Charge: 500, Limit: 1600, HalfLife: 15 * time.Minute, Penalty: map[uint32]float64{65002: 1500}}
	changes := []Change{
		{"a", []uint32{65001}}, {"b", []uint32{65001}}, {"c", []uint32{65001}}, {"d", []uint32{65001}},
		{"e", []uint32{65002}}, {"f", []uint32{65003, 65001}}, {"g", nil},
	}
	waits := Stagger(changes, d)
	for _, i := range []int{0, 1, 2, 6} {
		if waits[i] != 0 {
			t.Errorf("%s waits %v", changes[i].Node, waits[i])
		}
	}
	if !(waits[3] > time.Minute && waits[5] > waits[3] && waits[4] > time.Minute) {
		t.Errorf("%v", waits)
	}
	penalty, last := 0.0, time.Duration(0)
	for _, i := range []int{0, 1, 2, 3, 5} { // those at 65001
		penalty = penalty*math.Exp2(-(waits[i]-last).Minutes()/15) + d.Charge
		if last = waits[i]; penalty > d.Limit+1e-3 {
			t.Errorf("after %s its penalty is %.0f", changes[i].Node, penalty)
		}
	}
	if got := Stagger(nil, Damping{}); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestPeaksAreOfTheSameHours(t *testing.T) {
	var p Peaks
	if got := p.Between(t0, t0, t0.Add(time.Hour)); got.Known {
		t.Errorf("nothing is known: %v", got)
	}
	evening := time.Date(2026, 3, 20, 20, 0, 0, 0, time.UTC)
	for day := range 9 {
		for minute := range 24 * 60 {
			at := evening.AddDate(0, 0, day).Add(time.Duration(minute) * time.Minute)
			load := 10.0
			if at.Hour() == 20 {
				load = 90 - float64(day)
			}
			p = p.Add(at, load)
		}
	}
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	at := func(hour int) time.Time { return time.Date(2026, 3, 30, hour, 0, 0, 0, time.UTC) }
	cases := []struct {
		from, to int
		want     float64
	}{{2, 4, 10}, {20, 20, 88}, {19, 19, 88}, {21, 22, 88}, {22, 23, 10}, {0, 40, 88}}
	for _, c := range cases {
		// 22 Mar 20:00 is the oldest evening of the last seven days.
		if got := p.Between(now, at(c.from), at(c.to)); !got.Known || got.Value != c.want {
			t.Errorf("%d to %d: %v, want %v", c.from, c.to, got, c.want)
		}
	}
	if got := p.Between(now.AddDate(0, 0, 8), at(20), at(20)); got.Known {
		t.Errorf("too old: %v", got)
	}
	if p.Add(now, math.NaN()) != p || p.Add(time.Unix(-5, 0), 1) != p {
		t.Error("what is no figure is taken in")
	}
}
