package edge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/policy"
)

// PinWord is what an operator asks for on the rung of a neighbour.
type PinWord struct {
	Neighbor string
	// Rung of the neighbour's ladder; 0: as configured.
	Rung   int
	Reason string
	By     string
	For    time.Duration // zero: until it is lifted
	// OverrideSafety takes rungs that load may not take without a grant, too.
	OverrideSafety bool
}

// SetPin keeps a neighbour on a rung, in place of an earlier pin. It returns all
// pins in force when that is on disk. A rung that does not exist is a UsageError,
// one that may withdraw the routes a RefusedError unless load may take such.
func (e *Edge) SetPin(ctx context.Context, w PinWord) ([]policy.Pin, error) {
	if err := (Word{Verb: policy.Announce, Reason: w.Reason, For: w.For}).check(); err != nil {
		return nil, err
	}
	pins, _, err := e.pin(ctx, w.Neighbor, func(now time.Time, n *config.Neighbor) ([]policy.Pin, error) {
		if err := w.allowed(n, e.cfg.Load.AllowWithdraw); err != nil {
			return nil, err
		}
		p := policy.Pin{Neighbor: w.Neighbor, Rung: w.Rung, Reason: w.Reason, By: w.By, Since: now}
		if w.For > 0 {
			p.Until = now.Add(w.For)
		}
		e.log.Info("operator", "verb", "pin", "neighbor", w.Neighbor, "rung", w.Rung, "reason", w.Reason, "by", w.By,
			"override_safety", w.OverrideSafety)
		return append(withoutPin(e.pins, w.Neighbor), p), nil
	})
	return pins, err
}

// allowed refuses rungs that are not there, or that load may not take.
func (w PinWord) allowed(n *config.Neighbor, mayWithdraw bool) error {
	switch {
	case w.Rung < 0 || w.Rung > len(n.Ladder):
		return usagef("%s has no rung %d: its ladder has %d; 0 is as configured", n.Name, w.Rung, len(n.Ladder))
	case w.Rung == 0 || mayWithdraw || w.OverrideSafety:
	case n.Ladder[w.Rung-1].Withdraw:
		return refusedf("rung %d of %s withdraws, and load.allow_withdraw is not set: `catchment edge withdraw SERVICE --neighbor %s` withdraws a service, --override-safety pins all the same", w.Rung, n.Name, n.Name)
	case n.Ladder[w.Rung-1].MayWithdraw():
		return refusedf("for rung %d of %s others may withdraw the routes, and load.allow_withdraw is not set: --override-safety pins all the same", w.Rung, n.Name)
	}
	return nil
}

// ClearPin lets the controller decide on a neighbour again. It returns the pins
// that are still in force, and whether there was one to lift.
func (e *Edge) ClearPin(ctx context.Context, neighbor, reason, by string) ([]policy.Pin, bool, error) {
	if err := (Word{Verb: policy.Announce, Reason: reason}).check(); err != nil {
		return nil, false, err
	}
	return e.pin(ctx, neighbor, func(time.Time, *config.Neighbor) ([]policy.Pin, error) {
		e.log.Info("operator", "verb", "unpin", "neighbor", neighbor, "reason", reason, "by", by)
		return withoutPin(e.pins, neighbor), nil
	})
}

// pin changes the pins in the loop and waits until they are on disk.
func (e *Edge) pin(ctx context.Context, neighbor string,
	change func(now time.Time, n *config.Neighbor) ([]policy.Pin, error),
) (out []policy.Pin, changed bool, err error) {
	var bad error
	var written <-chan error
	err = e.change(ctx, "operator", func(now time.Time) {
		n := neighborOf(e.cfg, neighbor)
		if n == nil {
			bad = usagef("there is no neighbour %q; this node has %s", neighbor, neighborNames(e.cfg))
			return
		}
		var next []policy.Pin
		if next, bad = change(now, n); bad != nil {
			return
		}
		changed = !slices.Equal(next, e.pins)
		e.pins = next
		out = slices.Clone(next)
		written = e.store.saved(e.stored())
	})
	if err := first(err, bad); err != nil {
		return nil, false, err
	}
	return out, changed, wait(ctx, written)
}

// wait waits until a word is on disk.
func wait(ctx context.Context, written <-chan error) error {
	select {
	case err := <-written:
		if err != nil {
			return fmt.Errorf("this is in force, but is not yet kept over a restart: %w", err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func withoutPin(pins []policy.Pin, neighbor string) []policy.Pin {
	return slices.DeleteFunc(slices.Clone(pins), func(p policy.Pin) bool { return p.Neighbor == neighbor })
}

// expirePins ends pins whose time is over, and says whether there were any.
func (e *Edge) expirePins(now time.Time) bool {
	ended := false
	for _, p := range e.pins {
		if !p.Active(now) {
			ended = true
			e.log.Info("pin ended", "neighbor", p.Neighbor, "rung", p.Rung)
			e.pins = withoutPin(e.pins, p.Neighbor)
		}
	}
	return ended
}

func neighborOf(c *config.Config, name string) *config.Neighbor {
	for i := range c.Neighbors {
		if c.Neighbors[i].Name == name {
			return &c.Neighbors[i]
		}
	}
	return nil
}

func neighborNames(c *config.Config) string {
	var names []string
	for _, n := range c.Neighbors {
		names = append(names, n.Name)
	}
	return strings.Join(names, ", ")
}
