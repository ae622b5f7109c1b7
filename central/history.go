package central

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/central/store"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

const (
	// recordEvery is how often the fleet is written down when it has changed,
	// recordLeast when it has not, and recordKeep how long that is kept.
	recordEvery = time.Minute
	recordLeast = 10 * time.Minute
	recordKeep  = 7 * 24 * time.Hour
	// recordMost bounds the nodes in one record; of more only those stand in it that
	// are not plainly announced.
	recordMost = 500
	// peaksMost bounds how many nodes' peaks are written at a time.
	peaksMost = 2000
)

// historyKey sorts by time.
func historyKey(at time.Time) string { return fmt.Sprintf("%s/%012d", kindHistory, at.Unix()) }

// remembers writes down how the fleet stands and what its nodes carry at most.
func (f *Fleet) remembers(ctx context.Context) {
	var last *centralv1.FleetStatus
	var at time.Time
	for pause(ctx, recordEvery) {
		now := time.Now()
		if !f.leads(now) {
			continue
		}
		f.mu.RLock()
		s := compact(f.w.status(f.view.Load().fleet, now))
		f.mu.RUnlock()
		if now.Sub(at) >= recordLeast || !sameFleet(last, s) {
			if err := f.record(ctx, s, now); err != nil && ctx.Err() == nil {
				f.log.Warn("the fleet's history cannot be written", "error", err)
				continue
			}
			last, at = s, now
		}
		if err := f.recordPeaks(ctx, now); err != nil && ctx.Err() == nil {
			f.log.Warn("the nodes' peaks cannot be written", "error", err)
		}
	}
}

// record writes one status and deletes what is too old.
func (f *Fleet) record(ctx context.Context, s *centralv1.FleetStatus, now time.Time) error {
	op, err := put(historyKey(now), message[*centralv1.FleetStatus]{s})
	if err != nil {
		return err
	}
	old, _, err := f.store.Range(ctx, store.Span{From: kindHistory + "/", To: historyKey(now.Add(-recordKeep)), Limit: 20})
	if err != nil {
		return err
	}
	ops := []store.Op{op}
	for _, item := range old {
		ops = append(ops, store.Op{Key: item.Key})
	}
	return f.commit(ctx, change{ops: ops})
}

// compact drops what nobody asks of the past, and plain nodes where there are many.
func compact(s *centralv1.FleetStatus) *centralv1.FleetStatus {
	many := len(s.Nodes) > recordMost
	var nodes []*centralv1.Node
	for _, n := range s.Nodes {
		if many && (n.State == stateAnnounced || len(nodes) == recordMost) {
			continue
		}
		nodes = append(nodes, &centralv1.Node{Name: n.Name, Site: n.Site, State: n.State, Reason: n.Reason, Tags: n.Tags, Disabled: n.Disabled,
			Standby: n.Standby, Connected: n.Connected, LastSeen: n.LastSeen, Version: n.Version})
	}
	s.Nodes = nodes
	return s
}

// sameFleet compares but for times and loads.
func sameFleet(a, b *centralv1.FleetStatus) bool {
	if a == nil || b == nil {
		return a == b
	}
	a, b = proto.CloneOf(a), proto.CloneOf(b)
	for _, s := range []*centralv1.FleetStatus{a, b} {
		s.At, s.Summary = nil, ""
		for _, n := range s.Nodes {
			n.LastSeen = nil
		}
		for _, svc := range s.Services {
			svc.Load = 0
		}
	}
	return proto.Equal(a, b)
}

// past is the fleet as it was written down last before a moment.
func (f *Fleet) past(ctx context.Context, at time.Time) (*centralv1.FleetStatus, error) {
	from := at.Add(-2 * recordLeast)
	items, _, err := f.store.Range(ctx, store.Span{From: historyKey(from), To: historyKey(at.Add(time.Second))})
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, badf("nothing is known of the fleet at %s: a centre that runs writes it down once a minute, and keeps it for %.0f days", at.UTC().Format(time.RFC3339), recordKeep.Hours()/24)
	}
	var m message[*centralv1.FleetStatus]
	if err := m.UnmarshalJSON(items[len(items)-1].Value); err != nil {
		return nil, fmt.Errorf("%s: %w", items[len(items)-1].Key, err)
	}
	return m.m, nil
}

// recordPeaks keeps the highest load of each node and hour. What rises by less
// than a twentieth is not written.
func (f *Fleet) recordPeaks(ctx context.Context, now time.Time) error {
	f.mu.RLock()
	changes := f.w.newPeaks(now)
	f.mu.RUnlock()
	var errs []error
	for c := range slices.Chunk(changes, store.MaxOps/4) {
		var all change
		for _, one := range c {
			all.ops, all.conds = append(all.ops, one.ops...), append(all.conds, one.conds...)
		}
		if err := f.commit(ctx, all); err != nil && !errors.Is(err, store.ErrConflict) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (w *world) newPeaks(now time.Time) []change {
	var out []change
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		live, ok := w.heardOf(name)
		_, load := figures(live.report().GetLinks())
		if !ok || !w.seen(live, now) || !load.Known || len(out) == peaksMost {
			continue
		}
		before := w.peaks.get(name)
		if known := thisHour(before, now); known > 0 && load.Value < 1.05*known {
			continue
		}
		after := before.Add(now, load.Value)
		if after == before {
			continue
		}
		if op, err := put(key(kindPeaks, name), after); err == nil { // plain figures can be written
			out = append(out, change{ops: []store.Op{op}, conds: []store.Cond{w.peaks.cond(kindPeaks, name)}})
		}
	}
	return out
}

// thisHour is the peak of the hour of now; 0: none is known.
func thisHour(p fleet.Peaks, now time.Time) float64 {
	hour := now.Unix() / 3600
	for _, h := range p.Hours {
		if h.Hour == hour {
			return h.Load
		}
	}
	return 0
}
