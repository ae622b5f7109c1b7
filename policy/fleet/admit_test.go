package fleet

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestAdmitNamesTheLimitThatRefuses(t *testing.T) {
	cases := map[string]struct {
		fleet   func() Fleet
		request Request
		limit   Limit // "": granted
		says    string
	}{
		"well below every limit": {
			func() Fleet { return alike(4, 20, Limits{MinAnnouncing: 2, MaxWithdrawn: 0.34}) }, ask("n00"), "", ""},
		"figures are not known at all": {
			func() Fleet {
				f := alike(3, 0, Limits{})
				for i := range f.Nodes {
					f.Nodes[i].Capacity, f.Nodes[i].Load = 0, Figure{}
				}
				return f
			}, ask("n00"), "", ""},
		"the only node": {
			func() Fleet { return alike(1, 0, Limits{}) }, ask("n00"), LastAnnouncer, "no other node announces video"},
		"the other one is withdrawn": {
			func() Fleet {
				f := alike(2, 0, Limits{})
				f.stand("n01", func(s *Standing) { s.Announcing = false })
				return f
			}, ask("n00"), LastAnnouncer, ""},
		"the other one is not seen": {
			func() Fleet { f := alike(2, 0, Limits{}); f.Nodes[1].Seen = false; return f }, ask("n00"), LastAnnouncer, "not seen: n01"},
		"the other one is a reserve": {
			func() Fleet { f := alike(2, 0, Limits{}); f.Nodes[1].Standby = true; return f }, ask("n00"), LastAnnouncer, ""},
		"the other one is disabled": {
			func() Fleet { f := alike(2, 0, Limits{}); f.Nodes[1].Disabled = true; return f }, ask("n00"), LastAnnouncer, ""},
		"too few would be left": {
			func() Fleet {
				f := alike(3, 0, Limits{MinAnnouncing: 2})
				f.Grants = []Grant{held("n02")}
				return f
			}, ask("n00"), MinAnnouncing, "only 1 would announce video, and min_announcing is 2; withdrawn by leave: n02 for window mw-0"},
		"too much capacity would be away": {
			func() Fleet {
				f := alike(3, 0, Limits{MaxWithdrawn: 0.34})
				f.Grants = []Grant{held("n02")}
				return f
			}, ask("n00"), MaxWithdrawn, "67 % of the capacity of video would be withdrawn, and max_withdrawn is 34 %"},
		"a large node is more than the share": {
			func() Fleet { f := alike(3, 0, Limits{MaxWithdrawn: 0.5}); f.Nodes[0].Capacity = 300; return f },
			ask("n00"), MaxWithdrawn, "60 %"},
		"a holder that reports announcing has not given back yet": {
			func() Fleet {
				f := alike(2, 0, Limits{})
				f.Grants = []Grant{{ID: "n01.0", Node: "n01", Service: "video", Kind: Load, State: Offered}}
				return f
			}, ask("n00"), LastAnnouncer, "n01 for load"},
		"all of it would land on the worst receiver": {
			func() Fleet { return alike(4, 50, Limits{}) }, ask("n00"), BrimLimit, "would come to 100 % of its capacity, and the brim is 85 %"},
		"known to spread": {
			func() Fleet {
				f := alike(4, 50, Limits{})
				f.Lands = Landing{"n00": {"n01": 0.34, "n02": 0.33, "n03": 0.33}}
				return f
			}, ask("n00"), "", ""},
		"known in part: the rest lands on the worst": {
			func() Fleet {
				f := alike(4, 50, Limits{})
				f.Lands = Landing{"n00": {"n01": 0.1, "n02": 0.1}}
				return f
			}, ask("n00"), BrimLimit, ""},
		"the forecast peak is too high, whatever is carried now": {
			func() Fleet { f := alike(4, 10, Limits{}); f.Nodes[2].Peak = Known(80); return f }, ask("n00"), BrimLimit, "n02 would come to 90 %"},
		"a node with a quiet night is judged by what it carries now, too": {
			func() Fleet {
				f := alike(4, 50, Limits{})
				for i := range f.Nodes {
					f.Nodes[i].Peak = Known(5)
				}
				return f
			}, ask("n00"), BrimLimit, ""},
		"a question ahead is judged by the peaks alone": {
			func() Fleet {
				f := alike(4, 50, Limits{})
				for i := range f.Nodes {
					f.Nodes[i].Peak = Known(5)
				}
				return f
			}, Request{Node: "n00", Service: "video", Kind: Window, Ahead: true}, "", ""},
		"a full bystander does not matter": {
			func() Fleet {
				f := alike(3, 20, Limits{})
				f.Nodes[2].Load = Known(95)
				f.Lands = Landing{"n00": {"n01": 1}}
				return f
			}, ask("n00"), "", ""},
		"a part of the load fits": {
			func() Fleet { return alike(3, 60, Limits{}) },
			Request{Node: "n00", Service: "video", Kind: Load, Load: 20}, "", ""},
		"it goes round among those withdrawn": {
			func() Fleet {
				f := alike(3, 10, Limits{})
				f.Lands = Landing{"n00": {"n01": 1}, "n01": {"n00": 1}}
				f.Grants = []Grant{held("n01")}
				return f
			}, ask("n00"), NoRest, "come to rest nowhere"},
		"the next falls over, and the one after it": {
			func() Fleet {
				f := alike(3, 70, Limits{})
				f.Lands = Landing{"n00": {"n01": 1}, "n01": {"n02": 1}, "n02": {"n01": 1}}
				return f
			}, ask("n00"), NoRest, ""},
		"another one moved for load": {
			func() Fleet { f := alike(3, 10, Limits{}); f.Nodes[1].Moved = t0.Add(-100 * time.Second); return f },
			Request{Node: "n00", Service: "video", Kind: Load}, OtherMoved, "n01, whose clients overlap, moved 100 s ago"},
		"another one has just been given leave to": {
			func() Fleet {
				f := alike(4, 10, Limits{})
				f.Grants = []Grant{{ID: "x", Node: "n02", Service: "video", Kind: Load, State: Offered, Issued: t0.Add(-time.Second)}}
				return f
			}, Request{Node: "n00", Service: "video", Kind: Load}, OtherMoved, "n02"},
		"another one moved by a clock that is ahead": {
			func() Fleet { f := alike(3, 10, Limits{}); f.Nodes[1].Moved = t0.Add(time.Hour); return f },
			Request{Node: "n00", Service: "video", Kind: Load}, OtherMoved, ""},
		"the other one moved long ago": {
			func() Fleet { f := alike(3, 10, Limits{}); f.Nodes[1].Moved = t0.Add(-Quiet); return f },
			Request{Node: "n00", Service: "video", Kind: Load}, "", ""},
		"the other one has other clients": {
			func() Fleet {
				f := alike(3, 10, Limits{})
				f.Nodes[1].Moved = t0.Add(-time.Second)
				f.Lands = Landing{"n00": {"n02": 1}, "n01": {"n02": 1}}
				return f
			}, Request{Node: "n00", Service: "video", Kind: Load}, "", ""},
		"siblings of a site have the same clients": {
			func() Fleet {
				f := alike(3, 10, Limits{})
				f.Nodes[0].Site, f.Nodes[1].Site = "moscow", "moscow"
				f.Nodes[1].Moved = t0.Add(-time.Second)
				f.Lands = Landing{"n00": {"n02": 1}, "n01": {"n02": 1}}
				return f
			}, Request{Node: "n00", Service: "video", Kind: Load}, OtherMoved, ""},
		"windows do not wait for movers": {
			func() Fleet { f := alike(3, 10, Limits{}); f.Nodes[1].Moved = t0; return f }, ask("n00"), "", ""},
		"frozen": {
			func() Fleet { f := alike(3, 10, Limits{}); f.Frozen = "match day"; return f }, ask("n00"), Frozen, "match day"},
		"frozen, and an operator asks": {
			func() Fleet { f := alike(3, 10, Limits{}); f.Frozen = "match day"; return f },
			Request{Node: "n00", Service: "video", Kind: Override}, "", ""},
		"a keeper without a successor": {
			func() Fleet {
				f := alike(3, 10, Limits{})
				f.stand("n00", func(s *Standing) { s.Told, s.Keeps = true, true })
				f.stand("n01", func(s *Standing) { s.Told = true })
				return f
			}, ask("n00"), Keeper, "0 of 1 others have confirmed"},
		"a keeper with a successor": {
			func() Fleet {
				f := alike(3, 10, Limits{})
				f.stand("n00", func(s *Standing) { s.Told, s.Keeps = true, true })
				f.stand("n01", func(s *Standing) { s.Told, s.Keeps = true, true })
				return f
			}, ask("n00"), "", ""},
		"no such node":    {func() Fleet { return alike(3, 0, Limits{}) }, ask("other"), Unknown, `no node "other"`},
		"no node":         {func() Fleet { return alike(3, 0, Limits{}) }, ask(""), Unknown, ""},
		"no such service": {func() Fleet { return alike(3, 0, Limits{}) }, Request{Node: "n00", Service: "dns", Kind: Load}, Unknown, `no service "dns"`},
		"no such kind":    {func() Fleet { return alike(3, 0, Limits{}) }, Request{Node: "n00", Service: "video", Kind: "whim"}, Unknown, `"whim"`},
		"figures that are none count as a full node": {
			func() Fleet { f := alike(3, 10, Limits{}); f.Nodes[1].Load = Known(math.NaN()); return f }, ask("n00"), BrimLimit, "n01 would come to 110 %"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := Admit(c.fleet(), c.request)
			if a.OK != (c.limit == "") || a.Refusal.Limit != c.limit || !strings.Contains(a.Refusal.Reason, c.says) {
				t.Errorf("got %+v, want limit %q with %q", a, c.limit, c.says)
			}
			if a.Override {
				t.Error("nobody overrode anything")
			}
			c.request.Override = true
			b := Admit(c.fleet(), c.request)
			if want := c.limit != Unknown; b.OK != want || b.Override != (want && c.limit != "") || b.Refusal.Limit != c.limit {
				t.Errorf("break-glass: got %+v", b)
			}
		})
	}
}

func TestGrantOfABrokenLimitIsMarked(t *testing.T) {
	f, r := alike(1, 10, Limits{}), ask("n00")
	r.Override = true
	g := r.Grant(f, Admit(f, r))
	if !g.Override || !strings.HasPrefix(g.Broke, "last_announcer: ") || g.State != Offered || g.Asked != 7 || g.TTL != TTL || !g.Issued.Equal(t0) {
		t.Errorf("%+v", g)
	}
	f = alike(3, 40, Limits{})
	r = Request{ID: "x", Node: "n00", Service: "video", Kind: Load, Load: 10}
	if g := r.Grant(f, Admit(f, r)); g.Override || g.Broke != "" || g.Share != 0.25 {
		t.Errorf("%+v", g)
	}
}

func TestAdmitGivesTheSameAnswerWhateverTheOrder(t *testing.T) {
	f := alike(9, 45, Limits{MinAnnouncing: 3, MaxWithdrawn: 0.5})
	f.Grants = []Grant{held("n05"), held("n07")}
	want := Admit(f, ask("n00"))
	for i := range f.Nodes {
		f.Nodes[0], f.Nodes[i] = f.Nodes[i], f.Nodes[0]
		f.Grants[0], f.Grants[1] = f.Grants[1], f.Grants[0]
		if got := Admit(f, ask("n00")); got.OK != want.OK || got.Refusal.Limit != want.Refusal.Limit ||
			strings.Join(got.Refusal.Holders, ",") != "n05 for window mw-0,n07 for window mw-0" {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	}
}
