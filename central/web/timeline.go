package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/maintenance"
)

// The geometry of the timeline, in units of its own; a unit is about a pixel.
const (
	lineWidth  = 1000.0
	lineLabel  = 190.0 // the column of names
	lineTop    = 30.0  // the row of days
	lineRow    = 34.0
	barHeight  = 20.0
	barText    = 78.0 // what the longest state takes
	leastBar   = 3.0
	leastTick  = 58.0 // between two days that are named
	maxLanes   = 40
	maxBars    = 200 // of one lane
	labelRunes = 26
)

// timeline is the windows of a span of time, drawn.
type timeline struct {
	Width, Height, Left, Top float64
	From, To                 time.Time
	NowX, NowY               float64
	Ticks                    []tick
	Lanes                    []lane
	LeftOut                  int // lanes that there is no room for
	Desc                     string
}

// tick is the beginning of a day in UTC.
type tick struct {
	X     float64
	Label string // empty: there is no room
}

// lane is one window.
type lane struct {
	Y, TextY float64
	Label    string
	Bars     []stretch
}

// stretch is one occurrence of a window.
type stretch struct {
	X, Y, W, Height float64
	LeadW           float64 // of W: clients are asked to leave, from X on
	State           string
	Say             string
	// TextX and TextY are where the state stands, by Anchor start, middle or end; TextX 0:
	// there is no room.
	TextX, TextY float64
	Anchor       string
	Inside       bool
}

// timelineOf draws windows between two moments. Windows of which nothing is between them
// are left out.
func timelineOf(windows []*centralv1.Window, from, to, now time.Time) timeline {
	t := timeline{Width: lineWidth, Left: lineLabel, Top: lineTop, From: from, To: to}
	if !from.Before(to) {
		return t
	}
	t.NowX = t.x(now)
	t.Ticks = t.days()
	var say []string
	for _, w := range windows {
		all := occurrencesOf(w, from, to)
		if len(all) == 0 {
			continue
		}
		if len(t.Lanes) == maxLanes {
			t.LeftOut++
			continue
		}
		y := lineTop + lineRow*float64(len(t.Lanes))
		l := lane{Y: y, TextY: y + lineRow/2 + 4, Label: shortened(whomOf(w), labelRunes)}
		for _, o := range all[:min(len(all), maxBars)] {
			s := t.stretch(o, stateAt(w, o, now))
			s.Y, s.TextY = y+(lineRow-barHeight)/2, l.TextY
			l.Bars = append(l.Bars, s)
		}
		l.name()
		t.Lanes = append(t.Lanes, l)
		say = append(say, fmt.Sprintf("%s, %s: %s", w.GetId(), whomOf(w), l.Bars[0].Say))
	}
	t.NowY = lineTop + lineRow*float64(len(t.Lanes)) + 14
	t.Height = t.NowY + 6
	t.Desc = fmt.Sprintf("From %s to %s; now it is %s. ", dayOf(from), dayOf(to), minuteOf(now)) + strings.Join(say, ". ") + "."
	return t
}

// x is where a moment is; what is outside is at the edge.
func (t timeline) x(at time.Time) float64 {
	at = latest(t.From, earliest(at, t.To))
	return round(t.Left + (t.Width-t.Left)*float64(at.Sub(t.From))/float64(t.To.Sub(t.From)))
}

// round keeps a picture the same while nothing moves by what an eye can see.
func round(x float64) float64 { return float64(int64(x*10+0.5)) / 10 }

func (t timeline) days() []tick {
	day := (t.Width - t.Left) * float64(24*time.Hour) / float64(t.To.Sub(t.From))
	every := max(1, int(leastTick/day)+1)
	if day >= leastTick {
		every = 1
	}
	var out []tick
	first := t.From.UTC().Truncate(24 * time.Hour)
	for i := 0; i < 400; i++ {
		at := first.Add(time.Duration(i) * 24 * time.Hour)
		if !at.Before(t.To) {
			break
		}
		if at.Before(t.From) {
			continue
		}
		k := tick{X: t.x(at)}
		if i%every == 0 && t.Width-k.X >= leastTick {
			k.Label = at.Format("Mon 2 Jan")
		}
		out = append(out, k)
	}
	return out
}

// stretch draws an occurrence.
func (t timeline) stretch(o maintenance.Occurrence, state string) stretch {
	s := stretch{X: t.x(o.Begin), Height: barHeight, State: state}
	s.W = max(leastBar, round(t.x(o.End)-s.X))
	if s.X+s.W > t.Width {
		s.X = t.Width - s.W
	}
	if o.Begin.Before(o.Start) {
		s.LeadW = min(s.W, round(t.x(o.Start)-s.X))
	}
	s.Say = fmt.Sprintf("%s, %s to %s", state, minuteOf(o.Start), minuteOf(o.End))
	if s.LeadW > 0 {
		s.Say += ", asking clients to leave from " + minuteOf(o.Begin)
	}
	return s
}

// name puts the states where they do not touch the next bar.
func (l *lane) name() {
	for i := range l.Bars {
		s := &l.Bars[i]
		end, before := lineWidth, lineLabel
		if i+1 < len(l.Bars) {
			end = l.Bars[i+1].X
		}
		if i > 0 {
			p := l.Bars[i-1]
			before = p.X + p.W
			if p.TextX > 0 && !p.Inside && p.Anchor == "start" {
				before = p.TextX + barText
			}
		}
		switch {
		case s.W >= barText:
			s.TextX, s.Anchor, s.Inside = round(s.X+s.W/2), "middle", true
		case end-(s.X+s.W) >= barText+8:
			s.TextX, s.Anchor = round(s.X+s.W+5), "start"
		case s.X-before >= barText+8:
			s.TextX, s.Anchor = round(s.X-5), "end"
		}
	}
}

// occurrencesOf are those of a window between two moments, proposed ones, too.
func occurrencesOf(w *centralv1.Window, from, to time.Time) []maintenance.Occurrence {
	m := maintenance.Window{ID: w.GetId(), Select: maintenance.Selector{Nodes: []string{"any"}}, Start: moment(w.GetStart()), For: maintenance.Duration(w.GetDuration().AsDuration()),
		Lead: maintenance.Duration(w.GetLead().AsDuration()), Zone: w.GetZone(), Rule: w.GetRrule(), Created: moment(w.GetCreated())}
	if w.GetState() == string(maintenance.Cancelled) {
		m.CancelledAt = moment(w.GetEnded())
	} else {
		m.EndedAt = moment(w.GetEnded())
	}
	c, err := maintenance.New([]maintenance.Window{m})
	if err != nil || !from.Before(to) {
		return nil // its state says that it is not valid
	}
	return c.Occurrences(from, to)
}

// stateAt is what an occurrence of a window is at a moment.
func stateAt(w *centralv1.Window, o maintenance.Occurrence, now time.Time) string {
	switch {
	case !now.Before(o.End):
		return string(maintenance.Ended)
	case w.GetState() == string(maintenance.Proposed):
		return string(maintenance.Proposed)
	case now.Before(o.Begin):
		return string(maintenance.Scheduled)
	}
	return w.GetState()
}

// byStart puts what runs or comes next first, and what is over last, the newest first.
func byStart(windows []*centralv1.Window) {
	slices.SortStableFunc(windows, func(a, b *centralv1.Window) int {
		an, bn := a.GetNextStart() == nil, b.GetNextStart() == nil
		switch {
		case an && bn:
			return cmp.Or(moment(b.GetStart()).Compare(moment(a.GetStart())), cmp.Compare(a.GetId(), b.GetId()))
		case an:
			return 1
		case bn:
			return -1
		}
		return cmp.Or(moment(a.GetNextStart()).Compare(moment(b.GetNextStart())), cmp.Compare(a.GetId(), b.GetId()))
	})
}

// whomOf is whom a window is for, in words.
func whomOf(w *centralv1.Window) string { return cmp.Or(selectorText(w.GetSelector()), "nobody") }

// shortened is a text of runes at most.
func shortened(text string, runes int) string {
	if r := []rune(text); len(r) > runes {
		return strings.TrimSpace(string(r[:runes-1])) + "…"
	}
	return text
}

func dayOf(t time.Time) string    { return t.UTC().Format("2 January 2006") }
func minuteOf(t time.Time) string { return t.UTC().Format("2 Jan 15:04 UTC") }

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
