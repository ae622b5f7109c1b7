package load

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Periods that a config leaves open.
const (
	defaultRound    = time.Second
	defaultSessions = 5 * time.Second
	// A count may take one part in this many of the time.
	countShare = 50
)

// nodeMeter measures Node.
type nodeMeter struct {
	config   Resources
	kernel   *kernel
	track    *track
	smoothed map[string]*EWMA

	last     time.Time // of the round before
	cpu      *cpuTimes
	disks    map[string]uint64
	pressure map[string]uint64
	nics     []*counterReader
	gauges   []*gauge
	sessions Resource // the last count
	counted  time.Time
	every    time.Duration // between counts
	whole    func(disk string) bool
}

func newNodeMeter(c Resources, k *kernel, t *track) *nodeMeter {
	if c.Period == 0 {
		c.Period = defaultRound
	}
	if c.SessionsPeriod == 0 {
		c.SessionsPeriod = defaultSessions
	}
	m := &nodeMeter{config: c, kernel: k, track: t, smoothed: map[string]*EWMA{}, pressure: map[string]uint64{}, whole: wholeDisk}
	for _, i := range c.Interfaces {
		m.nics = append(m.nics, &counterReader{devices: k.devices, name: i.Name})
		m.gauges = append(m.gauges, &gauge{devices: k.devices, name: i.Name, configured: i.Speed})
	}
	return m
}

func (m *nodeMeter) run(ctx context.Context, hand func(Node)) {
	every(ctx, m.config.Period, false, func() {
		n, ok, err := m.round(ctx, time.Now())
		if ctx.Err() != nil {
			return
		}
		switch {
		case err != nil:
			m.track.fail(err)
		case ok:
			m.track.ok()
		}
		if ok {
			m.track.seen(n.At)
			hand(n)
		}
	})
}

// round measures everything once. What could not be measured is left out and named
// by the error; ok is false if there is nothing else.
func (m *nodeMeter) round(ctx context.Context, now time.Time) (n Node, ok bool, err error) {
	r := &roundResult{meter: m, now: now, span: now.Sub(m.last)}
	if m.last.IsZero() || r.span > longestGap {
		r.span = 0 // nothing to compare with
	}
	m.last = now
	r.measureCPU()
	r.measureInterfaces(ctx)
	r.measureDisks()
	r.measurePressure("cpu", "some", m.config.PressureCPU)
	r.measurePressure("io", "full", m.config.PressureIO)
	r.measurePressure("memory", "full", m.config.PressureMemory)
	r.measureSessions()
	n, ok = Combine(r.list, now)
	return n, ok, errors.Join(r.errs...)
}

// Combine makes the node's load of its resources': the greatest, the first of
// equals. False: there is none. Pure.
func Combine(list []Resource, at time.Time) (Node, bool) {
	n := Node{Resources: list, At: at}
	for i, r := range list {
		if i == 0 || r.Utilization > n.Utilization {
			n.Utilization, n.Resource = r.Utilization, r.Name
		}
	}
	return n, len(list) > 0
}

// roundResult is a round under way.
type roundResult struct {
	meter *nodeMeter
	now   time.Time
	span  time.Duration // since the round before; 0: there is none
	list  []Resource
	errs  []error
}

// add notes a resource, smoothed.
func (r *roundResult) add(name string, utilization float64) {
	if r.meter.config.Smooth > 0 {
		e := r.meter.smoothed[name]
		if e == nil || r.span == 0 {
			e = &EWMA{Tau: r.meter.config.Smooth}
			r.meter.smoothed[name] = e
		}
		utilization = e.Add(utilization, r.now)
	}
	r.list = append(r.list, Resource{name, utilization, r.now})
}

func (r *roundResult) fail(what string, err error) {
	r.errs = append(r.errs, fmt.Errorf("%s: %w", what, err))
}

func (r *roundResult) readProc(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(r.meter.kernel.proc, name))
}

func (r *roundResult) measureCPU() {
	if !r.meter.config.CPU {
		return
	}
	text, err := r.readProc("stat")
	var now cpuTimes
	if err == nil {
		now, err = parseCPU(text)
	}
	if err != nil {
		r.meter.cpu = nil
		r.fail("cpu", err)
		return
	}
	if before := r.meter.cpu; before != nil && r.span > 0 {
		if share, ok := now.share(*before); ok {
			r.add("cpu", share)
		}
	}
	r.meter.cpu = &now
}

func (r *roundResult) measureInterfaces(ctx context.Context) {
	for i, nic := range r.meter.nics {
		s, err := nic.read(ctx)
		if errors.Is(err, errNothingNew) {
			continue
		}
		capacity := r.meter.gauges[i].capacity(r.now)
		if err == nil && capacity == 0 {
			err = fmt.Errorf("interface %s: its speed is unknown: set it", nic.name)
		}
		if err != nil {
			r.errs = append(r.errs, err)
			continue
		}
		r.add("interface "+nic.name, s.Load/capacity)
	}
}

func (r *roundResult) measureDisks() {
	if len(r.meter.config.Disks) == 0 {
		return
	}
	text, err := r.readProc("diskstats")
	if err != nil {
		r.meter.disks = nil
		r.fail("disks", err)
		return
	}
	before, now := r.meter.disks, parseDisks(text)
	r.meter.disks = now
	for _, name := range r.wantedDisks(now) {
		busy, there := now[name]
		was, had := before[name]
		if !there {
			r.fail("disk "+name, errors.New("there is none of that name"))
			continue
		}
		if share, ok := diskShare(was, busy, r.span); had && ok {
			r.add("disk "+name, share)
		}
	}
}

// wantedDisks are the names in the config, with "*" replaced.
func (r *roundResult) wantedDisks(now map[string]uint64) (list []string) {
	for _, name := range r.meter.config.Disks {
		if name != "*" {
			list = append(list, name)
			continue
		}
		for _, disk := range slices.Sorted(maps.Keys(now)) {
			if r.meter.whole(disk) {
				list = append(list, disk)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// wholeDisk tells disks from partitions, and from what is in memory or on other
// disks.
func wholeDisk(name string) bool {
	for _, other := range []string{"loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"} {
		if strings.HasPrefix(name, other) {
			return false
		}
	}
	_, err := os.Stat(filepath.Join("/sys/block", name))
	return err == nil
}

func (r *roundResult) measurePressure(what, line string, limit float64) {
	if limit <= 0 {
		return
	}
	text, err := r.readProc("pressure/" + what)
	var now uint64
	if err == nil {
		now, err = parsePressure(text, line)
	}
	before, had := r.meter.pressure[what]
	if err != nil {
		delete(r.meter.pressure, what)
		r.fail(what+" pressure", fmt.Errorf("%w (PSI is switched on by psi=1 on the kernel's command line)", err))
		return
	}
	r.meter.pressure[what] = now
	if share, ok := pressureShare(before, now, r.span); had && ok {
		r.add(what+" pressure", share/limit)
	}
}

// measureSessions counts when it is time to, and else has the last count again,
// with the time that it is of.
func (r *roundResult) measureSessions() {
	m := r.meter
	if m.config.Sessions <= 0 {
		return
	}
	if m.counted.IsZero() || r.now.Sub(m.counted) >= m.every {
		m.counted = r.now
		begin := time.Now()
		n, err := m.kernel.sessions(m.config.VIPs)
		m.every = max(m.config.SessionsPeriod, countShare*time.Since(begin))
		if err != nil {
			r.fail("sessions", err)
		} else {
			m.sessions = Resource{"sessions", float64(n) / float64(m.config.Sessions), r.now}
		}
	}
	if !m.sessions.At.IsZero() && r.now.Sub(m.sessions.At) <= lostPeriods*m.every {
		r.list = append(r.list, m.sessions)
	}
}
