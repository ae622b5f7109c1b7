package sim

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
	"strings"
	"time"
)

// Plot writes one HTML page that needs no network: for each scenario and
// controller the loads of its hottest links over the time of one run, the
// capacity, the target and what was decided, and the figures of all seeds.
// results belong to the scenarios, in the same order.
func Plot(w io.Writer, scenarios []*Scenario, results []Result, seed uint64) error {
	out := &page{Writer: bufio.NewWriter(w)}
	_, _ = out.WriteString(head) // Flush reports it
	for i, sc := range scenarios {
		out.scenario(sc, sc.Name, &results[i], seed)
		for j, v := range sc.Variants {
			out.scenario(v, sc.Name+", "+v.Name, &results[i].Variants[j], seed)
		}
	}
	out.put("</main></body></html>\n")
	return out.Flush()
}

// page is what is written to; Flush reports the first error.
type page struct{ *bufio.Writer }

func (p *page) put(format string, args ...any) { fmt.Fprintf(p, format, args...) }

const head = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>catchment sim</title>
<style>
:root{color-scheme:light dark;--ink:#1c2024;--dim:#697077;--paper:#fff;--grid:#e3e6e9;--over:#d33;--band:#eef3f8;
--c0:#1f6feb;--c1:#d1570a;--c2:#2a7f3f;--c3:#8b3fc4;--c4:#a8336e;--c5:#6b6a00}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8ea;--dim:#9aa1a8;--paper:#14171a;--grid:#2b3036;--over:#ff6b6b;--band:#1d252d;
--c0:#6cb0ff;--c1:#ff9e57;--c2:#62c57e;--c3:#c792f0;--c4:#f08bb8;--c5:#cfcd4a}}
body{margin:0;font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper)}
main{max-width:1060px;margin:0 auto;padding:1rem}
h1{font-size:1.5rem}h2{font-size:1.25rem;margin:2.2rem 0 .2rem}h3{font-size:1rem;margin:1rem 0 .1rem}
p{margin:.2rem 0;color:var(--dim)}svg{width:100%;height:auto;display:block}
text{fill:var(--dim);font:11px system-ui,sans-serif}
.grid{stroke:var(--grid)}.cap{stroke:var(--over);stroke-width:1.2}.target{stroke:var(--dim);stroke-dasharray:5 4}
.line{fill:none;stroke-width:1.5}.dot{fill:none;stroke-width:1.2;stroke-dasharray:2 3}.band{fill:var(--band)}
.s0{stroke:var(--c0)}.s1{stroke:var(--c1)}.s2{stroke:var(--c2)}.s3{stroke:var(--c3)}.s4{stroke:var(--c4)}.s5{stroke:var(--c5)}
.f0{fill:var(--c0);color:var(--c0)}.f1{fill:var(--c1);color:var(--c1)}.f2{fill:var(--c2);color:var(--c2)}
.f3{fill:var(--c3);color:var(--c3)}.f4{fill:var(--c4);color:var(--c4)}.f5{fill:var(--c5);color:var(--c5)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:13px;margin:.6rem 0}
th,td{padding:.15rem .6rem;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}th:first-child,td:first-child{text-align:left}
.key span{margin-right:1rem;font-weight:600}
</style></head><body><main><h1>catchment sim</h1>
<p>Loads in shares of the link's capacity. Red: the capacity. Dashed: the target. Triangles: changes of a rung.
Below each: the rungs in force, or for sessions the slowdown (solid) and the drop (dotted). Shaded: the time in which swings are measured.</p>
`

// scenario writes one section.
func (p *page) scenario(sc *Scenario, title string, r *Result, seed uint64) {
	var all []*curves
	for _, name := range append(Controllers(), Oracle) {
		_, there := r.Controllers[name]
		if there || name == Oracle && r.Oracle != nil {
			all = append(all, draw(sc, name, seed))
		}
	}
	if len(all) == 0 {
		return
	}
	links := choose(all)
	p.put("<h2>%s</h2>\n<p>%s</p>\n<p class=\"key\">", html.EscapeString(title), html.EscapeString(sc.About))
	for n, l := range links {
		p.put("<span class=\"f%d\">%s</span>", n, html.EscapeString(all[0].links[l].name))
	}
	if more := len(all[0].links) - len(links); more > 0 {
		p.put("and %d cooler links", more)
	}
	p.put("</p>\n")
	p.table(r)
	for _, c := range all {
		p.put("<h3>%s, seed %d</h3>\n", html.EscapeString(c.controller), seed)
		p.chart(sc, c, links)
	}
}

// table writes the figures of all seeds.
func (p *page) table(r *Result) {
	p.put("<div class=\"scroll\"><table><tr><th>median / worst of %d</th>", r.Seeds)
	var columns []Summaries
	for _, name := range Controllers() {
		if s, ok := r.Controllers[name]; ok {
			p.put("<th>%s</th>", name)
			columns = append(columns, s)
		}
	}
	if r.Oracle != nil {
		p.put("<th>%s</th>", Oracle)
		columns = append(columns, *r.Oracle)
	}
	p.put("</tr>\n")
	for _, f := range AllFigures() {
		if len(columns) == 0 || math.IsNaN(columns[0][f].Median) {
			continue
		}
		p.put("<tr><td>%s</td>", f)
		for _, c := range columns {
			p.put("<td>%s / %s</td>", Short(c[f].Median), Short(c[f].Worst))
		}
		p.put("</tr>\n")
	}
	p.put("</table></div>\n")
}

// The measures of a chart, in the units of its viewBox.
const (
	width, left, right   = 1000.0, 34.0, 8.0
	plotTop, plotBottom  = 8.0, 198.0
	stripTop, stripFloor = 210.0, 244.0
	height               = 262.0
)

// frame places values in a chart.
type frame struct {
	duration time.Duration
	top      float64 // the load at the upper edge
	most     float64 // the value at the strip's upper edge
}

func (f *frame) x(t time.Duration) float64 {
	return left + (width-left-right)*float64(t)/float64(f.duration)
}

func (f *frame) y(load float64) float64 {
	return plotBottom - (plotBottom-plotTop)*min(load, f.top)/f.top
}

func (f *frame) strip(v float64) float64 {
	return stripFloor - (stripFloor-stripTop)*min(v, f.most)/f.most
}

// highest bounds the loads that a chart shows.
const highest = 2.2

// chart writes one SVG.
func (p *page) chart(sc *Scenario, c *curves, links []int) {
	f := frame{duration: sc.Duration, top: 1.1, most: 1}
	for _, l := range links {
		f.top = max(f.top, min(highest, c.links[l].peak*1.05))
		for _, rung := range c.links[l].rung {
			f.most = max(f.most, rung)
		}
	}
	p.put("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"loads with %s\">\n", width, height, html.EscapeString(c.controller))
	p.axes(sc, &f)
	for n, l := range links {
		v := &c.links[l]
		p.path("line", n, v.at, v.load, f.x, f.y, false)
		if sc.Actuator == BySessions {
			p.path("line", n, v.at, v.slow, f.x, f.strip, true)
			p.path("dot", n, v.at, v.drop, f.x, f.strip, true)
		} else {
			p.path("line", n, v.at, v.rung, f.x, f.strip, true)
		}
		p.marks(c, l, n, &f)
	}
	p.put("</svg>\n")
}

// axes writes the grid, its labels, and the lines of target and capacity.
func (p *page) axes(sc *Scenario, f *frame) {
	p.put("<rect class=\"band\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
		f.x(sc.Window.From), plotTop, f.x(sc.Window.To)-f.x(sc.Window.From), plotBottom-plotTop)
	for v := 0.0; v < f.top; v += 0.2 {
		p.put("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"6\" y=\"%.1f\">%.1f</text>\n",
			left, width-right, f.y(v), f.y(v), f.y(v)+4, v)
	}
	for t, every := time.Duration(0), tick(sc.Duration); t <= sc.Duration; t += every {
		anchor := "middle"
		if t == sc.Duration {
			anchor = "end"
		}
		p.put("<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
			f.x(t), f.x(t), plotTop, stripFloor, f.x(t), height-4, anchor, strings.TrimSuffix(clock(t), ":00"))
	}
	p.put("<line class=\"target\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", left, width-right, f.y(sc.Load.Target), f.y(sc.Load.Target))
	p.put("<line class=\"cap\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", left, width-right, f.y(1), f.y(1))
	p.put("<text x=\"6\" y=\"%.1f\">%.0f</text>\n", stripTop+8, f.most)
}

// tick is a round time that divides a run into about eight parts.
func tick(d time.Duration) time.Duration {
	for _, t := range []time.Duration{time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour} {
		if d/t <= 12 {
			return t
		}
	}
	return day
}

// path writes a line through values; quiet leaves one out that is 0 throughout.
func (p *page) path(class string, n int, at []time.Duration, values []float64, x func(time.Duration) float64, y func(float64) float64, quiet bool) {
	empty := true
	var d strings.Builder
	for i, v := range values {
		empty = empty && v == 0
		fmt.Fprintf(&d, "%.1f,%.1f ", x(at[i]), y(v))
	}
	if quiet && empty || len(values) == 0 {
		return
	}
	p.put("<polyline class=\"%s s%d\" points=\"%s\"/>\n", class, n, strings.TrimSpace(d.String()))
}

// mostMarks bounds the decisions that are marked on a line: a controller that
// changes its mind all the time makes thousands.
const mostMarks = 200

// marks writes a triangle for each change of a link's rung.
func (p *page) marks(c *curves, link, n int, f *frame) {
	count := 0
	for _, m := range c.marks {
		if m.link != link {
			continue
		}
		if count++; count > mostMarks {
			return
		}
		x, y, up := f.x(m.at), f.y(m.load), 5.0
		if m.to < m.from {
			up = -5
		}
		p.put("<path class=\"f%d\" d=\"M%.1f %.1fl-4 %.1fh8z\"><title>%s %s: rung %d to %d</title></path>\n",
			n, x, y-up, 2*up, clock(m.at), html.EscapeString(c.links[link].name), m.from, m.to)
	}
}

// Short gives a figure in a few characters.
func Short(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "-"
	case x == 0:
		return "0"
	case a < 10:
		return plain(math.Round(x*1000)/1000, -1)
	case a < 1e5:
		return plain(x, 0)
	case a < 1e9:
		return plain(x/1e6, 1) + "M"
	case a < 1e12:
		return plain(x/1e9, 1) + "G"
	}
	return plain(x/1e12, 1) + "T"
}
