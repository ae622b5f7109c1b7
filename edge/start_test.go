package edge

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
)

// announced are the lines of the journal that tell a neighbour of a route.
func (w *world) announced() []string { return w.journal.since(0, "tell", " via ") }

func TestVIPsStandBeforeTheFirstRoute(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		lines := w.journal.since(0)
		vips := slices.Index(lines, "0s vips [lo 198.51.100.1/32 lo 203.0.113.53/32]")
		route := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, " via ") })
		if vips < 0 || route < 0 || route < vips {
			t.Errorf("VIPs at line %d, the first route at line %d of %q", vips, route, lines)
		}
		w.expect("transit", transit4, transit6, dns4)
		w.expect("ix", ix4, ix6)
	})
}

func TestNothingIsAnnouncedBeforeVerdictAndWayBackAreKnown(t *testing.T) {
	hard := func(w *world) { w.report("web", "") }
	back := func(w *world) { w.wayBack <- host.WayBack{IPv4: true, IPv6: true} }
	for name, steps := range map[string][2]func(*world){"verdict first": {hard, back}, "way back first": {back, hard}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.start()
				w.pass(time.Minute)
				steps[0](w)
				w.pass(time.Minute)
				if lines := w.announced(); lines != nil {
					t.Errorf("told too early: %q", lines)
				}
				steps[1](w)
				w.rest()
				w.expect("ix", ix4, ix6)
				w.expectState("video", "announced normal")
			})
		})
	}
}

func TestWithoutWayBackTheVerdictIsEnough(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start("require: default", "require: none")
		w.rest()
		w.report("web", "")
		w.rest()
		w.expect("ix", ix4, ix6)
	})
}

func TestAHardFailureWithdrawsEverywhereAtOnce(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.pass(time.Minute)
		n := w.journal.len()
		w.report("web", "connection refused")
		w.rest()
		w.expect("ix")
		w.expect("transit", dns4)
		want := []string{"1m0s tell transit [203.0.113.0/24 via 10.77.1.1]", "1m0s tell ix []"}
		if got := w.journal.since(n); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		w.expectState("video", "withdrawn hard_failure web: connection refused")
		w.expectState("dns", "announced normal")
	})
}

func TestAServiceReturnsAfterUninterruptedHealth(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.report("web", "refused")
		w.pass(time.Second)
		w.report("web", "")
		w.pass(10*time.Second - 1)
		w.expect("ix")
		w.pass(1)
		w.expect("ix", ix4, ix6)
	})
}

func TestAHoldGoesOnAfterARestart(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.report("web", "refused")
		w.rest()
		w.stop()
		w.start()
		w.well()
		w.expectState("video", "withdrawn hard_failure healthy again; returns after 10s without a failure")
		w.pass(10 * time.Second)
		w.expect("ix", ix4, ix6)
	})
}

func TestAFlappingCheckChangesTheAnnouncementOnce(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		for range 600 { // F8: 10 minutes at 1 Hz
			w.report("web", "refused")
			w.pass(500 * time.Millisecond)
			w.report("web", "")
			w.pass(500 * time.Millisecond)
		}
		if lines := w.journal.since(n, "tell ix"); len(lines) != 1 {
			t.Errorf("%d changes: %q", len(lines), lines)
		}
		w.pass(10 * time.Second)
		w.expect("ix", ix4, ix6)
		if lines := w.journal.since(n, "tell ix"); len(lines) != 2 {
			t.Errorf("%d changes with the return: %q", len(lines), lines)
		}
	})
}

func TestTheWayBackTakesItsOwnFamilyOnly(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.wayBack <- host.WayBack{IPv4: true}
		w.pass(5*time.Second - 1)
		w.expect("ix", ix4, ix6)
		w.pass(1)
		w.expect("ix", ix4)
		w.expect("transit", transit4, dns4)
		w.wayBack <- host.WayBack{IPv4: true, IPv6: true}
		w.pass(10 * time.Second)
		w.expect("ix", ix4, ix6)
		n := w.journal.len() // replaced within the grace: nothing
		w.wayBack <- host.WayBack{}
		w.pass(4 * time.Second)
		w.wayBack <- host.WayBack{IPv4: true, IPv6: true}
		w.pass(time.Minute)
		if lines := w.journal.since(n); lines != nil {
			t.Errorf("%q", lines)
		}
	})
}

func TestAWayBackWatchThatFailsIsStartedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		tries := 0
		o := w.options()
		o.WayBack = func(ctx context.Context, report func(host.WayBack)) error {
			if tries++; tries < 3 {
				return errors.New("no netlink")
			}
			return w.watchWayBack(ctx, report)
		}
		node, err := New(w.config(), nil, o)
		if err != nil {
			t.Fatal(err)
		}
		w.adopt(node)
		w.pass(2 * time.Second)
		w.well()
		w.expect("ix", ix4, ix6)
		if tries != 3 {
			t.Errorf("%d tries", tries)
		}
	})
}

func TestANodeThatCannotStartSaysWhyAndLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.rejects = errors.New("neighbour transit: no such device")
		w.start()
		if err := <-w.left; err == nil || !strings.Contains(err.Error(), "no such device") {
			t.Errorf("Run: %v", err)
		}
		lines := w.journal.since(0)
		if !slices.Equal(lines, []string{`0s close ""`, "0s defaults closed", "0s vips closed"}) {
			t.Errorf("%q", lines)
		}
		if _, err := w.node.Snapshot(context.Background()); !errors.Is(err, errLeaving) {
			t.Errorf("Snapshot: %v", err)
		}
	})
}

func TestADamagedStateIsAStartError(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "cut": `{"overrides": [{"serv`, "no object": "7", "unknown verb": `{"overrides":[{"service":"video","verb":"stop"}]}`,
		"no verb": `{"overrides":[{"service":"video"}]}`, "no service": `{"overrides":[{"verb":"drain"}]}`,
	} {
		w := newWorld(t)
		c := w.config()
		if err := os.MkdirAll(c.StateDir, 0o750); err != nil {
			t.Fatal(err)
		}
		path := c.StateDir + "/state.json"
		if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
		_, err := New(c, nil, w.options())
		if err == nil || !strings.Contains(err.Error(), path+" is damaged") || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadFile(path); string(left) != content {
			t.Errorf("%s: the file was changed to %q", name, left)
		}
	}
}

func TestAStateDirectoryThatCannotBeMadeIsAStartError(t *testing.T) {
	w := newWorld(t)
	c := w.config()
	if err := os.WriteFile(c.StateDir, nil, 0o600); err != nil { // a file in its place
		t.Fatal(err)
	}
	if _, err := New(c, nil, w.options()); err == nil || !strings.Contains(err.Error(), "state_dir") {
		t.Errorf("New: %v", err)
	}
}

func TestWithoutAWatchOfAddressesTheNodeRunsAllTheSame(t *testing.T) {
	for name, spoil := range map[string]func(w *world){
		"it cannot be begun": func(w *world) { w.vips.news = nil },
		"it ends":            func(w *world) { close(w.vips.news) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				spoil(w)
				w.start()
				w.well()
				w.expect("ix", ix4, ix6)
				n := w.journal.len()
				w.pass(time.Minute)
				if got := w.journal.since(n); got != nil {
					t.Errorf("the loop does not come to rest: %q", got)
				}
			})
		})
	}
}

func TestWarningsOfTheConfigurationAreLogged(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		node, err := New(w.config(), []config.Problem{{File: "/etc/catchment/edge.yaml", Line: 7, Path: "services[0]", Text: "no checks"}}, w.options())
		if err != nil {
			t.Fatal(err)
		}
		w.adopt(node)
		w.rest()
		if !strings.Contains(w.log.String(), "services[0]: no checks") {
			t.Errorf("%s", w.log)
		}
		if got := w.snapshot().proto().GetWarnings(); len(got) != 1 || !strings.Contains(got[0], "no checks") {
			t.Errorf("in the status: %q", got)
		}
	})
}
