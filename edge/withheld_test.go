package edge

import (
	"slices"
	"testing"

	"github.com/catchment-bgp/catchment/policy"
)

func TestWhereAServiceIsWithheld(t *testing.T) {
	announced, not := policy.Cause{Reason: policy.Normal}, policy.Cause{Severity: policy.Withdrawn, Reason: policy.Normal}
	at := func(name string, v4, v6 policy.Cause) policy.NeighborDecision {
		return policy.NeighborDecision{Name: name, IPv4: v4, IPv6: v6}
	}
	sd := policy.ServiceDecision{Neighbors: []policy.NeighborDecision{
		at("all", announced, announced),
		at("ipv4 alone, as configured", announced, not),
		at("steered", policy.Cause{Severity: policy.Steered, Reason: policy.Load}, announced),
		at("drained", policy.Cause{Severity: policy.Draining, Reason: policy.Maintenance}, announced),
		at("withdrawn in a family", announced, policy.Cause{Severity: policy.Withdrawn, Reason: policy.Maintenance}),
	}}
	if got := withheld(sd); !slices.Equal(got, []string{"drained", "withdrawn in a family"}) {
		t.Errorf("%q", got)
	}
}
