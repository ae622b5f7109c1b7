package edge

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/catchment-bgp/catchment/announcer"
	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
)

// vipKeeper holds the VIPs of all services for as long as they are configured:
// a service can only be checked where its address is. What a reload takes away
// stays until the last withdrawal was sent and the hold has passed.
type vipKeeper struct {
	to      VIPs
	dirty   bool // what stands must be looked at again
	want    map[vip]string
	faults  map[string]string // by service
	leaving map[vip]time.Time // VIPs to go, and when; zero: not withdrawn yet
	retry   time.Time
}

type vip struct {
	iface  string
	prefix netip.Prefix
}

func newVIPKeeper(to VIPs) vipKeeper {
	return vipKeeper{to: to, dirty: true, want: map[vip]string{}, leaving: map[vip]time.Time{}, faults: map[string]string{}}
}

// fault says why a service's VIPs do not stand; empty: they do.
func (k *vipKeeper) fault(service string) string { return k.faults[service] }

// wake is when the keeper has something to do.
func (k *vipKeeper) wake() time.Time {
	next := k.retry
	for _, at := range k.leaving {
		next = earliest(next, at)
	}
	return next
}

// plan takes over the VIPs of a configuration.
func (k *vipKeeper) plan(c *config.Config) {
	want := map[vip]string{}
	for _, svc := range c.Services {
		for _, p := range svc.VIPs {
			want[vip{svc.Interface, p}] = svc.Name
		}
	}
	for v := range k.want {
		if _, stays := want[v]; !stays {
			k.leaving[v] = time.Time{}
		}
	}
	for v := range want {
		delete(k.leaving, v)
	}
	if !maps.Equal(want, k.want) {
		k.want, k.dirty = want, true
	}
}

// keepVIPs brings the VIPs to what is wanted.
func (e *Edge) keepVIPs(now time.Time) {
	k := &e.vips
	k.plan(e.cfg)
	if !k.dirty && (k.retry.IsZero() || now.Before(k.retry)) {
		return
	}
	err := k.set()
	faults := k.explain(err)
	if !maps.Equal(faults, k.faults) && err != nil {
		e.log.Error("VIPs", "error", err)
	}
	k.faults, k.dirty, k.retry = faults, false, time.Time{}
	if err != nil {
		k.retry = now.Add(retryAfter)
	}
}

// releaseVIPs gives up VIPs whose routes were withdrawn long enough ago. It runs
// after the announcer was told.
func (e *Edge) releaseVIPs(now time.Time) {
	k := &e.vips
	for v, at := range k.leaving {
		switch {
		case at.IsZero() && e.allSettled():
			k.leaving[v] = now.Add(e.cfg.LeaveHold)
		case !at.IsZero() && !now.Before(at):
			delete(k.leaving, v)
			k.dirty = true
		}
	}
	if k.dirty {
		e.keepVIPs(now)
	}
}

func (k *vipKeeper) set() error {
	all := map[string][]netip.Prefix{}
	for _, vs := range [][]vip{slices.Collect(maps.Keys(k.want)), slices.Collect(maps.Keys(k.leaving))} {
		for _, v := range vs {
			all[v.iface] = append(all[v.iface], v.prefix)
		}
	}
	return k.to.Set(all)
}

// explain says which services an error of set hits.
func (k *vipKeeper) explain(err error) map[string]string {
	faults := map[string]string{}
	if err == nil {
		return faults
	}
	var failed *host.SetError
	if !errors.As(err, &failed) {
		for _, service := range k.want {
			faults[service] = err.Error()
		}
		return faults
	}
	for _, f := range failed.Failures {
		if service, ok := k.want[vip{f.Interface, f.Prefix}]; ok {
			faults[service] = f.Error()
		}
	}
	return faults
}

// allSettled says whether at every neighbour with a session just what is wanted
// stands.
func (e *Edge) allSettled() bool {
	for _, t := range e.told {
		if !t.retry.IsZero() {
			return false // a neighbour could not even be told
		}
	}
	for _, st := range e.opt.Announcer.Status() {
		if st.State == guard.Established && !st.Settled {
			return false
		}
	}
	return true
}

var _ Announcer = (*announcer.Announcer)(nil)
var _ VIPs = (*host.VIPs)(nil)
