package edge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy"
)

// reload takes up the base configuration with edits.
func (w *world) reload(edits ...string) []Plan {
	w.t.Helper()
	plans, err := w.node.Reload(context.Background(), w.config(edits...), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.rest()
	return plans
}

// Edits of the base configuration.
const (
	web      = `{name: web, http: {url: "http://198.51.100.1:8080/health"}}`
	dnsPart  = "  - name: dns\n    prefixes: [203.0.113.0/24]\n    vips: [203.0.113.53/32]\n    neighbors: [transit]\n    checks:\n      - {name: resolver, tcp: {address: \"203.0.113.53:53\"}}\n"
	ixPart   = "address: 10.77.2.2, asn: 65002, kind: ix, "
	transitA = "address: 10.77.1.2, asn: 65001, kind: transit, "
)

func TestAReloadOfTheSameChangesNothing(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		w.reload()
		w.pass(time.Minute)
		if got := w.journal.since(n); !slices.Equal(got, []string{"0s sessions: 2, new []"}) {
			t.Errorf("%q", got) // U14
		}
		if w.started("web") != 1 || w.started("resolver") != 1 {
			t.Error("checks were started again")
		}
		w.expectState("video", "announced normal")
	})
}

func TestAChangeOfOneSetMakesNoDifferenceOutsideIt(t *testing.T) {
	up(t, func(t *testing.T, w *world) { // F3
		n := w.journal.len()
		w.reload(transitA, transitA+"prepend: 2, ")
		w.pass(time.Minute)
		want := "0s tell transit [198.51.100.0/24 via 10.77.1.1 +2 [57629:101] 2001:db8:100::/48 via fd77:1::1 +2 [57629:101] 203.0.113.0/24 via 10.77.1.1 +2]"
		if got := w.journal.since(n); !slices.Equal(got, []string{"0s sessions: 2, new []", want}) {
			t.Errorf("prepends at transit: %q", got)
		}
		n = w.journal.len()
		w.reload(transitA, transitA+"prepend: 2, ", `["57629:101"]`, `["57629:102"]`, web, strings.Replace(web, "}}", "}, interval: 2s, timeout: 1s}", 1))
		w.pass(time.Minute)
		if got := w.journal.since(n, "vips"); got != nil {
			t.Errorf("a change of video touched VIPs: %q", got)
		}
		if got := w.told("transit")[2]; got != "203.0.113.0/24 via 10.77.1.1 +2" {
			t.Errorf("a change of video changed dns: %s", got)
		}
		if w.started("resolver") != 1 || w.started("web") != 2 {
			t.Errorf("resolver started %d times, web %d times", w.started("resolver"), w.started("web"))
		}
	})
}

func TestAChangedSessionIsToldAllAgain(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		plans := w.reload(ixPart, ixPart+"hold_time: 30s, ")
		w.expect("ix", ix4, ix6)
		if got := w.journal.since(n, "tell"); len(got) != 1 || !strings.Contains(got[0], "tell ix") {
			t.Errorf("%q", got)
		}
		if plans[0].Session != "kept" || plans[1].Session != "restarted" {
			t.Errorf("%+v", plans)
		}
	})
}

func TestARemovedServiceIsWithdrawnBeforeItsVIPGoes(t *testing.T) {
	up(t, func(t *testing.T, w *world) { // U6
		n := w.journal.len()
		w.locked(func() { w.slow = true })
		w.reload(dnsPart, "")
		w.pass(time.Minute)
		if got := w.journal.since(n, "tell"); len(got) != 1 || !strings.HasPrefix(got[0], "0s tell transit") {
			t.Errorf("%q", got)
		}
		if got := w.vips.standing(); len(got) != 2 {
			t.Errorf("the VIP went before the withdrawal was sent: %q", got)
		}
		w.catchUp()
		w.pass(2*time.Second - 1)
		if got := w.vips.standing(); len(got) != 2 {
			t.Errorf("the VIP went before the hold was over: %q", got)
		}
		w.pass(1)
		if got := w.vips.standing(); !slices.Equal(got, []string{"lo 198.51.100.1/32"}) {
			t.Errorf("after the hold: %q", got)
		}
		if got := w.why("")[0]; got.Service != "dns" || got.To.Detail != "no longer configured" {
			t.Errorf("why: %+v", got)
		}
	})
}

func TestTheVIPStaysWhileAWithdrawalCannotBeTold(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.locked(func() { w.refuses["transit"] = errors.New("no room") })
		w.reload(dnsPart, "")
		w.pass(time.Minute)
		if got := w.vips.standing(); len(got) != 2 {
			t.Errorf("the VIP went: %q", got)
		}
		w.locked(func() { w.refuses["transit"] = nil })
		w.pass(4 * time.Second)
		if got := w.vips.standing(); len(got) != 1 {
			t.Errorf("the VIP stayed: %q", got)
		}
	})
}

func TestAVIPThatComesBackInTheHoldNeverGoes(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		w.reload(dnsPart, "")
		w.pass(time.Second)
		w.reload()
		w.pass(time.Minute)
		all := "vips [lo 198.51.100.1/32 lo 203.0.113.53/32]"
		if got := w.journal.since(n, "vips"); !slices.Equal(got, []string{"0s " + all, "1s " + all}) {
			t.Errorf("%q", got)
		}
	})
}

func TestWhatOnlyARestartCanChangeIsRefused(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		for _, tt := range [][3]string{
			{"node: msk1", "node: msk2", `node cannot change from "msk1" to "msk2" while the node runs: restart catchment-edge for that`},
			{"/state\n", "/other\n", "state_dir cannot change"},
			{"/edge.sock", "/other.sock", "control cannot change"},
			{"127.0.0.1:9179", "127.0.0.1:9180", "metrics cannot change"},
		} {
			c := w.config(tt[0], tt[1])
			_, reload := w.node.Reload(context.Background(), c, nil)
			_, _, plan := w.node.Plan(context.Background(), c)
			_, _, apply := w.node.Apply(context.Background(), c, nil, []byte(w.text(tt[0], tt[1])), ApplyOptions{})
			for _, err := range []error{reload, plan, apply} {
				if !errors.As(err, new(UsageError)) || !strings.HasPrefix(err.Error(), tt[2]) {
					t.Errorf("%q: %v, want %s", tt[1], err, tt[2])
				}
			}
		}
		w.pass(time.Minute)
		if got := w.journal.since(n); got != nil {
			t.Errorf("something was done: %q", got)
		}
		if w.content() != w.text() {
			t.Error("the file was changed")
		}
	})
}

func TestSessionsThatCannotBeMadeChangeNothing(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.locked(func() { w.rejects = errors.New("no such device") })
		n := w.journal.len()
		if _, err := w.node.Reload(context.Background(), w.config(dnsPart, "", `["57629:101"]`, `["57629:102"]`), nil); err == nil {
			t.Error("no error")
		}
		w.pass(time.Minute)
		if got := w.journal.since(n); got != nil {
			t.Errorf("something was done: %q", got)
		}
		s := w.snapshot()
		if len(s.Config.Services) != 2 || s.Reloaded || s.ReloadedAt.IsZero() {
			t.Errorf("%d services; reloaded %v at %v", len(s.Config.Services), s.Reloaded, s.ReloadedAt)
		}
	})
}

func TestReloadFileTakesUpTheFileOrChangesNothing(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.write(w.text(`["57629:101"]`, `["57629:102"]`))
		if _, err := w.node.ReloadFile(context.Background()); err != nil {
			t.Fatal(err)
		}
		w.rest()
		want := strings.Replace(ix4, "101", "102", 1)
		if got := w.told("ix")[0]; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		n := w.journal.len()
		w.write("node: [\n")
		if _, err := w.node.ReloadFile(context.Background()); err == nil {
			t.Error("a broken file was taken up")
		}
		w.rest()
		if got := w.journal.since(n); got != nil {
			t.Errorf("something was done: %q", got)
		}
		if s := w.snapshot(); s.Reloaded {
			t.Error("the failure does not show")
		}
		if !strings.Contains(w.log.String(), "was not taken up") {
			t.Errorf("the failure is not logged")
		}
	})
}

func TestWordsAndHoldsOutliveAReload(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(at("ix"), Word{Verb: policy.Withdraw})
		w.report("resolver", "refused")
		w.pass(time.Second)
		w.report("resolver", "")
		w.reload(`["57629:101"]`, `["57629:102"]`)
		w.expect("ix")
		w.pass(9 * time.Second)
		if got := len(w.told("transit")); got != 2 {
			t.Errorf("transit has %d routes; dns is on hold", got)
		}
		w.pass(time.Second)
		if got := len(w.told("transit")); got != 3 {
			t.Errorf("transit has %d routes; the hold of dns is over", got)
		}
	})
}

// TestARenamedServiceKeepsWordsAndHolds renames a service that an operator withdrew at one neighbour, and one whose
// return waits.
func TestARenamedServiceKeepsWordsAndHolds(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(at("ix"), Word{Verb: policy.Withdraw})
		w.report("resolver", "refused")
		w.pass(time.Second)
		w.report("resolver", "")
		w.rest()
		for _, p := range w.reload("name: video", "name: film", "name: dns", "name: names") {
			if len(p.Announced)+len(p.Changed)+len(p.Withdrawn) > 0 {
				t.Errorf("a plan for new names changes something: %+v", p)
			}
		}
		w.expect("ix")
		w.pass(9 * time.Second)
		if got := len(w.told("transit")); got != 2 {
			t.Errorf("transit has %d routes; dns is on hold", got)
		}
		w.pass(time.Second)
		if got := len(w.told("transit")); got != 3 {
			t.Errorf("transit has %d routes; the hold of dns is over", got)
		}
		w.reload() // the old names again: no word is there twice
		if got := len(w.snapshot().Overrides); got != 2 {
			t.Errorf("%d overrides, want one under each name", got)
		}
		w.expect("ix")
	})
}
