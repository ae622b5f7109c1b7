package web

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// aWeek is the timeline from a day before testNow's midnight to six days after.
func aWeek(windows ...*centralv1.Window) timeline {
	midnight := testNow.Truncate(24 * time.Hour)
	return timelineOf(windows, midnight.Add(-24*time.Hour), midnight.Add(6*24*time.Hour), testNow)
}

func TestTimelinePutsMomentsWhereTheyAre(t *testing.T) {
	const day = (lineWidth - lineLabel) / 7
	line := aWeek(&centralv1.Window{Id: "w-a", State: "scheduled", Selector: &centralv1.Selector{Nodes: []string{"msk1"}}, Created: at(-48 * time.Hour),
		Start: at(36 * time.Hour), Duration: durationpb.New(24 * time.Hour), Lead: durationpb.New(12 * time.Hour)})
	if len(line.Lanes) != 1 || len(line.Lanes[0].Bars) != 1 || line.Lanes[0].Label != "node msk1" {
		t.Fatalf("the lanes are %+v", line.Lanes)
	}
	b := line.Lanes[0].Bars[0]
	for what, c := range map[string]struct{ got, want float64 }{
		"now":                {line.NowX, lineLabel + 1.5*day},
		"begin of the drain": {b.X, lineLabel + 2.5*day},
		"begin of the work":  {b.X + b.LeadW, lineLabel + 3*day},
		"end":                {b.X + b.W, lineLabel + 4*day},
		"second day":         {line.Ticks[1].X, lineLabel + day},
	} {
		if d := c.got - c.want; d > 0.2 || d < -0.2 {
			t.Errorf("%s is at %.1f, want %.1f", what, c.got, c.want)
		}
	}
	if len(line.Ticks) != 7 || line.Ticks[1].Label != "Sun 1 Mar" {
		t.Errorf("the days are %+v", line.Ticks)
	}
	for _, text := range []string{"From 28 February 2026 to 7 March 2026", "now it is 1 Mar 12:00 UTC", "w-a, node msk1: scheduled, 3 Mar 00:00 UTC to 4 Mar 00:00 UTC, asking clients to leave from 2 Mar 12:00 UTC"} {
		if !strings.Contains(line.Desc, text) {
			t.Errorf("the description does not say %q: %s", text, line.Desc)
		}
	}
}

func TestTimelineSaysWhatEachOccurrenceIs(t *testing.T) {
	for _, c := range []struct {
		id   string
		want []string // by occurrence; nil: no lane
	}{
		{"w-run", []string{"running"}}, {"w-odd", []string{"scheduled"}}, {"w-again", []string{"scheduled", "scheduled", "scheduled"}},
		{"w-maybe", []string{"proposed"}}, {"w-over", []string{"ended"}}, {"w-off", nil}, {"w-bad", nil},
	} {
		for _, w := range someWindows() {
			if w.GetId() != c.id {
				continue
			}
			var got []string
			for _, l := range aWeek(w).Lanes {
				for _, b := range l.Bars {
					got = append(got, b.State)
				}
			}
			if strings.Join(got, " ") != strings.Join(c.want, " ") {
				t.Errorf("%s is drawn as %v, want %v", c.id, got, c.want)
			}
		}
	}
}

func TestTimelineOfACancelledWindowEndsThere(t *testing.T) {
	line := aWeek(&centralv1.Window{Id: "w", State: "cancelled", Created: at(-48 * time.Hour), Start: at(-4 * time.Hour), Duration: durationpb.New(8 * time.Hour), Ended: at(-2 * time.Hour)})
	if len(line.Lanes) != 1 || line.Lanes[0].Bars[0].State != "ended" || line.Lanes[0].Bars[0].Say != "ended, 1 Mar 08:00 UTC to 1 Mar 10:00 UTC" {
		t.Errorf("the lanes are %+v", line.Lanes)
	}
}

func TestTimelineIsBounded(t *testing.T) {
	var windows []*centralv1.Window
	for range maxLanes + 3 {
		windows = append(windows, &centralv1.Window{Id: "w", State: "scheduled", Created: at(-time.Hour), Start: at(time.Hour), Duration: durationpb.New(10 * time.Minute), Zone: "UTC", Rrule: "FREQ=HOURLY"})
	}
	line := timelineOf(windows, testNow, testNow.Add(90*24*time.Hour), testNow)
	if len(line.Lanes) != maxLanes || line.LeftOut != 3 || len(line.Lanes[0].Bars) != maxBars {
		t.Errorf("there are %d lanes, %d left out, and %d bars", len(line.Lanes), line.LeftOut, len(line.Lanes[0].Bars))
	}
	if empty := timelineOf(windows, testNow, testNow, testNow); len(empty.Lanes) != 0 {
		t.Errorf("no time at all has %d lanes", len(empty.Lanes))
	}
}

// drawn are windows and days of any kind.
func drawn(t *rapid.T) timeline {
	hours := func(label string, least, most int) time.Duration {
		return time.Duration(rapid.IntRange(least*60, most*60).Draw(t, label)) * time.Minute
	}
	var windows []*centralv1.Window
	for range rapid.IntRange(0, 6).Draw(t, "windows") {
		w := &centralv1.Window{Id: "w", Created: at(hours("created", -1000, 100)), Start: at(hours("start", -500, 2400)), Duration: durationpb.New(hours("length", 0, 400)),
			Lead: durationpb.New(hours("lead", 0, 24)), State: rapid.SampledFrom([]string{"scheduled", "proposed", "running", "ended", "cancelled"}).Draw(t, "state")}
		if rapid.Bool().Draw(t, "recurs") {
			w.Zone, w.Rrule = "Europe/Moscow", rapid.SampledFrom([]string{"FREQ=DAILY", "FREQ=HOURLY;INTERVAL=5", "FREQ=WEEKLY;BYDAY=TU"}).Draw(t, "rule")
		}
		if rapid.Bool().Draw(t, "was ended") {
			w.Ended = at(hours("ended", -500, 500))
		}
		windows = append(windows, w)
	}
	from := testNow.Add(hours("from", -300, 300))
	return timelineOf(windows, from, from.Add(hours("days", 1, 100*24)), testNow)
}

func TestTimelineKeepsWithinItsEdgesAndItsWordsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := drawn(t)
		for _, l := range line.Lanes {
			if l.Y < lineTop || l.Y+lineRow > line.Height {
				t.Fatalf("a lane at %v of %v", l.Y, line.Height)
			}
			taken := 0.0 // up to where words or bars stand
			for i, b := range l.Bars {
				if b.X < lineLabel-0.1 || b.X+b.W > lineWidth+0.1 || b.W < leastBar || b.LeadW < 0 || b.LeadW > b.W {
					t.Fatalf("bar %d is %+v", i, b)
				}
				if b.TextX == 0 {
					taken = max(taken, b.X+b.W)
					continue
				}
				from, to := b.TextX-barText/2, b.TextX+barText/2
				switch b.Anchor {
				case "start":
					from, to = b.TextX, b.TextX+barText
				case "end":
					from, to = b.TextX-barText, b.TextX
				}
				if from < lineLabel-0.1 || to > lineWidth+0.1 || from < taken-0.1 {
					t.Fatalf("the words of bar %d stand from %v to %v, where up to %v is taken: %+v", i, from, to, taken, l.Bars)
				}
				if i+1 < len(l.Bars) && !b.Inside && b.Anchor == "start" && to > l.Bars[i+1].X {
					t.Fatalf("the words of bar %d run into the next: %+v", i, l.Bars)
				}
				taken = max(taken, to, b.X+b.W)
			}
		}
		last := -1000.0
		for _, k := range line.Ticks {
			if k.X < lineLabel-0.1 || k.X > lineWidth+0.1 {
				t.Fatalf("a day at %v", k.X)
			}
			if k.Label != "" {
				if k.X-last < leastTick-0.2 {
					t.Fatalf("days are named at %v and %v", last, k.X)
				}
				last = k.X
			}
		}
	})
}
