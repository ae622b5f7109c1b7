package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/identity"
)

func TestPagesThatAreForEverybodyAreSound(t *testing.T) {
	d := deskOf(t, fleetAPI(), identity.Viewer, nil)
	d.site.live.source = stillFleet{&centralv1.FleetStatus{Summary: "All is well. " + hostile, Nodes: someNodes(), Warnings: []string{hostile}}}
	d.shows(d.get("/"), http.StatusOK, "All is well.", "msk1", hostile)
	d.shows(d.get("/nowhere"), http.StatusNotFound, "There is no page at /nowhere.")
	stranger := deskOf(t, fleetAPI(), identity.Viewer, nil)
	stranger.site.cfg.Caller = func(context.Context) (identity.Peer, error) { return identity.Peer{}, identity.ErrStranger }
	stranger.shows(stranger.get("/login"), http.StatusOK, "Sign in")
}

func TestFleetOffersToFreezeToWhoMay(t *testing.T) {
	for role, may := range map[identity.Role]bool{identity.Viewer: false, identity.Operator: true, identity.Admin: true} {
		d := deskOf(t, fleetAPI(), role, nil)
		if got := strings.Contains(d.get("/").Body.String(), `href="/fleet/freeze"`); got != may {
			t.Errorf("%s is offered to freeze the fleet: %v, want %v", role, got, may)
		}
	}
}

func TestStrangersAskNothing(t *testing.T) {
	for _, address := range []string{"/maintenance", "/part/maintenance", "/maintenance/w-a", "/maintenance/new", "/maintenance/import", "/communities", "/communities/rpsl", "/audit", "/fleet/freeze"} {
		d := deskOf(t, fleetAPI(), identity.None, nil)
		d.site.cfg.Caller = func(context.Context) (identity.Peer, error) { return identity.Peer{}, identity.ErrStranger }
		want := http.StatusSeeOther
		if strings.HasPrefix(address, "/part/") {
			want = http.StatusUnauthorized
		}
		if w := d.get(address); w.Code != want || len(d.api.asked) > 0 {
			t.Errorf("%s: %d, and the API was asked %v", address, w.Code, d.api.asked)
		}
	}
}

// BenchmarkPagesOfAThousandNodes are those that grow with the fleet.
func BenchmarkPagesOfAThousandNodes(b *testing.B) {
	var nodes []*centralv1.Node
	var windows []*centralv1.Window
	for i := range 1000 {
		name := fmt.Sprintf("node%d", i)
		nodes = append(nodes, &centralv1.Node{Name: name, Site: fmt.Sprintf("site%d", i/10), Asn: 57629, State: "announced", Neighbors: []*centralv1.EdgeNeighbor{{Name: "transit-a", Kind: "transit"}, {Name: "ix", Kind: "ix"}},
			Services: []*centralv1.ServiceReport{{Name: "video"}}, Tags: []*centralv1.Tag{{Value: fmt.Sprintf("57629:%d", 1000+i), Meaning: "place " + name, Since: at(0)}}})
		if i%10 == 0 {
			w := proto.CloneOf(someWindows()[2])
			w.Id, w.Nodes, w.Selector = fmt.Sprintf("w-%d", i), []string{name}, &centralv1.Selector{Nodes: []string{name}}
			windows = append(windows, w)
		}
	}
	api := answering(map[proto.Message]proto.Message{&centralv1.ListNodesRequest{}: &centralv1.ListNodesResponse{Nodes: nodes}, &centralv1.ListWindowsRequest{}: &centralv1.ListWindowsResponse{Windows: windows}})
	for _, address := range []string{"/part/maintenance", "/maintenance/new", "/communities", "/communities?q=place+node77"} {
		b.Run(address, func(b *testing.B) {
			d := deskOf(b, api, identity.Operator, nil)
			for b.Loop() {
				d.site.ServeHTTP(discard{http.Header{}}, httptest.NewRequest(http.MethodGet, address, nil))
			}
		})
	}
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
