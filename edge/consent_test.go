package edge

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// ofCentre are edits on top of those of a node with a centre.
func ofCentre(edits ...string) []string {
	return append([]string{"leave_hold: 2s", centreLine + "leave_hold: 2s"}, edits...)
}

// asked is the newest request for leave that the centre has heard of a service.
func (c *centreFake) asked(service string) *centralv1.GrantRequest {
	var last *centralv1.GrantRequest
	for _, r := range c.all() {
		for _, g := range r.GetWants() {
			if g.GetService() == service {
				last = g
			}
		}
	}
	return last
}

func TestAnApplyThatLowersCapacityTakesAGrant(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		var refused RefusedError
		c.set(func() { c.refuses = "2 of 3 must announce" })
		text := w.content()
		if _, err := w.apply(0, ofCentre(dnsPart, "")...); !errors.As(err, &refused) ||
			!strings.Contains(err.Error(), "the fleet cannot spare dns here: min_announcing: 2 of 3 must announce (held by ams1)") {
			t.Errorf("%v", err)
		}
		w.pass(time.Minute)
		w.expect("transit", transit4, transit6, dns4)
		if w.content() != text {
			t.Error("the file was changed")
		}
		w.clean()
		if got := c.last(); len(got.GetWants())+len(got.GetHeld()) != 0 {
			t.Errorf("still asked for: %v", got)
		}
		if got := c.asked("dns"); got.GetKind() != "override" || strings.Join(got.GetPrefixes(), " ") != "203.0.113.0/24" {
			t.Errorf("asked for %v", got)
		}
		if _, err := w.apply(0, ofCentre(tagged...)...); err != nil { // which lowers nothing
			t.Error(err)
		}
		c.set(func() { c.grants = true })
		if _, err := w.apply(0, ofCentre(dnsPart, "")...); err != nil {
			t.Error(err)
		}
		w.pass(time.Second)
		w.expect("transit", transit4, transit6)
		if got := c.last(); len(got.GetWants())+len(got.GetHeld()) != 0 {
			t.Errorf("what is gone for good is held: %v", got)
		}
	})
}

func TestLeaveForATrialIsHeldUntilItIsConfirmedAndRevokedEndsIt(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.grants = true })
		part := ofCentre(`, "2001:db8:100::/48"]`, "]")
		if _, err := w.apply(10*time.Minute, part...); err != nil {
			t.Fatal(err)
		}
		w.pass(5 * time.Minute)
		if got := c.last().GetHeld(); len(got) != 1 {
			t.Fatalf("held %v", got)
		}
		c.set(func() {
			for id := range c.given {
				c.given[id] = "revoked"
			}
		})
		c.send()
		w.pass(time.Second)
		w.expect("ix", ix4, ix6)
		if !w.snapshot().RevertsAt.IsZero() || len(c.last().GetHeld()) != 0 {
			t.Error("the trial goes on")
		}
		if _, err := w.apply(10*time.Minute, part...); err != nil {
			t.Fatal(err)
		}
		if err := w.node.Confirm(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Minute)
		w.expect("ix", ix4)
		if got := c.last().GetHeld(); len(got) != 0 {
			t.Errorf("held %v", got)
		}
	})
}

func TestOverrideSafetyAppliesWithTheCentreAwayAndIsTold(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.kill()
		w.pass(time.Second)
		var refused RefusedError
		var usage UsageError
		gone := ofCentre(dnsPart, "")
		if _, err := w.apply(0, gone...); !errors.As(err, &refused) || !strings.Contains(err.Error(), "the centre is away") {
			t.Errorf("%v", err)
		}
		apply := func(reason string) error {
			_, _, err := w.node.Apply(context.Background(), w.config(gone...), nil, []byte(w.text(gone...)), ApplyOptions{OverrideSafety: true, Reason: reason, By: "uid 0"})
			w.rest()
			return err
		}
		if err := apply(" "); !errors.As(err, &usage) {
			t.Errorf("without a reason: %v", err)
		}
		if err := apply("rack on fire"); err != nil {
			t.Fatal(err)
		}
		w.expect("transit", transit4, transit6)
		w.pass(time.Hour)
		if v := w.snapshot().Centre; v.Overrides != 1 {
			t.Errorf("the centre has not heard of it, and the metric says %d", v.Overrides)
		}
		c.set(func() { c.refuses = "there is no dns" })
		c.revive()
		w.pass(time.Minute)
		if got := c.asked("dns"); !got.GetOverrideSafety() || !strings.Contains(got.GetReason(), "rack on fire") || !strings.Contains(got.GetReason(), "uid 0") {
			t.Errorf("the centre's audit never heard of it: %v", got)
		}
		if v := w.snapshot().Centre; v.Overrides != 0 {
			t.Errorf("told, and still %d", v.Overrides)
		}
	})
}

func TestAReloadThatTheFleetCannotSpareKeepsTheRunningConfiguration(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		for name, tt := range map[string]struct {
			shape func()
			want  string
			wait  time.Duration
		}{
			"refused": {func() { c.set(func() { c.refuses = "2 of 3 must announce" }) }, "2 of 3 must announce", 0},
			"silent":  {func() { c.set(func() { c.mute = true }) }, "has not answered within", answerTime},
		} {
			c.set(func() { c.mute, c.refuses, c.grants = false, "", false })
			tt.shape()
			w.write(w.text(ofCentre(dnsPart, "")...))
			began := time.Now()
			_, err := w.node.ReloadFile(context.Background())
			w.rest()
			if took := time.Since(began); err == nil || !strings.Contains(err.Error(), tt.want) || took > tt.wait+100*time.Millisecond {
				t.Errorf("%s: %v after %v", name, err, took)
			}
			w.expect("transit", transit4, transit6, dns4)
			warnings := strings.Join(w.snapshot().proto().GetWarnings(), "\n")
			if s := w.snapshot(); s.Reloaded || !strings.Contains(warnings, tt.want) || !strings.Contains(w.log.String(), tt.want) {
				t.Errorf("%s: reloaded %v, warnings %q", name, s.Reloaded, warnings)
			}
		}
		c.set(func() { c.mute, c.grants = false, true })
		w.pass(10 * time.Second)
		if _, err := w.node.ReloadFile(context.Background()); err != nil {
			t.Error(err)
		}
		w.rest()
		w.expect("transit", transit4, transit6)
	})
}

func TestSIGTERMNeverAsks(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		c.set(func() { c.mute = true })
		w.write(w.text(ofCentre(dnsPart, "")...))
		reload := make(chan error, 1)
		go func() { _, err := w.node.ReloadFile(context.Background()); reload <- err }()
		w.rest() // it waits for leave
		began := time.Now()
		w.leave()
		if err := <-reload; !errors.Is(err, errLeaving) {
			t.Errorf("the reload that waits: %v", err)
		}
		<-w.node.Gone()
		if took := time.Since(began); took > 3*time.Second || len(w.told("transit")) != 0 {
			t.Errorf("left after %v, and transit has %q", took, w.told("transit"))
		}
	})
}

func TestAPlanSaysWhatNeedsLeaveAndARollbackTakesIt(t *testing.T) {
	governed(t, func(t *testing.T, w *world, c *centreFake) {
		_, lost, err := w.node.Plan(context.Background(), w.config(ofCentre(dnsPart, "")...))
		if err != nil || len(lost) != 1 || lost[0].Service != "dns" {
			t.Errorf("%v, %v", lost, err)
		}
		c.set(func() { c.grants = true })
		if _, err := w.apply(0, ofCentre("prefixes: [198.51.100.0/24, ", "prefixes: [198.51.100.0/24, 192.0.2.0/24, ")...); err != nil {
			t.Fatal(err)
		}
		c.set(func() { c.grants, c.refuses = false, "2 of 3 must announce" })
		if _, err := w.node.Rollback(context.Background()); !errors.As(err, new(RefusedError)) {
			t.Errorf("%v", err)
		}
		if n := len(w.told("ix")); n != 3 {
			t.Errorf("%d routes", n)
		}
		if _, err := os.Stat(w.file()); err != nil {
			t.Error(err)
		}
	})
	up(t, func(t *testing.T, w *world) {
		if _, lost, err := w.node.Plan(context.Background(), w.config(dnsPart, "")); err != nil || lost != nil {
			t.Errorf("without a centre: %v, %v", lost, err)
		}
	})
}
