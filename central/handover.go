package central

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// handOver is how long a node that was told to stay in a hard failure, and asks for
// leave, waits for another to confirm that it stays instead. That takes a report of
// the other; a refusal at once would make such a node one that nobody can drain.
const handOver = 3 * time.Second

// waitsForSuccessor reports whether the answer to a request is to wait.
func (f *Fleet) waitsForSuccessor(s *session, id string, r *centralv1.Refusal) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.GetLimit() != string(fleet.Keeper) {
		delete(s.waiting, id)
		return false
	}
	since, waits := s.waiting[id]
	if !waits {
		s.waiting[id] = time.Now()
		time.AfterFunc(handOver, f.touch)
		return true
	}
	return time.Since(since) < handOver
}

// reconsider answers those requests anew that wait for a successor.
func (f *Fleet) reconsider(ctx context.Context) {
	type request struct {
		s    *session
		l    liveDoc
		want *centralv1.GrantRequest
	}
	var all []request
	f.mu.RLock()
	for _, s := range f.sessions {
		l := f.w.local[s.node]
		if len(s.waiting) == 0 || l.Epoch != s.epoch {
			continue
		}
		for _, want := range l.report().GetWants() {
			if _, waits := s.waiting[want.GetId()]; waits && s.refusals[want.GetId()] == nil {
				all = append(all, request{s, l, want})
			}
		}
	}
	f.mu.RUnlock()
	slices.SortFunc(all, func(a, b request) int {
		return cmp.Or(cmp.Compare(a.s.node, b.s.node), cmp.Compare(a.want.GetId(), b.want.GetId()))
	})
	for _, r := range all {
		if err := f.answer(ctx, r.s, r.l, r.want); err != nil && ctx.Err() == nil {
			f.log.Warn("a request was not answered; the next report settles it", "node", r.s.node, "error", err)
			if errors.Is(err, store.ErrUnavailable) {
				return // as carryOut
			}
		}
		r.s.poke()
	}
}
