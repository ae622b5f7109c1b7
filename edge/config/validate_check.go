package config

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/catchment-bgp/catchment/healthcheck"
)

// The bounds of a check's times: below, probes would be a load of their own.
const (
	minInterval = 10 * time.Millisecond
	maxInterval = time.Hour
)

func (c *checker) checks(path string, raw []rawCheck) []healthcheck.Check {
	var out []healthcheck.Check
	seen := map[string]string{}
	for i := range raw {
		at := item(path, i)
		if c.bad[at] {
			continue
		}
		check := c.check(at, &raw[i])
		c.unique(seen, check.Name, join(at, "name"))
		out = append(out, check)
	}
	return out
}

func (c *checker) check(path string, r *rawCheck) healthcheck.Check {
	c.need(path, "name", "a short name such as web")
	check := healthcheck.Check{
		Name:         c.name(join(path, "name"), r.Name),
		HTTP:         c.http(join(path, "http"), r.HTTP),
		TCP:          c.tcp(join(path, "tcp"), r.TCP),
		Rise:         c.count(join(path, "rise"), r.Rise, defaultRise, 1, 1000),
		Fall:         c.count(join(path, "fall"), r.Fall, defaultFall, 1, 1000),
		Soft:         value(r.Scope, "hard") == "soft",
		Jitter:       c.fraction(join(path, "jitter"), r.Jitter, defaultJitter, 0, 0.5),
		Watch:        value(r.Watch, false),
		RestartGrace: c.duration(join(path, "restart_grace"), r.RestartGrace, defaultRestartGrace, 0, time.Minute),
	}
	switch http, tcp := c.has(join(path, "http")), c.has(join(path, "tcp")); {
	case http && tcp && !c.dirty[join(path, "http")]:
		c.reject(join(path, "tcp"), "a check has one kind; write http and tcp as two checks")
	case !http && !tcp:
		c.reject(path, "the check has no kind; write http: {url: ...} or tcp: {address: ...}")
	}
	c.times(path, r, &check)
	c.trial(path, check)
	return check
}

// trial lets package healthcheck refuse what only it knows, so that a check which
// is accepted here can be started.
func (c *checker) trial(path string, check healthcheck.Check) {
	if c.dirty[path] {
		return
	}
	_, err := healthcheck.New(check)
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		if err == nil {
			continue
		}
		text := oneLineOf(err)
		if field, rest, ok := strings.Cut(text, ": "); ok && c.has(join(path, field)) {
			c.errorAt(c.where(join(path, field)), join(path, field), rest)
			c.mark(join(path, field))
			continue
		}
		c.reject(path, "%s", text)
	}
}

// times completes interval, timeout and fast interval, which depend on each
// other in this order.
func (c *checker) times(path string, r *rawCheck, check *healthcheck.Check) {
	interval, timeout, fast := join(path, "interval"), join(path, "timeout"), join(path, "fast_interval")
	check.Interval = c.duration(interval, r.Interval, defaultCheckInterval, minInterval, maxInterval)
	check.Timeout = c.duration(timeout, r.Timeout, min(defaultTimeout, check.Interval/2), time.Millisecond, maxInterval)
	check.FastInterval = c.duration(fast, r.FastInterval,
		min(check.Interval, max(defaultFastInterval, check.Timeout)), minInterval, maxInterval)
	if c.bad[interval] || c.bad[timeout] {
		return
	}
	if check.Timeout >= check.Interval {
		c.reject(timeout, "%s is not below the interval of %s; write %s or less, or a longer interval",
			duration(check.Timeout), duration(check.Interval), duration(check.Interval/2))
		return
	}
	switch {
	case r.FastInterval == nil || c.bad[fast]:
	case check.FastInterval > check.Interval:
		c.reject(fast, "%s is above the interval of %s; write %s or less",
			duration(check.FastInterval), duration(check.Interval), duration(check.Interval))
	case check.FastInterval < check.Timeout:
		c.reject(fast, "%s is below the timeout of %s; write %s or more, or a shorter timeout",
			duration(check.FastInterval), duration(check.Timeout), duration(check.Timeout))
	}
}

func (c *checker) http(path string, raw *rawHTTP) *healthcheck.HTTP {
	if !c.usable(path) {
		return nil
	}
	r := value(raw, rawHTTP{})
	if c.need(path, "url", "what to ask for, such as http://198.51.100.1:8080/health") {
		c.url(join(path, "url"), *r.URL, "http://198.51.100.1:8080/health")
	}
	h := &healthcheck.HTTP{
		URL:                value(r.URL, ""),
		Method:             c.method(join(path, "method"), r.Method),
		Headers:            c.headers(join(path, "headers"), r.Headers),
		Status:             c.status(join(path, "status"), r.Status),
		Body:               string(value(r.Body, "")),
		InsecureSkipVerify: value(r.InsecureSkipVerify, false),
		ServerName:         value(r.ServerName, ""),
	}
	if _, err := regexp.Compile(h.Body); err != nil {
		c.reject(join(path, "body"), "%s; write a regular expression (RE2)", oneLineOf(err))
	}
	return h
}

func oneLineOf(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func (c *checker) method(path string, p *string) string {
	m := value(p, http.MethodGet)
	if m == "" || strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		c.reject(path, "%s is not an HTTP method; write for example GET or HEAD", show(m))
	}
	return m
}

func (c *checker) headers(path string, raw map[string]literal) map[string]string {
	if len(raw) == 0 {
		return nil
	}
	out := make(map[string]string, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		at := join(path, pathKey(name))
		if !httpguts.ValidHeaderFieldName(name) {
			c.reject(at, "%s is not the name of an HTTP header; write letters, digits and -", show(name))
		}
		if !httpguts.ValidHeaderFieldValue(string(raw[name])) {
			c.reject(at, "the value is not one of an HTTP header; write plain text")
		}
		out[name] = string(raw[name])
	}
	return out
}

func (c *checker) status(path string, raw []count) []int {
	c.notEmpty(path, len(raw), "write the codes that are good, or remove the key for 200 to 299")
	var out []int
	for i, code := range raw {
		at := item(path, i)
		if !c.bad[at] && (code < 200 || code > 599) {
			c.reject(at, "%d is not a final HTTP status; write 200 to 599", code)
		}
		out = append(out, int(code))
	}
	return out
}

func (c *checker) tcp(path string, raw *rawTCP) *healthcheck.TCP {
	if !c.usable(path) {
		return nil
	}
	r := value(raw, rawTCP{})
	if c.need(path, "address", "a host and port, such as 198.51.100.1:443") {
		c.hostPort(join(path, "address"), *r.Address, "198.51.100.1:443")
	}
	return &healthcheck.TCP{Address: value(r.Address, "")}
}
