package central

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// An edge that asks under ever new ids is refused each time, and does not fill the store
// with that.
func TestAnEdgeDoesNotFillTheAuditLogByBeingRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 2})
		l.join(2)
		pass(time.Minute)
		const asked = 1000
		for i := range asked {
			want := &centralv1.GrantRequest{Id: fmt.Sprintf("w%d", i), Service: video, Kind: string(fleet.Load)}
			if err := l.f.auditRefusal(t.Context(), "n01", want, &centralv1.Refusal{Id: want.Id, Limit: "min_announcing", Reason: "too few"}); err != nil {
				t.Fatal(err)
			}
			pass(time.Second)
		}
		records, err := l.f.audit.List(t.Context(), audit.Filter{Who: "n01", Limit: asked})
		if err != nil {
			t.Fatal(err)
		}
		// The one that was done in spite of the limit is not hidden by the others.
		over := &centralv1.GrantRequest{Id: "over", Service: video, OverrideSafety: true, Reason: "fire"}
		if err := l.f.auditRefusal(t.Context(), "n01", over, &centralv1.Refusal{Id: over.Id, Limit: "min_announcing", Reason: "too few"}); err != nil {
			t.Fatal(err)
		}
		last, err := l.f.audit.List(t.Context(), audit.Filter{Who: "n01", Limit: 1})
		if err != nil || last[0].Outcome != audit.Done || last[0].Reason != "fire" {
			t.Errorf("%+v, %v", last, err)
		}
		if n := len(records); n < 10 || n > 12 || !strings.Contains(records[0].Detail, "more not recorded") {
			t.Errorf("%d records, the last: %+v", n, records[0])
		}
	})
}
