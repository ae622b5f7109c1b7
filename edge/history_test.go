package edge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/policy"
)

// line is a change as the tests write it.
func (c Change) line() string {
	where := c.Service
	if c.Neighbor != "" {
		where += " " + c.Neighbor + " " + c.Family
	}
	return fmt.Sprintf("%s: %s to %s by %s", where, causeText(c.From), causeText(c.To), c.Trigger)
}

func lines(cs []Change) []string {
	var out []string
	for _, c := range cs {
		out = append(out, c.line())
	}
	return out
}

func TestWhyTellsEachChangeWithWhatLedToIt(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.report("web", "refused")
		w.rest()
		w.say(video, Word{Verb: policy.Withdraw, Reason: "circuit work", By: "root (uid 0)"})
		want := []string{ // newest first
			"video: withdrawn (hard_failure) to withdrawn (override) by operator",
			"video: announced (normal) to withdrawn (hard_failure) by check web of video",
			"video: withdrawn (hard_failure) to announced (normal) by check web of video",
			"video: withdrawn (normal) to withdrawn (hard_failure) by start",
		}
		got := w.why("video")
		if !slices.Equal(lines(got), want) {
			t.Errorf("%q, want %q", lines(got), want)
		}
		inputs := []string{
			"hard checks down (web: refused)", "soft checks up", "way back ipv4 up, ipv6 up",
			"override withdraw at all neighbours since " + time.Now().Format(time.RFC3339) + " by root (uid 0): circuit work",
		}
		if !slices.Equal(got[0].Inputs, inputs) || got[0].To.Detail != "withdraw: circuit work" {
			t.Errorf("%q, %q", got[0].Inputs, got[0].To.Detail)
		}
		if log := w.log.String(); strings.Count(log, `msg="service withdrawn" service=video`) != 3 || strings.Count(log, "at one neighbour") != 0 {
			t.Errorf("not one line per change:\n%s", log)
		}
	})
}

func TestWhyTellsChangesAtOneNeighbourAndBack(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(at("ix"), Word{Verb: policy.Withdraw})
		w.auto(at("ix"))
		w.wayBack <- host.WayBack{IPv6: true}
		w.pass(5 * time.Second)
		got := lines(w.why("video"))
		want := []string{
			"video ix ipv4: announced (normal) to withdrawn (hard_failure) by timer",
			"video transit ipv4: announced (normal) to withdrawn (hard_failure) by timer",
			"video ix ipv6: withdrawn (override) to announced (normal) by operator",
			"video ix ipv4: withdrawn (override) to announced (normal) by operator",
			"video ix ipv6: announced (normal) to withdrawn (override) by operator",
			"video ix ipv4: announced (normal) to withdrawn (override) by operator",
		}
		if !slices.Equal(got[:6], want) {
			t.Errorf("%q, want %q", got, want)
		}
		if got := w.why("dns")[0].line(); got != "dns: announced (normal) to withdrawn (hard_failure) by timer" {
			t.Errorf("%s", got)
		}
	})
}

func TestWhyIsByService(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		if _, _, err := w.node.Why(context.Background(), "vidoe", 5); !errors.As(err, new(UsageError)) {
			t.Errorf("an unknown service: %v", err)
		}
		all, _, err := w.node.Why(context.Background(), "", 3)
		if err != nil || len(all) != 3 {
			t.Errorf("%v, %v", lines(all), err)
		}
		for _, c := range w.why("dns") {
			if c.Service != "dns" {
				t.Errorf("%s", c.line())
			}
		}
	})
}

func TestReadingIsNoEvent(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		news := w.node.News()
		for range 10 {
			w.snapshot()
			w.why("")
		}
		w.rest()
		select {
		case <-news:
			t.Error("reading the status is news: a watcher would watch itself")
		default:
		}
		w.report("web", "")
		w.rest()
		select {
		case <-news:
		default:
			t.Error("a probe is no news")
		}
	})
}

func TestHistoryKeepsTheNewest(t *testing.T) {
	var h history
	for i := range historySize + 100 {
		h.add(Change{Service: []string{"a", "b"}[i%2], Trigger: fmt.Sprint(i)})
	}
	if len(h.changes) != historySize {
		t.Errorf("%d changes", len(h.changes))
	}
	got := h.newest("a", 2)
	if len(got) != 2 || got[0].Trigger != fmt.Sprint(historySize+98) || got[1].Trigger != fmt.Sprint(historySize+96) {
		t.Errorf("%v", got)
	}
	if n := len(h.newest("", 10*historySize)); n != historySize {
		t.Errorf("all are %d", n)
	}
}

func TestANeighbourThatAReloadPutsFirstIsNoChangeOfTheOthers(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.say(at("transit"), Word{Verb: policy.Withdraw})
		w.reload("  - {name: transit,", "  - {name: peer, address: 10.77.3.2, asn: 65003, kind: peer, local_address: 10.77.3.1}\n  - {name: transit,")
		for _, c := range w.why("video") {
			if c.Trigger == byConfig && c.Neighbor != "peer" {
				t.Errorf("%s", c.line())
			}
		}
	})
}
