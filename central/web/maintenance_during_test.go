package web

import (
	"net/http"
	"slices"
	"testing"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
)

func TestThePreviewShowsTheFleetAsItWouldBe(t *testing.T) {
	d := deskOf(t, fleetAPI(), identity.Operator, nil)
	name := someWindows()[2].GetNodes()[0]
	d.site.cfg.Source = stillFleet{&centralv1.FleetStatus{Services: []*centralv1.FleetService{{Name: "video", Announcing: 1, Nodes: 2, MinAnnouncing: 1}},
		Nodes: []*centralv1.Node{{Name: name, Connected: true, Services: []*centralv1.ServiceReport{{Name: "video", State: "announced"}}}}}}
	d.shows(d.post("/maintenance/preview", filled(nil)), http.StatusOK, "The fleet during it", "1 of 2", "0 of 2", "nobody")
}

func TestThePreviewCountsWhoWouldStillAnnounce(t *testing.T) {
	node := func(name, video, dns string) *centralv1.Node {
		return &centralv1.Node{Name: name, Connected: true, Services: []*centralv1.ServiceReport{{Name: "video", State: video}, {Name: "dns", State: dns}}}
	}
	noSession := node("ekb2", "announced", "withdrawn")
	noSession.NoCapacity = "no_session"
	fleet := &centralv1.FleetStatus{
		Services: []*centralv1.FleetService{{Name: "video", Announcing: 3, Nodes: 5, MinAnnouncing: 2}, {Name: "dns", Announcing: 2, Nodes: 5, MinAnnouncing: 0}},
		Nodes: []*centralv1.Node{node("msk1", "announced", "withdrawn"), node("msk2", "steered", "announced"), node("spb1", "announced", "announced"),
			node("ekb1", "withdrawn", "withdrawn"), noSession},
	}
	for name, c := range map[string]struct {
		nodes []string
		sel   *centralv1.Selector
		want  []duringView
	}{
		"one goes, and as many are left as must be":          {[]string{"msk1"}, &centralv1.Selector{}, []duringView{{"video", 3, 2, 5, 2, warm}}},
		"who is steered counts":                              {[]string{"msk2"}, &centralv1.Selector{}, []duringView{{"video", 3, 2, 5, 2, warm}, {"dns", 2, 1, 5, 0, calm}}},
		"too few are left, and none":                         {[]string{"msk2", "spb1"}, &centralv1.Selector{}, []duringView{{"video", 3, 1, 5, 2, hot}, {"dns", 2, 0, 5, 0, hot}}},
		"of one service":                                     {[]string{"msk2", "spb1"}, &centralv1.Selector{Services: []string{"dns"}}, []duringView{{"dns", 2, 0, 5, 0, hot}}},
		"who is away already takes nothing with him":         {[]string{"ekb1", "ekb2", "gone"}, &centralv1.Selector{}, nil},
		"of a neighbour: the node stays announced elsewhere": {[]string{"msk1"}, &centralv1.Selector{Neighbors: []string{"transit-a"}}, nil},
		"of labels, which may be those of neighbours":        {[]string{"msk1"}, &centralv1.Selector{Labels: map[string]string{"circuit": "C-1"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := during(fleet, &centralv1.Window{Nodes: c.nodes, Selector: c.sel}); !slices.Equal(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}
