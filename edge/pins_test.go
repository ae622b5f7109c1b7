package edge

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/policy"
)

// pin pins a neighbour and expects it to be taken.
func (w *world) pin(neighbor string, rung int, last time.Duration) {
	w.t.Helper()
	if _, err := w.node.SetPin(context.Background(), PinWord{Neighbor: neighbor, Rung: rung, For: last, Reason: "a test", By: "root"}); err != nil {
		w.t.Fatal(err)
	}
	w.rest()
}

// The routes of the base configuration at transit on the rungs of its ladder.
const (
	rung1v4  = "198.51.100.0/24 via 10.77.1.1 [57629:101 65001:3000]"
	rung1v6  = "2001:db8:100::/48 via fd77:1::1 [57629:101 65001:3000]"
	rung1dns = "203.0.113.0/24 via 10.77.1.1 [65001:3000]"
	rung2v4  = "198.51.100.0/24 via 10.77.1.1 +5 [57629:101 65001:3001]"
	rung2v6  = "2001:db8:100::/48 via fd77:1::1 +5 [57629:101 65001:3001]"
	rung2dns = "203.0.113.0/24 via 10.77.1.1 +5 [65001:3001]"
)

func TestAPinPutsANeighbourOnItsRung(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		w.pin("transit", 1, time.Hour)
		w.expect("transit", rung1v4, rung1v6, rung1dns)
		w.expect("ix", ix4, ix6)
		w.pin("transit", 2, time.Hour)
		w.expect("transit", rung2v4, rung2v6, rung2dns)
		if s := w.snapshot(); len(s.Pins) != 1 || s.Pins[0].Rung != 2 || s.Pins[0].By != "root" || s.Load.Moves["transit"] != 2 {
			t.Errorf("pins %+v, moves %v", s.Pins, s.Load.Moves)
		}
		w.expectState("dns", "steered load transit on rung 2 of 3, pinned: a test")
		if lines := w.journal.since(n, "sessions"); lines != nil {
			t.Errorf("sessions were touched: %q", lines)
		}
		w.pass(time.Hour)
		w.expect("transit", transit4, transit6, dns4)
		if s := w.snapshot(); len(s.Pins) != 0 {
			t.Errorf("after its time: %+v", s.Pins)
		}
		if text := w.log.String(); strings.Count(text, `msg="rung changed"`) != 3 || !strings.Contains(text, `msg="pin ended" neighbor=transit rung=2`) {
			t.Errorf("the log:\n%s", text)
		}
	})
}

func TestUnpinningSaysWhetherThereWasAPin(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.pin("transit", 1, 0)
		w.pin("ix", 0, 0)
		for _, want := range []bool{true, false} {
			pins, changed, err := w.node.ClearPin(context.Background(), "transit", "done", "root")
			if err != nil || changed != want || len(pins) != 1 || pins[0].Neighbor != "ix" {
				t.Errorf("%v, %v, %v; want changed %v and the pin at ix", pins, changed, err, want)
			}
			w.rest()
			w.expect("transit", transit4, transit6, dns4)
		}
	})
}

func TestAPinIsRefusedWhereItMakesNoSenseOrIsNotSafe(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		for _, tt := range []struct {
			word PinWord
			want string
			as   any
		}{
			{PinWord{Neighbor: "transit", Rung: 4}, "has no rung 4: its ladder has 3", new(UsageError)},
			{PinWord{Neighbor: "transit", Rung: -1}, "has no rung -1", new(UsageError)},
			{PinWord{Neighbor: "ix", Rung: 1}, "its ladder has 0", new(UsageError)},
			{PinWord{Neighbor: "tranist", Rung: 1}, "there is no neighbour", new(UsageError)},
			{PinWord{Rung: 1}, "there is no neighbour", new(UsageError)},
			{PinWord{Neighbor: "transit", Rung: 1, For: -1}, "--for", new(UsageError)},
			{PinWord{Neighbor: "transit", Rung: 3}, "rung 3 of transit withdraws", new(RefusedError)},
			{PinWord{Neighbor: "transit", Rung: 2}, "for rung 2 of transit others may withdraw", new(RefusedError)},
		} {
			tt.word.Reason = "x"
			if _, err := w.node.SetPin(context.Background(), tt.word); !errors.As(err, tt.as) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: %v, want %q", tt.word, err, tt.want)
			}
		}
		if _, err := w.node.SetPin(context.Background(), PinWord{Neighbor: "transit", Rung: 1}); !errors.As(err, new(UsageError)) {
			t.Errorf("without a reason: %v", err)
		}
		if got := w.journal.since(n); got != nil {
			t.Errorf("refused, and yet %q", got)
		}
		if _, err := w.node.SetPin(context.Background(), PinWord{Neighbor: "transit", Rung: 3, Reason: "x", OverrideSafety: true}); err != nil {
			t.Error(err)
		}
		w.rest()
		w.expect("transit")
	}, `{prepend: 5, community: ["65001:3001"]}`, `{prepend: 5, leaves: true}`)
}

func TestAPinSurvivesARestart(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start()
		w.well()
		w.pin("transit", 1, time.Hour)
		w.stop()
		w.start()
		w.well()
		w.expect("transit", rung1v4, rung1v6, rung1dns)
		w.pass(time.Hour)
		w.expect("transit", transit4, transit6, dns4)
	})
}

func TestAStateWithAPinOnNothingIsDamaged(t *testing.T) {
	for text, want := range map[string]string{
		`{"overrides":[],"pins":[{"rung":1,"reason":"x","since":"2026-01-01T00:00:00Z"}]}`:                 "pin 0 has no neighbour",
		`{"overrides":[],"pins":[{"neighbor":"a","rung":-1,"reason":"x","since":"2026-01-01T00:00:00Z"}]}`: "no rung",
	} {
		if err := new(stored).read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestAPinStaysBelowWhatAFailureOrADrainAsksFor(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.pin("transit", 1, 0)
		w.say(at("transit"), Word{Verb: policy.Drain})
		w.expect("transit", gshut(rung1v4), gshut(rung1v6), rung1dns)
		w.auto(video)
		w.report("origin", "502")
		w.rest()
		w.expect("transit", rung2v4, rung2v6, rung1dns)
		w.report("web", "refused")
		w.rest()
		w.expect("transit", rung1dns)
	})
}

func TestAnAnnounceGoesOverAPin(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.pin("transit", 1, 0)
		w.say(at("transit"), Word{Verb: policy.Announce})
		w.expect("transit", transit4, transit6, rung1dns)
	})
}

func TestARungOfSomePrefixesTouchesThoseAlone(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.pin("transit", 1, 0)
		w.expect("transit", rung1v4, transit6, dns4)
		w.pin("transit", 2, 0) // another prefix: the first stays where it is
		w.expect("transit", rung1v4, "2001:db8:100::/48 via fd77:1::1 +1 [57629:101]", dns4)
		if _, err := w.node.SetPin(context.Background(), PinWord{Neighbor: "transit", Rung: 3, Reason: "x", OverrideSafety: true}); err != nil {
			t.Fatal(err)
		}
		w.rest()
		w.expect("transit", "2001:db8:100::/48 via fd77:1::1 +1 [57629:101]", dns4)
	}, `[{community: ["65001:3000"]}, {prepend: 5, community: ["65001:3001"]}, {withdraw: true}]`,
		`[{community: ["65001:3000"], prefixes: [198.51.100.0/24]}, {prepend: 1, prefixes: ["2001:db8:100::/48"]}, {withdraw: true, prefixes: [198.51.100.0/24]}]`)
}

const ladderText = `[{community: ["65001:3000"]}, {prepend: 5, community: ["65001:3001"]}, {withdraw: true}]`

func TestAReloadKeepsNeighboursOnTheRungsThatTheyMean(t *testing.T) {
	for _, tt := range []struct {
		name, ladder string
		want         int
	}{
		{"same", ladderText, 2},
		{"one more below", `[{med: 10}, {community: ["65001:3000"]}, {prepend: 5, community: ["65001:3001"]}, {withdraw: true}]`, 3},
		{"one less below", `[{prepend: 5, community: ["65001:3001"]}, {withdraw: true}]`, 1},
		{"changed", `[{community: ["65001:3000"]}, {prepend: 4, community: ["65001:3001"]}, {withdraw: true}]`, 2},
		{"shorter", `[{community: ["65001:3000"]}]`, 1},
		{"a withdrawal in its place", `[{community: ["65001:3000"]}, {withdraw: true}]`, 1},
		{"GSHUT in its place", `[{community: ["65001:3000"]}, {gshut: true}, {withdraw: true}]`, 1},
	} {
		up(t, func(t *testing.T, w *world) {
			w.pin("transit", 2, 0)
			w.reload(ladderText, tt.ladder)
			s := w.snapshot()
			if s.Pins[0].Rung != tt.want || s.Decision.Climbers[0].Rung != tt.want {
				t.Errorf("%s: pinned on %d, on %d; want %d", tt.name, s.Pins[0].Rung, s.Decision.Climbers[0].Rung, tt.want)
			}
		})
	}
}

func TestARestartFindsPinnedRungsByWhatTheyDo(t *testing.T) {
	for name, tt := range map[string]struct {
		ladder string
		want   int
	}{
		"one more below":              {`[{med: 10}, {community: ["65001:3000"]}, {prepend: 5, community: ["65001:3001"]}, {withdraw: true}]`, 3},
		"a withdrawal in its place":   {`[{community: ["65001:3000"]}, {withdraw: true}]`, 1},
		"the same":                    {ladderText, 2},
		"nothing of the kind is left": {`[{withdraw: true}]`, 0},
	} {
		up(t, func(t *testing.T, w *world) {
			w.pin("transit", 2, 0)
			w.stop()
			w.start(ladderText, tt.ladder)
			w.well()
			s := w.snapshot()
			if s.Pins[0].Rung != tt.want || s.Decision.Climbers[0].Rung != tt.want {
				t.Errorf("%s: pinned on %d, on %d; want %d", name, s.Pins[0].Rung, s.Decision.Climbers[0].Rung, tt.want)
			}
			if told := strings.Contains(w.log.String(), "the ladder has changed since the last run"); told != (tt.want != 2) {
				t.Errorf("%s: told is %v", name, told)
			}
		})
	}
}

func TestAReloadWithoutTheNeighbourDropsItsPin(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.pin("ix", 0, 0)
		w.reload("name: ix,", "name: ixp,")
		if s := w.snapshot(); len(s.Pins) != 0 {
			t.Errorf("%+v", s.Pins)
		}
	})
}

func TestPinsAreOnDiskWhenTheAnswerComes(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.pin("transit", 1, time.Hour)
		var s stored
		data, err := os.ReadFile(w.dir + "/state/state.json")
		if err == nil {
			err = json.Unmarshal(data, &s)
		}
		if err != nil || !slices.ContainsFunc(s.Pins, func(p policy.Pin) bool { return p.Neighbor == "transit" && p.Rung == 1 && p.By == "root" }) {
			t.Errorf("%v, %s", err, data)
		}
	})
}
