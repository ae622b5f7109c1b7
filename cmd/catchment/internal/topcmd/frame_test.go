package topcmd

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/centre"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/node"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

func fleetModel() *model {
	s := fleetSource{client: centre.New(), target: usualTarget}
	m := &model{title: s.name(), now: now}
	m.feed(s.board(output.Printable(theFleet())))
	return m
}

func nodeModel() *model {
	s := edgeSource{client: node.New(), now: func() time.Time { return now }, target: usualTarget}
	m := &model{title: s.name(), now: now}
	m.feed(s.board(output.Printable(theNode())))
	return m
}

func press(m *model, keys ...key) *model {
	for _, k := range keys {
		m.press(k)
	}
	return m
}

func TestFramesAreAsTheyWere(t *testing.T) {
	coloured := fleetModel()
	coloured.coloured = true
	waiting := &model{title: "fleet at 127.0.0.1:7179", now: now}
	away := fleetModel()
	away.lose("cannot reach the centre", now.Add(-time.Minute))
	paused := press(fleetModel(), "p")
	paused.feed(board{})
	frozen := theFleet()
	frozen.Frozen, frozen.FrozenReason = true, "backbone trouble"
	frozen.Warnings = append(frozen.Warnings, "two", "three")
	frozen.Views = []*centralv1.OutsideView{{Name: "rr", Reason: "connection refused"}}
	many := fleetModel()
	many.feed(fleetSource{client: centre.New()}.board(frozen))
	for name, tt := range map[string]struct {
		m             *model
		width, height int
	}{
		"fleet":        {fleetModel(), 100, 16},
		"coloured":     {coloured, 100, 16},
		"narrow":       {fleetModel(), 60, 12},
		"tiny":         {fleetModel(), 22, 6},
		"selected":     {press(fleetModel(), "j", keyDown, "j"), 100, 8},
		"by-load":      {press(fleetModel(), "s", "s"), 100, 12},
		"by-state":     {press(fleetModel(), "s", "s", "s"), 100, 12},
		"filter":       {press(fleetModel(), "/", "m", "s", "k", "2", keyBackspace), 100, 10},
		"filter-none":  {press(fleetModel(), "/", "x", "y", keyEnter), 100, 8},
		"detail":       {press(fleetModel(), keyEnter), 100, 12},
		"detail-moved": {press(fleetModel(), "j", "j", keyEnter, keyDown, keyPageDown), 100, 8},
		"help":         {press(fleetModel(), "?"), 100, 18},
		"waiting":      {waiting, 80, 5},
		"away":         {away, 100, 14},
		"paused":       {paused, 100, 14},
		"notes":        {many, 100, 14},
		"node":         {nodeModel(), 120, 12},
		"node-detail":  {press(nodeModel(), keyEnter), 120, 20},
	} {
		t.Run(name, func(t *testing.T) {
			golden(t, name+".txt", strings.Join(frame(tt.m, tt.width, tt.height), "\n")+"\n")
		})
	}
}

var styles = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// What comes from the network can say anything; a frame has its size all the same, and
// no sequence but those of styles.
func TestFramesKeepTheirSizeWhateverTheTexts(t *testing.T) {
	words := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b[2J\x1b]0;title\x07", "東京", "a\u0301", "\u202e", "\r\n", strings.Repeat("long ", 100), ""}))
	figures := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), -1, 0, 1e300}))
	rapid.Check(t, func(t *rapid.T) {
		status := &centralv1.FleetStatus{Summary: words.Draw(t, "summary"), Frozen: true, FrozenReason: words.Draw(t, "frozen")}
		for i := range rapid.IntRange(0, 8).Draw(t, "nodes") {
			status.Nodes = append(status.Nodes, &centralv1.Node{Name: words.Draw(t, "name") + fmt.Sprint(i), Site: words.Draw(t, "site"), State: words.Draw(t, "state"),
				Reason: words.Draw(t, "reason"), Links: []*centralv1.LinkReport{{Name: words.Draw(t, "link"), Known: true, Load: figures.Draw(t, "load"), Capacity: figures.Draw(t, "capacity")}}})
		}
		s := fleetSource{client: centre.New(), target: figures.Draw(t, "target")}
		m := &model{title: s.name(), now: now, coloured: rapid.Bool().Draw(t, "coloured")}
		m.feed(s.board(output.Printable(status)))
		keys := rapid.SliceOf(rapid.SampledFrom([]key{"j", "k", "s", "/", "x", "東", keyEnter, keyEscape, keyBackspace, "?", "p", "G", "g", keyPageDown})).Draw(t, "keys")
		press(m, keys...)
		width, height := rapid.IntRange(0, 130).Draw(t, "width"), rapid.IntRange(0, 40).Draw(t, "height")
		lines := frame(m, width, height)
		if width > 0 && len(lines) != height {
			t.Fatalf("%d lines, want %d", len(lines), height)
		}
		for _, l := range lines {
			bare := styles.ReplaceAllString(l, "")
			if w := output.Width(bare); w > width || strings.ContainsFunc(bare, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
				t.Fatalf("a line of %d columns in %d: %q", w, width, l)
			}
			if !m.coloured && bare != l {
				t.Fatalf("a style without colours: %q", l)
			}
		}
	})
}

func TestAThousandNodesMakeAFrameOfTheWindow(t *testing.T) {
	status := &centralv1.FleetStatus{}
	for i := range 1000 {
		status.Nodes = append(status.Nodes, &centralv1.Node{Name: fmt.Sprintf("node%04d", i), Site: fmt.Sprintf("site%02d", i%50), State: "announced", Connected: true})
	}
	m := &model{now: now}
	m.feed(fleetSource{client: centre.New()}.board(status))
	press(m, "G")
	lines := frame(m, 80, 24)
	if len(lines) != 24 || !strings.HasPrefix(lines[22], "> node0999") {
		t.Errorf("the last node is not selected at the end:\n%s", strings.Join(lines, "\n"))
	}
}

func TestANodesBarsAreMarkedWhereItsControllerAims(t *testing.T) {
	used := 0.5
	s := edgeSource{target: usualTarget}
	for said, want := range map[float64]float64{0: usualTarget, 0.7: 0.7, math.NaN(): usualTarget} {
		if got := s.gauge(&edgev1.Link{Utilization: &used, Target: said}).target; got != want {
			t.Errorf("a node that says %v has its mark at %v", said, got)
		}
	}
}
