package config

import "time"

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
		Landing:   c.fraction(join(path, "landing"), r.Landing, defaultLanding, 0, 1),
	}
	if c.has(join(path, "interface")) && c.has(join(path, "feed")) {
		c.reject(join(path, "feed"), "interface stands there too; write one of them, or fast: {interface: ...} and exact: {feed: ...}")
	}
	return l
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
	return &Source{
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
