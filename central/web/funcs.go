package web

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
)

// funcs are what templates may call.
var funcs = template.FuncMap{
	"bar":      linkBar,
	"fill":     fillBar,
	"share":    shareBar,
	"rate":     rate,
	"percent":  percent,
	"skew":     skew,
	"clock":    clock,
	"stamp":    func(t *timestamppb.Timestamp) template.HTML { return clock(t.AsTime()) },
	"node":     func(name string) string { return toNode(name).Href },
	"window":   func(id string) string { return "/maintenance/" + url.PathEscape(id) },
	"words":    words,
	"milli":    func(seconds float64) float64 { return 1000 * seconds },
	"verbs":    func() []string { return []string{"drain", "withdraw", "announce"} },
	"plural":   plural,
	"int":      func(n int32) int { return int(n) },
	"selector": selectorText,
}

// rate is a figure in bit/s for people.
func rate(bps float64) string {
	if math.IsNaN(bps) || bps < 0 {
		return "unknown"
	}
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}} {
		if bps >= unit.size {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", bps/unit.size), ".0") + " " + unit.name
		}
	}
	return fmt.Sprintf("%.0f bit/s", bps)
}

// words are those of an enumeration's name.
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

// number is a small number.
func number(n int32) string { return strconv.Itoa(int(n)) }

// percent is a share for people.
func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// skew is how far a clock is from ours, for people: ahead is more than nothing.
func skew(seconds float64) string {
	text := fmt.Sprintf("%.1f s", math.Abs(seconds))
	switch {
	case text == "0.0 s":
		return "as the centre's"
	case seconds < 0:
		return text + " behind the centre's"
	}
	return text + " ahead of the centre's"
}

// clock is a moment, exact for programs and short for people.
func clock(t time.Time) template.HTML {
	if t.IsZero() || t.Unix() == 0 {
		return "never"
	}
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.Format(time.RFC3339), t.Format("2006-01-02 15:04:05 UTC")))
}

// plural is a number with its noun.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// linkBar draws how full a link is, beside where its controller wants it.
func linkBar(l *centralv1.LinkReport) template.HTML {
	if !l.GetKnown() {
		return template.HTML(`<span class="note">` + template.HTMLEscapeString(l.GetName()) + `: no figure</span>`)
	}
	say := fmt.Sprintf("%s at %s of %s", l.GetName(), percent(l.GetUtilization()), rate(l.GetCapacity()))
	if l.GetTarget() > 0 {
		say += ", target " + percent(l.GetTarget())
	}
	if l.GetStale() {
		say += ", stale"
	}
	return barOf(l.GetUtilization(), l.GetTarget(), l.GetName(), say)
}

// fillBar draws a load against what can carry it.
func fillBar(load, capacity float64) template.HTML {
	if !(capacity > 0) {
		return `<span class="note">no capacity known</span>`
	}
	return barOf(load/capacity, 0, "", fmt.Sprintf("%s of %s, %s", rate(load), rate(capacity), percent(load/capacity)))
}

// shareBar draws how full something is.
func shareBar(share float64) template.HTML { return barOf(share, 0, "", percent(share)) }

// barOf draws a share of 0..1 and more of what has a name; say is what it shows, in words.
func barOf(share, target float64, name, say string) template.HTML {
	if math.IsNaN(share) || share < 0 {
		share = 0
	}
	const width = 96.0
	tone := "ok"
	switch {
	case share > 1:
		tone = "over"
	case target > 0 && share > target+0.05, target == 0 && share > 0.85:
		tone = "high"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<span class="bar"><svg viewBox="0 0 %.0f 12" width="%.0f" height="12" role="img" aria-label="%s">`, width, width, template.HTMLEscapeString(say))
	fmt.Fprintf(&b, `<rect class="rail" width="%.0f" height="12" rx="3"/><rect class="%s" width="%.1f" height="12" rx="3"/>`, width, tone, min(1, share)*width)
	if target > 0 {
		fmt.Fprintf(&b, `<line class="aim" x1="%.1f" x2="%.1f" y1="-1" y2="13"/>`, target*width, target*width)
	}
	fmt.Fprintf(&b, `</svg> <span class="figure">%s</span> <span class="note">%s</span></span>`, percent(share), template.HTMLEscapeString(name))
	return template.HTML(b.String())
}

// selectorText is whom a selector means.
func selectorText(s *centralv1.Selector) string {
	var parts []string
	add := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	if s.GetAll() {
		parts = append(parts, "all nodes")
	}
	add("node", s.GetNodes())
	add("site", s.GetSites())
	add("neighbour", s.GetNeighbors())
	add("service", s.GetServices())
	for _, k := range slices.Sorted(maps.Keys(s.GetLabels())) {
		parts = append(parts, k+"="+s.GetLabels()[k])
	}
	return strings.Join(parts, ", ")
}
