package edge

import (
	"testing"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy/flap"
)

func TestNodesOfOneSiteHaveOneTurnWhereTheSiteIsNamed(t *testing.T) {
	for _, tt := range []struct {
		node, site string
		edges      []string
		want       flap.Share
	}{
		{"msk1", "moscow", nil, flap.Share{}},
		{"msk2", "moscow", []string{"led1", "msk1", "msk2"}, flap.Share{Edges: 3, Index: 2}},
		{"msk1", "moscow", []string{"led1", "moscow"}, flap.Share{Edges: 2, Index: 1}},
		{"msk2", "moscow", []string{"led1", "moscow"}, flap.Share{Edges: 2, Index: 1}},
	} {
		got := share(&config.Config{Node: tt.node, Site: tt.site}, &config.Neighbor{EdgesAtASN: tt.edges})
		if got != tt.want {
			t.Errorf("%s of %s among %v: %+v, want %+v", tt.node, tt.site, tt.edges, got, tt.want)
		}
	}
}
