package config

import (
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/load"
)

func (c *checker) links(raw []rawLink) []Link {
	var out []Link
	seen := map[string]string{}
	for i := range raw {
		path := item("links", i)
		if c.bad[path] {
			out = append(out, Link{})
			continue
		}
		l := c.link(path, &raw[i])
		c.unique(seen, l.Name, join(path, "name"))
		out = append(out, l)
	}
	return out
}

func (c *checker) link(path string, r *rawLink) Link {
	c.need(path, "name", "a short name such as transit-a")
	l := Link{
		Name:      c.name(join(path, "name"), r.Name),
		Capacity:  uint64(value(r.Capacity, 0)),
		Interface: c.device(join(path, "interface"), r.Interface, ""),
		Feed:      c.feed(join(path, "feed"), r.Feed),
		Fast:      c.source(join(path, "fast"), r.Fast),
		Exact:     c.source(join(path, "exact"), r.Exact),
		Direction: toDirection(r.Direction),
		Smooth:    c.duration(join(path, "smooth"), r.Smooth, defaultSmooth, 0, time.Minute),
		Landing:   c.fraction(join(path, "landing"), r.Landing, defaultLanding, 0, 1),
	}
	if c.has(join(path, "interface")) && c.has(join(path, "feed")) {
		c.reject(join(path, "feed"), "interface stands there too; write one of them, or fast: {interface: ...} and exact: {feed: ...}")
	}
	if c.has(join(path, "feed")) && c.has(join(path, "fast")) && c.has(join(path, "exact")) {
		c.reject(join(path, "feed"), "fast and exact stand there too; write two sources")
	}
	if at := join(path, "direction"); c.has(at) && !c.has(join(path, "interface")) && !c.has(join(path, "feed")) {
		c.reject(at, "there is no interface and no feed beside it; write it inside fast and exact")
	}
	return l
}

// directions gives the directions by their names in the file.
var directions = map[direction]load.Direction{"busier": load.Busier, "tx": load.Transmit, "rx": load.Receive}

func toDirection(p *direction) load.Direction { return directions[value(p, "busier")] }

func directionOf(d load.Direction) *direction {
	for name, known := range directions {
		if known == d {
			return &name
		}
	}
	return nil
}

func (c *checker) feed(path string, r *rawFeed) *Feed {
	if !c.usable(path) {
		return nil
	}
	raw := value(r, rawFeed{})
	if c.need(path, "url", "where the figures are") {
		c.url(join(path, "url"), *raw.URL, "http://127.0.0.1:8000/load.json")
	}
	return &Feed{
		URL:    value(raw.URL, ""),
		Period: c.period(join(path, "period"), raw.Period, defaultFeedPeriod),
	}
}

func (c *checker) period(path string, p *duration, otherwise time.Duration) time.Duration {
	return c.duration(path, p, otherwise, time.Second, time.Hour)
}

// source reads where figures come from: exactly one of three.
func (c *checker) source(path string, r *rawSource) *Source {
	if !c.usable(path) {
		return nil
	}
	raw := value(r, rawSource{})
	n := 0
	for _, key := range []string{"interface", "feed", "prometheus"} {
		if c.has(join(path, key)) {
			n++
		}
	}
	if n != 1 && !c.dirty[path] {
		c.reject(path, "%d sources stand here; write exactly one of interface, feed and prometheus", n)
		return nil
	}
	if c.has(join(path, "period")) && !c.has(join(path, "prometheus")) {
		c.reject(join(path, "period"), "a period here goes with prometheus only; write it inside feed, or remove it")
	}
	if at := join(path, "direction"); c.has(at) && c.has(join(path, "prometheus")) {
		c.reject(at, "a direction goes with interface and feed only; write a query for it")
	}
	if at := join(path, "average"); c.has(at) && strings.HasSuffix(path, ".fast") {
		c.reject(at, "an average goes with exact only; remove it")
	}
	return &Source{
		Direction:  toDirection(raw.Direction),
		Delay:      c.duration(join(path, "delay"), raw.Delay, 0, 0, time.Hour),
		Average:    c.duration(join(path, "average"), raw.Average, 0, 0, time.Hour),
		Interface:  c.device(join(path, "interface"), raw.Interface, ""),
		Feed:       c.feed(join(path, "feed"), raw.Feed),
		Prometheus: c.prometheus(path, raw),
	}
}

func (c *checker) prometheus(path string, raw rawSource) *Prometheus {
	at := join(path, "prometheus")
	if !c.usable(at) {
		return nil
	}
	r := value(raw.Prometheus, rawPrometheus{})
	if c.need(at, "url", "where Prometheus is") {
		c.url(join(at, "url"), *r.URL, "http://127.0.0.1:9090")
	}
	if c.need(at, "query", "an instant query whose result is in bit/s") && *r.Query == "" {
		c.reject(join(at, "query"), "the query is empty; write one whose result is in bit/s")
	}
	return &Prometheus{
		URL:    value(r.URL, ""),
		Query:  string(value(r.Query, "")),
		Period: c.period(join(path, "period"), raw.Period, defaultPrometheusPeriod),
	}
}
