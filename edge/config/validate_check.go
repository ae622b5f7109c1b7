package config

import (
	"strings"
	"time"

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
		DNS:          c.dns(join(path, "dns"), r.DNS),
		ICMP:         c.icmp(join(path, "icmp"), r.ICMP),
		GRPC:         c.grpc(join(path, "grpc"), r.GRPC),
		Exec:         c.exec(join(path, "exec"), r.Exec),
		Unit:         c.unit(join(path, "unit"), r.Unit),
		File:         c.fileCheck(join(path, "file"), r.File),
		Rise:         c.count(join(path, "rise"), r.Rise, defaultRise, 1, 1000),
		Fall:         c.count(join(path, "fall"), r.Fall, defaultFall, 1, 1000),
		Soft:         value(r.Scope, "hard") == "soft",
		Jitter:       c.fraction(join(path, "jitter"), r.Jitter, defaultJitter, 0, 0.5),
		Watch:        value(r.Watch, false),
		RestartGrace: c.duration(join(path, "restart_grace"), r.RestartGrace, defaultRestartGrace, 0, time.Minute),
	}
	c.oneKind(path)
	c.times(path, r, &check)
	c.trial(path, check)
	return check
}

// checkKinds are the keys of which a check has one.
var checkKinds = []string{"http", "tcp", "dns", "icmp", "grpc", "exec", "unit", "file"}

func (c *checker) oneKind(path string) {
	first := ""
	for _, kind := range checkKinds {
		at := join(path, kind)
		switch {
		case !c.has(at):
		case first == "":
			first = kind
		case !c.dirty[join(path, first)]:
			c.reject(at, "a check has one kind; write %s and %s as two checks", first, kind)
		}
	}
	if first == "" {
		c.reject(path, "the check has no kind; write one of %s, such as http: {url: ...}", strings.Join(checkKinds, ", "))
	}
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
	check.Timeout = c.duration(timeout, r.Timeout, defaultTimeoutOf(*check), time.Millisecond, maxInterval)
	check.FastInterval = c.duration(fast, r.FastInterval,
		min(check.Interval, max(defaultFastInterval, check.Timeout)), minInterval, maxInterval)
	if c.bad[interval] || c.bad[timeout] {
		return
	}
	if !c.maxTime(path, r, *check) {
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

func oneLineOf(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// defaultTimeoutOf is the timeout where none is written: later than max_time, by
// defaultTimeout or half of what the interval leaves, so that the probe has the
// time to say that max_time was not enough.
func defaultTimeoutOf(check healthcheck.Check) time.Duration {
	if h := check.HTTP; h != nil && h.MaxTime > 0 && h.MaxTime < check.Interval {
		return h.MaxTime + min(defaultTimeout, (check.Interval-h.MaxTime)/2)
	}
	return min(defaultTimeout, check.Interval/2)
}

// maxTime compares max_time with the interval and a timeout that is written. It
// tells whether the timeout is worth a look.
func (c *checker) maxTime(path string, r *rawCheck, check healthcheck.Check) bool {
	at := join(path, "http.max_time")
	if !c.usable(at) || check.HTTP == nil {
		return true
	}
	switch most := check.HTTP.MaxTime; {
	case most >= check.Interval:
		c.reject(at, "%s is not below the interval of %s; write a longer interval", duration(most), duration(check.Interval))
		return false
	case r.Timeout != nil && most > check.Timeout:
		c.reject(join(path, "timeout"), "%s is below the max_time of %s; remove it, or write %s or more",
			duration(check.Timeout), duration(most), duration(most))
		return false
	}
	return true
}
