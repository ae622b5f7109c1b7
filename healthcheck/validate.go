package healthcheck

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// validate returns everything that is wrong with the check's numbers.
func (c Check) validate() []error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(c.Interval <= 0, "interval: %v is not above zero: write for example 1s", c.Interval)
	refuse(c.Timeout <= 0, "timeout: %v is not above zero: write a time below the interval %v", c.Timeout, c.Interval)
	refuse(c.Interval > 0 && c.Timeout >= c.Interval,
		"timeout: %v is not below the interval %v: write %v or less", c.Timeout, c.Interval, c.Interval/2)
	refuse(c.FastInterval < 0, "fast_interval: %v is below zero: leave it out for the interval %v", c.FastInterval, c.Interval)
	refuse(c.Interval > 0 && c.FastInterval > c.Interval,
		"fast_interval: %v is longer than the interval %v: write %v or less", c.FastInterval, c.Interval, c.Interval)
	refuse(c.Rise < 1, "rise: %d passes in a row are no evidence: write 1 or more", c.Rise)
	refuse(c.Fall < 1, "fall: %d failures in a row are no evidence: write 1 or more", c.Fall)
	refuse(!(c.Jitter >= 0 && c.Jitter <= 0.5), "jitter: %v is not a share of the interval: write 0 to 0.5", c.Jitter)
	refuse(c.RestartGrace < 0, "restart_grace: %v is below zero: write 0s for none", c.RestartGrace)
	return errs
}

// target builds what the check probes from its one kind.
func (c Check) target() (*target, []error) {
	names := slices.Sorted(maps.Keys(kinds))
	var found []string
	var t *target
	var errs []error
	for _, name := range names {
		got, wrong := kinds[name](c)
		if got == nil && len(wrong) == 0 {
			continue
		}
		found, errs, t = append(found, name), append(errs, wrong...), got
	}
	switch {
	case len(found) == 0:
		errs = append(errs, fmt.Errorf("kind: none is set: add one of %s", strings.Join(names, ", ")))
	case len(found) > 1:
		errs = append(errs, fmt.Errorf("kind: %s are set together: keep one and make each other a check of its own", strings.Join(found, " and ")))
	case t != nil && c.Watch && t.address == "":
		errs = append(errs, fmt.Errorf("watch: %s has no connection to watch: leave watch out, or use http or tcp", found[0]))
	}
	return t, errs
}

// splitAddress checks host:port, with an IPv6 host in brackets.
func splitAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return fmt.Errorf("%q is not host:port: write for example 127.0.0.1:80 or [::1]:80", address)
	}
	return checkPort(port)
}

func checkPort(port string) error {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("port %q is not a port: write a number from 1 to 65535", port)
	}
	return nil
}

// withDefaults fills in what an empty field stands for.
func (c Check) withDefaults() Check {
	if c.FastInterval == 0 {
		c.FastInterval = c.Interval
	}
	return c
}

// spread shortens d by up to jitter of it; random returns 0..1.
func spread(d time.Duration, jitter float64, random func() float64) time.Duration {
	return d - time.Duration(jitter*random()*float64(d))
}
