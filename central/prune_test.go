package central

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/audit"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

func TestOldAuditRecordsGoAndThatIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.kill()
		past := audit.New(l.store, func() time.Time { return time.Now().Add(-50 * 24 * time.Hour) }, nil)
		for i := range 150 {
			if _, _, err := past.Commit(t.Context(), nil, nil, audit.Entry{Who: "noc/anna", Method: "TagNode", Target: fmt.Sprint(i), Outcome: audit.Done}); err != nil {
				t.Fatal(err)
			}
		}
		l.start()
		if _, err := l.api.Freeze(l.ctx(), &centralv1.FreezeRequest{Reason: "test"}); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		v, err := l.api.VerifyAudit(l.ctx(), &centralv1.VerifyAuditRequest{})
		if err != nil || !v.GetOk() || v.GetRecords() != 151 || v.GetPruned() != 0 || v.GetPrunedAt() != nil || len(v.GetHeadHash()) != 64 {
			t.Fatalf("nobody asked for pruning: %v, %v", v, err)
		}
		l.keep = 40 * 24 * time.Hour
		l.kill()
		l.start()
		pass(time.Hour)
		v, err = l.api.VerifyAudit(l.ctx(), &centralv1.VerifyAuditRequest{})
		if err != nil || !v.GetOk() || v.GetRecords() != 2 || v.GetPruned() != 150 || len(v.GetPrunedHash()) != 64 || v.GetPrunedAt() == nil {
			t.Errorf("%v, %v", v, err)
		}
		if n := testutil.ToFloat64(l.f.meters.pruned); n != 150 {
			t.Errorf("counted %g", n)
		}
		for from, want := range map[uint64]string{0: "152 151", 1: "151 152", 152: "152", 153: ""} {
			answer, err := l.api.ListAudit(l.ctx(), &centralv1.ListAuditRequest{From: from, Limit: 1_000_000})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for i, r := range answer.GetRecords() {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprint(r.GetNumber())
			}
			if got != want {
				t.Errorf("from %d: %s, want %s", from, got, want)
			}
		}
	})
}
