package edge

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
)

func TestAFailingSetIsRetriedUntilWhatIsWantedStands(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.locked(func() { w.refuses["ix"] = errors.New("no room") })
		n := w.journal.len()
		w.report("web", "refused")
		w.pass(2500 * time.Millisecond)
		if got, want := w.journal.since(n), []string{"0s tell transit [203.0.113.0/24 via 10.77.1.1]", "0s refused ix", "1s refused ix", "2s refused ix"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if n := strings.Count(w.log.String(), "could not be told"); n != 1 {
			t.Errorf("%d lines in the log:\n%s", n, w.log)
		}
		w.locked(func() { w.refuses["ix"] = nil })
		n = w.journal.len()
		w.pass(time.Second)
		if got, want := w.journal.since(n), []string{"3s tell ix []"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if !strings.Contains(w.log.String(), "could be told after all") {
			t.Errorf("the log does not tell the end:\n%s", w.log)
		}
		w.pass(time.Minute)
		if got := w.journal.since(n); len(got) != 1 {
			t.Errorf("told again: %q", got)
		}
	})
}

func TestANewWantIsToldAtOnceWhileAnOldOneFails(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.locked(func() { w.refuses["ix"] = errors.New("no room") })
		w.report("origin", "slow")
		w.pass(300 * time.Millisecond)
		w.locked(func() { w.refuses["ix"] = nil })
		n := w.journal.len()
		w.report("web", "refused")
		w.rest()
		if got := w.journal.since(n, "tell ix"); !slices.Equal(got, []string{"300ms tell ix []"}) {
			t.Errorf("%q", got)
		}
	})
}

func TestProbesDoNotRepeatWhatFails(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.locked(func() { w.refuses["ix"] = errors.New("no room") })
		n := w.journal.len()
		w.report("web", "refused")
		for range 5 {
			w.pass(100 * time.Millisecond)
			w.report("web", "refused")
		}
		w.rest()
		if got := w.journal.since(n, "refused ix"); len(got) != 1 {
			t.Errorf("%q", got)
		}
	})
}

func TestAVIPThatCannotStandWithdrawsItsServiceOnly(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.vips.breaks("198.51.100.1/32", errors.New("the address is in use on eth0"))
		n := w.journal.len()
		w.vips.news <- struct{}{}
		w.rest()
		w.expect("ix")
		w.expect("transit", dns4)
		w.expectState("video", "withdrawn hard_failure VIP 198.51.100.1/32 on lo: the address is in use on eth0")
		w.expectState("dns", "announced normal")
		w.pass(3500 * time.Millisecond)
		if got := w.journal.since(n, "vips"); len(got) != 4 {
			t.Errorf("tried %d times in 3.5 s: %q", len(got), got)
		}
		if n := strings.Count(w.log.String(), "msg=VIPs"); n != 1 {
			t.Errorf("%d lines in the log", n)
		}
		w.vips.breaks("198.51.100.1/32", nil)
		w.pass(500*time.Millisecond + 10*time.Second) // the next try, and the wait after a failure
		w.expect("ix", ix4, ix6)
	})
}

func TestWhenNoVIPCanBeSetNothingIsAnnounced(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.vips.dead = errors.New("netlink: permission denied")
		w.start()
		w.well()
		w.pass(time.Minute)
		if lines := w.announced(); lines != nil {
			t.Errorf("%q", lines)
		}
		w.expectState("dns", "withdrawn hard_failure netlink: permission denied")
	})
}

func TestAQuietMinuteIsQuiet(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		log := w.log.Len()
		for range 60 { // U13
			w.report("web", "")
			w.report("origin", "")
			w.report("resolver", "")
			w.poke()
			w.wayBack <- host.WayBack{IPv4: true, IPv6: true}
			w.pass(time.Second)
		}
		if lines := w.journal.since(n); lines != nil {
			t.Errorf("in a quiet minute: %q", lines)
		}
		if w.log.Len() != log {
			t.Errorf("in a quiet minute the log grew:\n%s", w.log.String()[log:])
		}
	})
}

// oneDefault is a neighbour's announcement of an IPv4 default route.
func oneDefault(hop string) host.DefaultChange {
	return host.DefaultChange{IPv4: host.FamilyChange{Change: host.Announced, NextHop: addr(hop)}}
}

const accepting = "kind: ix, "

func TestDefaultRoutesAreInstalledAndRetried(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.defaults.breaks(errors.New("no such network"))
		n := w.journal.len()
		w.node.hearDefault("ix", oneDefault("10.77.2.2"))
		w.pass(1500 * time.Millisecond)
		w.defaults.breaks(nil)
		w.pass(time.Minute)
		want := "defaults map[ix:{10.77.2.2 invalid IP}]"
		if got := w.journal.since(n); !slices.Equal(got, []string{"0s " + want, "1s " + want, "2s " + want}) {
			t.Errorf("%q", got)
		}
		if n := strings.Count(w.log.String(), "default route could not be installed"); n != 1 {
			t.Errorf("%d lines in the log", n)
		}
		n = w.journal.len()
		w.node.hearDefault("ix", host.DefaultChange{IPv6: host.FamilyChange{Change: host.Announced, NextHop: addr("fe80::1")}})
		w.rest()
		w.node.hearDefault("ix", host.DefaultChange{IPv4: host.FamilyChange{Change: host.Withdrawn}, IPv6: host.FamilyChange{Change: host.Withdrawn}})
		w.node.hearDefault("transit", oneDefault("10.77.1.2")) // it was not asked for one
		w.rest()
		if got := w.journal.since(n); !slices.Equal(got, []string{"1m1.5s defaults map[ix:{10.77.2.2 fe80::1%eth7}]", "1m1.5s defaults map[]"}) {
			t.Errorf("%q", got)
		}
	}, accepting, accepting+"accept_default: true, bind_device: eth7, ")
}

func TestAReloadForgetsTheDefaultOfASessionThatEnds(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.node.hearDefault("ix", oneDefault("10.77.2.2"))
		w.rest()
		n := w.journal.len()
		w.reload()
		if got := w.journal.since(n, "defaults"); !slices.Equal(got, []string{"0s defaults map[]"}) {
			t.Errorf("%q", got)
		}
	}, accepting, accepting+"accept_default: true, ")
}

// TestDefaultRoutesOfAnEarlierRunGo starts a node whose last run was killed.
func TestDefaultRoutesOfAnEarlierRunGo(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if got := w.journal.since(0, "defaults map[]"); len(got) != 1 {
			t.Errorf("nobody gives a default route here: %q, want one Set of none", got)
		}
	})
	up(t, func(t *testing.T, w *world) {
		w.pass(leftoverTime - time.Second)
		if got := w.journal.since(0, "defaults"); got != nil {
			t.Errorf("the sessions have not had their time: %q", got)
		}
		w.pass(2 * time.Second)
		if got := w.journal.since(0, "defaults map[]"); len(got) != 1 {
			t.Errorf("after a minute: %q, want one Set of none", got)
		}
	}, accepting, accepting+"accept_default: true, ")
}
