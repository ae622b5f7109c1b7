package edge

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy"
)

func TestLeavingIsWithdrawSettleHoldVIPsClose(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		w.stop()
		want := []string{
			"0s tell transit []", "0s tell ix []", "0s settled", // withdrawn, and on the wire
			"2s vips []", // after the hold
			`2s close "catchment: node msk1 leaves"`,
			"2s defaults map[]", "2s defaults closed", "2s vips closed",
		}
		if got := w.journal.since(n); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestLeavingIsBounded(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.locked(func() { w.slow, w.hangs = true, true })
		n, begin := w.journal.len(), time.Now()
		w.stop()
		if took := time.Since(begin); took != settleTime+2*time.Second+closeTime {
			t.Errorf("it took %v", took)
		}
		got := w.journal.since(n)
		if !slices.Contains(got, "3s not settled") || !slices.Contains(got, "5s vips []") {
			t.Errorf("%q", got)
		}
		if most := settleTime + w.node.cfg.LeaveHold + closeTime + writeTime; most >= 10*time.Second {
			t.Errorf("with the default hold it may take %v", most)
		}
	})
}

func TestLeavingGoesOnWhateverFails(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.locked(func() { w.refuses["transit"] = errors.New("no room") })
		w.vips.mu.Lock()
		w.vips.dead = errors.New("no netlink")
		w.vips.mu.Unlock()
		w.defaults.breaks(errors.New("no netlink"))
		n := w.journal.len()
		w.stop()
		if got := w.journal.since(n, "close"); len(got) != 3 {
			t.Errorf("closed: %q", got)
		}
		for _, text := range []string{"msg=withdraw", "VIPs could not be taken away", "default routes could not be taken away", "msg=left"} {
			if !strings.Contains(w.log.String(), text) {
				t.Errorf("the log has no %q", text)
			}
		}
	})
}

func TestRequestsAreRefusedAtOnceWhileTheNodeLeaves(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.leave()
		w.rest() // in the hold
		begin := time.Now()
		ctx := context.Background()
		_, status := w.node.Snapshot(ctx)
		_, _, why := w.node.Why(ctx, "", 1)
		_, _, word := w.node.SetOverride(ctx, video, Word{Verb: policy.Drain, Reason: "x"})
		_, _, plan := w.node.Plan(ctx, w.config())
		_, reload := w.node.ReloadFile(ctx)
		for i, err := range []error{status, why, word, plan, reload, w.node.Confirm(ctx)} {
			if !errors.Is(err, errLeaving) {
				t.Errorf("request %d: %v", i, err)
			}
		}
		w.node.hearDefault("ix", oneDefault("10.77.2.2")) // must not wait for a loop that has ended
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %v", took)
		}
		select {
		case <-w.node.Gone():
			t.Error("gone before the hold was over")
		default:
		}
	})
}

func TestARequestEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		node, err := New(w.config(), nil, w.options())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := node.Snapshot(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with no loop running: %v", err)
		}
		w.adopt(node) // so that it is freed
		w.rest()
	})
}

func TestWhatWaitsForConfirmationIsDroppedWhenTheNodeLeaves(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if _, err := w.apply(time.Hour, tagged...); err != nil {
			t.Fatal(err)
		}
		w.stop()
		w.clean()
		if w.content() != w.text() {
			t.Errorf("the file was changed")
		}
	})
}

func TestTheStateIsOnDiskWhenTheNodeHasLeft(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.report("web", "refused")
		w.rest()
		w.stop()
		state, err := os.ReadFile(w.node.store.path)
		if err != nil || !strings.Contains(string(state), `"held": true`) {
			t.Errorf("%s, %v", state, err)
		}
	})
}
