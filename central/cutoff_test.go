package central

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// cutStore is a store that cannot be reached at times.
type cutStore struct {
	store.Store
	cut atomic.Bool
}

// Commit fails as an etcd without a majority does.
func (c *cutStore) Commit(ctx context.Context, conds []store.Cond, ops []store.Op) (store.Revision, error) {
	if c.cut.Load() {
		return 0, store.ErrUnavailable
	}
	return c.Store.Commit(ctx, conds, ops)
}

func TestACentreWithoutItsStoreSendsItsEdgesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.kill()
		cut := &cutStore{Store: l.store}
		l.f = NewFleet(cut, Settings{ASN: 57629})
		health := []bool{}
		l.f.tellHealth = func(ok bool) { health = append(health, ok) }
		l.run()
		edges := l.join(2)
		pass(time.Minute)
		cut.cut.Store(true)
		edges[0].set(func(e *simEdge) { e.soft = false })
		pass(2 * time.Second)
		if s := edges[0].tell().GetServices()[0].GetState(); s != stateSteered {
			t.Errorf("a grant without a store: the edge is %s", s)
		}
		if _, err := l.api.Freeze(l.ctx(), &centralv1.FreezeRequest{Reason: "x"}); status.Code(err) != codes.Unavailable {
			t.Errorf("a change without a store: %v", err)
		}
		pass(15 * time.Second)
		select {
		case <-edges[1].done:
		default:
			t.Error("the edges stay at a centre that is cut off")
		}
		if leads, reaches := l.series("catchment_central_leads"), l.series("catchment_central_store_reachable"); leads != "0" || reaches != "0" {
			t.Errorf("a centre that is cut off: leads %s, reaches its store %s", leads, reaches)
		}
		if _, err := l.f.open(t.Context(), edges[1].hello); status.Code(failed(err)) != codes.Unavailable || !l.f.cut.Load() {
			t.Errorf("an edge comes nevertheless: %v", err)
		}
		cut.cut.Store(false)
		pass(5 * time.Second)
		for _, e := range edges {
			e.leave()
			e.connect()
		}
		pass(time.Minute)
		if leads := l.series("catchment_central_leads"); leads != "1" {
			t.Errorf("back at its store: leads %s", leads)
		}
		if l.announcing() != 1 || l.f.cut.Load() || len(health) != 2 || health[0] || !health[1] {
			t.Errorf("afterwards %d announce, health %v", l.announcing(), health)
		}
	})
}

// lossyStore loses what is on its way, as a cluster does whose leader dies.
type lossyStore struct {
	store.Store
	kind     string        // of documents that are lost; empty: all
	patience time.Duration // until that is noticed; 0: it is not
	lose     atomic.Int32  // commits to come
}

// Commit gives no answer to what is lost.
func (s *lossyStore) Commit(ctx context.Context, conds []store.Cond, ops []store.Op) (store.Revision, error) {
	if kind, _ := split(ops[0].Key); (s.kind == "" || s.kind == kind) && s.lose.Add(-1) >= 0 {
		if s.patience > 0 && pause(ctx, s.patience) {
			return 0, store.ErrUnavailable
		}
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	return s.Store.Commit(ctx, conds, ops)
}

func TestAStreamOutlivesTheDeathOfALeader(t *testing.T) {
	for _, tt := range []struct {
		lost  int32
		after time.Duration // until there is an answer
		err   error
	}{
		{0, 0, nil},
		{1, insistEvery, nil},
		{insistTries - 1, (insistTries - 1) * insistEvery, nil},
		{insistTries, insistTries * insistEvery, store.ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			memory := store.NewMemory()
			defer memory.Close()
			lossy := &lossyStore{Store: memory}
			f := NewFleet(lossy, Settings{ASN: 57629, Cluster: true})
			lossy.lose.Store(tt.lost)
			begun := time.Now()
			s, err := f.open(t.Context(), &centralv1.Hello{Node: "n01"})
			if took := time.Since(begun); !errors.Is(err, tt.err) || (s == nil) != (err != nil) || took != tt.after {
				t.Errorf("%d lost: %v after %v", tt.lost, err, took)
			}
			lossy.lose.Store(1)
			gone, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			if _, err := f.open(gone, &centralv1.Hello{Node: "n02"}); !errors.Is(err, context.Canceled) {
				t.Errorf("an edge that has gone is waited for: %v", err)
			}
		})
	}
}

// To wait for the store is no reason to rest.
func TestSteeringGoesOnAfterALostCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, fleet.Limits{MinAnnouncing: 1})
		l.kill()
		lossy := &lossyStore{Store: l.store, kind: kindKeep, patience: 3 * time.Second}
		l.f = NewFleet(lossy, Settings{ASN: 57629, Services: map[string]fleet.Limits{video: l.limit}})
		l.run()
		edges := l.join(3)
		pass(time.Minute)
		i := slices.IndexFunc(edges, func(e *simEdge) bool { return len(e.intent().GetKeep()) == 1 })
		lossy.lose.Store(1)
		edges[i].set(func(e *simEdge) { e.soft = false }) // another is to be told to stay
		pass(lossy.patience + tickEvery + time.Second)
		if g := l.fleet().GetGrants(); lossy.lose.Load() > 0 || len(g) != 1 {
			t.Errorf("grants %v, %d commits to lose", g, lossy.lose.Load())
		}
	})
}
