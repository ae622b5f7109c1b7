package central

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// A store that hangs is waited for once, however much there is to decide: the view would be a minute old with twenty services.
func TestAStoreThatHangsIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := store.NewMemory()
		defer memory.Close()
		lossy := &lossyStore{Store: memory, patience: 3 * time.Second}
		f := NewFleet(lossy, Settings{ASN: 57629})
		var changes []change
		for i := range 30 {
			changes = append(changes, change{ops: []store.Op{{Key: key(kindKeep, fmt.Sprint("s", i)), Value: []byte("{}")}}})
		}
		lossy.lose.Store(1000)
		begun := time.Now()
		f.carryOut(t.Context(), changes)
		if took := time.Since(begun); took != lossy.patience {
			t.Errorf("it took %v", took)
		}
		lossy.lose.Store(0)
		f.carryOut(t.Context(), changes)
		if items, _, err := memory.List(t.Context(), ""); err != nil || len(items) != len(changes) {
			t.Errorf("afterwards %d documents, %v", len(items), err)
		}
	})
}

// hungLog is a log that nobody takes in: what writes to it waits until it is let go.
type hungLog struct {
	slog.Handler
	hangs chan struct{} // closed: goes on
}

// Handle waits.
func (h hungLog) Handle(context.Context, slog.Record) error {
	<-h.hangs
	return nil
}

// Enabled says yes to all.
func (hungLog) Enabled(context.Context, slog.Level) bool { return true }

func TestACentreWhoseLogHangsTellsHowItStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.kill()
		cut, log := &cutStore{Store: l.store}, hungLog{hangs: make(chan struct{})}
		defer close(log.hangs)
		l.f = NewFleet(cut, Settings{ASN: 57629, Log: slog.New(log)})
		l.run()
		edges := l.join(3)
		pass(time.Minute)
		edges[0].set(func(e *simEdge) { e.soft = false }) // its grant is logged
		pass(time.Minute)
		if got := l.series("catchment_central_streams"); got != "3" {
			t.Errorf("%s streams", got)
		}
		cut.cut.Store(true)
		pass(time.Minute)
		if got := l.series("catchment_central_store_reachable"); got != "0" {
			t.Errorf("a centre that is cut off says that it reaches its store: %s", got)
		}
		select {
		case <-edges[1].done:
		default:
			t.Error("the edges stay at a centre that is cut off")
		}
	})
}

// blockedStore is one whose client logs as it fails, to a log that hangs: its calls do not even end with their contexts.
type blockedStore struct {
	store.Store
	blocks chan struct{} // closed: goes on
	when   atomic.Bool
}

// Commit waits.
func (s *blockedStore) Commit(ctx context.Context, conds []store.Cond, ops []store.Op) (store.Revision, error) {
	if s.when.Load() {
		<-s.blocks
	}
	return s.Store.Commit(ctx, conds, ops)
}

func TestACentreWhoseStoreNeverAnswersDoesNotSayThatItReachesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.kill()
		blocked := &blockedStore{Store: l.store, blocks: make(chan struct{})}
		defer close(blocked.blocks)
		l.f = NewFleet(blocked, Settings{ASN: 57629})
		l.run()
		pass(time.Minute)
		if reaches, leads := l.series("catchment_central_store_reachable"), l.series("catchment_central_leads"); reaches != "1" || leads != "1" {
			t.Errorf("at first: reaches %s, leads %s", reaches, leads)
		}
		blocked.when.Store(true)
		pass(replicaSilence + beatEvery)
		if reaches, leads := l.series("catchment_central_store_reachable"), l.series("catchment_central_leads"); reaches != "0" || leads != "0" {
			t.Errorf("then: reaches %s, leads %s", reaches, leads)
		}
	})
}
