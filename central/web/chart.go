package web

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// The measures of a chart, in units of its own, and the time that it shows.
const (
	chartWidth  = 900.0
	chartHeight = 190.0
	chartLeft   = 74.0
	chartRight  = 12.0
	chartTop    = 22.0
	chartBottom = 24.0
	chartSpan   = 24 * time.Hour
)

// charts draws each link of which there is a figure.
func charts(d *centralv1.Detail, links []*centralv1.LinkReport, decisions []decisionView, now time.Time) []chartView {
	about := map[string]*centralv1.LinkReport{}
	for _, l := range links {
		about[l.GetName()] = l
	}
	var out []chartView
	for _, s := range d.GetSeries() {
		if len(s.GetMean()) == 0 {
			continue
		}
		l := about[s.GetLink()]
		if l == nil {
			l = &centralv1.LinkReport{Name: s.GetLink()}
		}
		marks := marksOn(d, s.GetLink(), decisions, now)
		out = append(out, chartView{Link: s.GetLink(), Image: drawChart(s, l, marks, now), Marks: marks})
	}
	return out
}

// marksOn are the decisions that belong on a link's curve: those on its rungs, and those
// on the services as a whole.
func marksOn(d *centralv1.Detail, link string, decisions []decisionView, now time.Time) []decisionView {
	other := map[time.Time]bool{} // decisions of other links
	for _, c := range d.GetSteering() {
		if c.GetLink() != "" && c.GetLink() != link {
			other[c.GetAt().AsTime()] = true
		}
	}
	var out []decisionView
	for _, c := range slices.Backward(decisions) {
		if !c.At.Before(now.Add(-chartSpan)) && !other[c.At] {
			out = append(out, c)
		}
	}
	return out
}

// plane maps times and loads to a chart.
type plane struct {
	from, to time.Time
	top      float64 // bit/s at the upper edge
}

func (p plane) x(t time.Time) float64 {
	share := float64(t.Sub(p.from)) / float64(p.to.Sub(p.from))
	return chartLeft + min(1, max(0, share))*(chartWidth-chartLeft-chartRight)
}

func (p plane) y(bps float64) float64 {
	return chartHeight - chartBottom - min(1, max(0, bps/p.top))*(chartHeight-chartTop-chartBottom)
}

// drawChart draws the mean and the highest load of each step, the capacity, where the
// controller aims, and the decisions.
func drawChart(s *centralv1.LoadSeries, l *centralv1.LinkReport, marks []decisionView, now time.Time) template.HTML {
	p := plane{from: now.Add(-chartSpan), to: now, top: topOf(s, l)}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">`, chartWidth, chartHeight, template.HTMLEscapeString(describe(s, l, marks)))
	axes(&b, p)
	runs := runsOf(s, now)
	for _, run := range runs {
		area(&b, p, run)
	}
	if c := l.GetCapacity(); c > 0 {
		level(&b, p, c, "capacity", "capacity "+rate(c))
		if l.GetTarget() > 0 {
			level(&b, p, c*l.GetTarget(), "target", "target "+percent(l.GetTarget()))
		}
	}
	lanes := map[int]bool{}
	for _, m := range marks {
		x := p.x(m.At)
		fmt.Fprintf(&b, `<line class="mark" x1="%.1f" x2="%.1f" y1="%.0f" y2="%.0f"/>`, x, x, chartTop-6, chartHeight-chartBottom)
		if lane := int(x / 16); !lanes[lane] { // numbers that would cover each other are left to the list
			lanes[lane] = true
			fmt.Fprintf(&b, `<text class="number" x="%.1f" y="%.0f" text-anchor="middle">%d</text>`, x, chartTop-9, m.Mark)
		}
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// topOf is the load at the upper edge: the capacity, or what is more.
func topOf(s *centralv1.LoadSeries, l *centralv1.LinkReport) float64 {
	top := l.GetCapacity()
	for _, v := range s.GetMost() {
		top = max(top, float64(v))
	}
	return max(1, top*1.06)
}

// point is one step of a series.
type point struct {
	at         time.Time
	mean, most float64
}

// runsOf cuts a series where it has no figure.
func runsOf(s *centralv1.LoadSeries, now time.Time) [][]point {
	step := s.GetStep().AsDuration()
	var out [][]point
	var run []point
	for i, mean := range s.GetMean() {
		at := s.GetStart().AsTime().Add(time.Duration(i) * step)
		if mean < 0 || math.IsNaN(float64(mean)) || i >= len(s.GetMost()) || at.Add(step).Before(now.Add(-chartSpan)) {
			if len(run) > 0 {
				out, run = append(out, run), nil
			}
			continue
		}
		end := at.Add(step)
		if end.After(now) {
			end = now
		}
		run = append(run, point{at, float64(mean), float64(s.GetMost()[i])}, point{end, float64(mean), float64(s.GetMost()[i])})
	}
	if len(run) > 0 {
		out = append(out, run)
	}
	return out
}

func area(b *strings.Builder, p plane, run []point) {
	var mean, most strings.Builder
	for i, pt := range run {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&mean, "%s%.1f %.1f", letter, p.x(pt.at), p.y(pt.mean))
		fmt.Fprintf(&most, "%s%.1f %.1f", letter, p.x(pt.at), p.y(pt.most))
	}
	ground := p.y(0)
	fmt.Fprintf(b, `<path class="mean" d="%sL%.1f %.1fL%.1f %.1fZ"/><path class="most" d="%s"/>`, mean.String(),
		p.x(run[len(run)-1].at), ground, p.x(run[0].at), ground, most.String())
}

// axes draws a line for every quarter of the height, and one every three hours.
func axes(b *strings.Builder, p plane) {
	for i := range 5 {
		v := p.top / 1.06 * float64(i) / 4
		fmt.Fprintf(b, `<line class="grid" x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f"/><text class="axis" x="%.0f" y="%.1f" text-anchor="end">%s</text>`,
			chartLeft, chartWidth-chartRight, p.y(v), p.y(v), chartLeft-6, p.y(v)+4, rate(v))
	}
	const every = 3 * time.Hour
	for t := p.from.Truncate(every).Add(every); t.Before(p.to); t = t.Add(every) {
		fmt.Fprintf(b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.0f" y2="%.0f"/><text class="axis" x="%.1f" y="%.0f" text-anchor="middle">%s</text>`,
			p.x(t), p.x(t), chartTop, chartHeight-chartBottom, p.x(t), chartHeight-7, t.UTC().Format("15:04"))
	}
}

func level(b *strings.Builder, p plane, bps float64, class, say string) {
	y := p.y(bps)
	fmt.Fprintf(b, `<line class="%s" x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f"/><text class="axis" x="%.0f" y="%.1f" text-anchor="end">%s</text>`,
		class, chartLeft, chartWidth-chartRight, y, y, chartWidth-chartRight-4, y-4, template.HTMLEscapeString(say))
}

// describe says what a chart shows.
func describe(s *centralv1.LoadSeries, l *centralv1.LinkReport, marks []decisionView) string {
	most, last := 0.0, 0.0
	for i, v := range s.GetMost() {
		most = max(most, float64(v))
		last = cmp.Or(float64(s.GetMean()[min(i, len(s.GetMean())-1)]), last)
	}
	text := fmt.Sprintf("Load of link %s over 24 hours: now about %s, at most %s", s.GetLink(), rate(last), rate(most))
	if l.GetCapacity() > 0 {
		text += ", capacity " + rate(l.GetCapacity())
	}
	if l.GetTarget() > 0 {
		text += ", target " + percent(l.GetTarget())
	}
	return text + ", " + plural(len(marks), "decision", "decisions") + "."
}
