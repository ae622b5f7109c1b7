package central

import (
	"context"
	"fmt"
	"testing"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
)

// woken takes the pokes of streams, and returns who had one.
func woken(sessions []*session) (names []string) {
	for _, s := range sessions {
		select {
		case <-s.wake:
			names = append(names, s.node)
		default:
		}
	}
	return names
}

// TestAViewWakesWhomItConcernsAndNotTooOften lets a node join an AS with others, and one move for the load.
func TestAViewWakesWhomItConcernsAndNotTooOften(t *testing.T) {
	f := NewFleet(store.NewMemory(), Settings{ASN: 57629})
	join := func(name string, asn uint32) *session {
		h := hello(name).GetHello()
		h.Neighbors = h.Neighbors[:1]
		h.Neighbors[0].Asn = asn
		s, err := f.open(context.Background(), h)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	now := time.Now()
	all := []*session{join("a", 65001), join("b", 65002)}
	f.renew(now)
	woken(all)
	if until := f.fan.next.Sub(now); until != 2*fanEach {
		t.Errorf("the next is in %v", until)
	}
	all = append(all, join("c", 65001))
	f.renew(now.Add(fanEach)) // too early
	if got := woken(all); got != nil {
		t.Errorf("woken too early: %q", got)
	}
	now = now.Add(time.Second)
	f.renew(now)
	if got := fmt.Sprint(woken(all)); got != "[a c]" {
		t.Errorf("a node has joined the AS of a: woken %s", got)
	}
	f.renew(now.Add(time.Second))
	if got := woken(all); got != nil {
		t.Errorf("nothing is new: woken %q", got)
	}
	v := *f.view.Load()
	v.first = mover{node: "b", at: now}
	f.fan.add(f.view.Load(), &v, false)
	f.fanOut(now.Add(2 * time.Second))
	if got := fmt.Sprint(woken(all)); got != "[a b c]" {
		t.Errorf("a node has moved: woken %s", got)
	}
}

func TestADigestLeavesTheIntentAsItWas(t *testing.T) {
	f := NewFleet(store.NewMemory(), Settings{ASN: 57629})
	s, err := f.open(context.Background(), hello("a").GetHello())
	if err != nil {
		t.Fatal(err)
	}
	in, _ := f.w.intent(s.node, f.renew(time.Now()), time.Now())
	room := 5e9
	in.Room = &room
	for _, share := range in.Shares {
		share.Penalty = 7
	}
	if len(in.Shares) == 0 {
		t.Fatal("no shares")
	}
	before := in.String()
	one := digest(in, nil)
	if after := in.String(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	room, in.Shares[0].Penalty = 1e9, 9
	if digest(in, nil) != one {
		t.Error("what moves all the time makes a new intent")
	}
	if in.Frozen = true; digest(in, nil) == one {
		t.Error("a freeze makes none")
	}
}

func TestOnlyWhatOthersDecideByIsWritten(t *testing.T) {
	report := func() *centralv1.Report {
		return &centralv1.Report{Generation: 7, Services: []*centralv1.ServiceReport{{Name: "video", State: stateAnnounced, Hard: "up"}},
			Links:     []*centralv1.LinkReport{{Name: "a", Load: 4.99e9, Capacity: 10e9, Known: true}},
			Neighbors: []*centralv1.NeighborReport{{Name: "t", Session: "established", FlapPenalty: 100}}}
	}
	for name, tt := range map[string]struct {
		change func(*centralv1.Report)
		want   bool
	}{
		"nothing":                   {func(*centralv1.Report) {}, false},
		"an intent is in force":     {func(r *centralv1.Report) { r.Generation++ }, false},
		"load goes a little":        {func(r *centralv1.Report) { r.Links[0].Load = 5.4e9 }, false},
		"load goes far":             {func(r *centralv1.Report) { r.Links[0].Load = 5.6e9 }, true},
		"a load is no longer known": {func(r *centralv1.Report) { r.Links[0].Known = false }, true},
		"the penalty is small":      {func(r *centralv1.Report) { r.Neighbors[0].FlapPenalty = 300 }, false},
		"the penalty is large":      {func(r *centralv1.Report) { r.Neighbors[0].FlapPenalty = 1100 }, true},
		"a link is gone":            {func(r *centralv1.Report) { r.Links = nil }, true},
		"a neighbour is gone":       {func(r *centralv1.Report) { r.Neighbors = nil }, true},
		"a service is withdrawn":    {func(r *centralv1.Report) { r.Services[0].State = stateWithdrawn }, true},
		"a grant is asked for":      {func(r *centralv1.Report) { r.Wants = []*centralv1.GrantRequest{{Id: "1"}} }, true},
		"a link is new":             {func(r *centralv1.Report) { r.Links = append(r.Links, &centralv1.LinkReport{Name: "b"}) }, true},
	} {
		stored, now := liveDoc{Epoch: 3, Up: true}, liveDoc{Epoch: 3, Up: true}
		stored.Report.m, now.Report.m = report(), report()
		tt.change(now.Report.m)
		if got := material(stored, now); got != tt.want {
			t.Errorf("%s: written %v, want %v", name, got, tt.want)
		}
	}
	if !material(liveDoc{}, liveDoc{Epoch: 1, Up: true}) {
		t.Error("a first report is not written")
	}
}
