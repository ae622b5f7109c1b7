package edge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	centralv1 "github.com/catchment-bgp/catchment/api/central/v1"
	"github.com/catchment-bgp/catchment/policy"
	"github.com/catchment-bgp/catchment/policy/fleet"
)

// ask has the centre asked for leave from the next report on. An id is never used again.
func (e *Edge) ask(now time.Time, key string, l lease) lease {
	k := &e.centre
	k.number++
	l.ID, l.Asked = fmt.Sprintf("%s.%d", l.Service, k.number), now
	if k.kept.Leases == nil {
		k.kept.Leases = map[string]lease{}
	}
	k.kept.Leases[key] = l
	return l
}

// answers takes in what an intent says of what was asked for. sent is when the report
// went out that it answers.
func (e *Edge) answers(in *centralv1.Intent, sent time.Time) {
	k := &e.centre
	for key, l := range k.kept.Leases {
		for _, g := range in.GetGrants() {
			switch {
			case g.GetId() != l.ID:
			case fleet.State(g.GetState()) == fleet.Revoked:
				if l.State != fleet.Revoked {
					e.log.Warn("the centre has revoked leave: returning", "service", l.Service, "kind", string(l.Kind), "id", l.ID)
				}
				l.State = fleet.Revoked
			case l.State != fleet.Revoked && !sent.IsZero():
				if l.State == "" {
					e.log.Info("leave", "service", l.Service, "kind", string(l.Kind), "id", l.ID)
				}
				l.State, l.TTL, l.Sent, l.Refused = fleet.State(g.GetState()), g.GetTtl().AsDuration(), sent, ""
			}
		}
		for _, r := range in.GetRefusals() {
			if r.GetId() == l.ID && l.State == "" {
				if l.Refused == "" {
					e.log.Warn("the centre refuses leave", "service", l.Service, "kind", string(l.Kind), "limit", r.GetLimit(), "reason", r.GetReason())
				}
				l.Refused, l.Limit = refusalText(r), fleet.Limit(r.GetLimit())
			}
		}
		k.kept.Leases[key] = l
	}
}

func refusalText(r *centralv1.Refusal) string {
	text := r.GetLimit() + ": " + r.GetReason()
	if len(r.GetHolders()) > 0 {
		text += " (held by " + strings.Join(r.GetHolders(), ", ") + ")"
	}
	return text
}

// mayAct says whether the node may act on a lease now. What an operator withdrew with
// leave stays withdrawn until that is lifted or revoked: nobody is surprised by a
// node that announces again because the centre fell silent.
func (l *lease) mayAct(now time.Time) bool {
	switch {
	case l.State == fleet.Revoked:
		return false
	case l.Kind == fleet.Override && (l.Begun || l.Override):
		return true
	}
	return l.State != "" && l.MayAct(now)
}

// dropLeases forgets leave that is over, or that nothing asks for any more.
func (e *Edge) dropLeases(now time.Time) {
	k := &e.centre
	for key, l := range k.kept.Leases {
		kind, rest, _ := strings.Cut(key, "/")
		needed := false
		switch kind {
		case "window":
			needed = slices.ContainsFunc(k.windows.keys, func(t targetKey) bool {
				return t.service == rest && len(k.windows.running[t]) > 0
			}) || k.windows.of == nil
		case "local":
			needed = slices.ContainsFunc(e.overrides, func(o policy.Override) bool { return o.Service == rest && o.Verb != policy.Announce })
		case "fleet":
			id, _, _ := strings.Cut(rest, "/")
			needed = slices.ContainsFunc(k.want.overrides, func(w fleetWord) bool { return w.id == id && (w.until.IsZero() || now.Before(w.until)) })
		case "soft":
			needed = e.wantsSoft(rest)
		case "load":
			needed = e.wantsLoad(now, rest)
		}
		gone := service(e.cfg, l.Service) == nil
		if kind == "config" {
			needed = e.needsConfigLease(now, &l)
			gone = gone && !needed
		}
		needed = needed || now.Before(l.Until)
		ranOut := l.Begun && l.State != fleet.Revoked && !l.mayAct(now)
		if !needed || ranOut || gone {
			if ranOut {
				e.log.Warn("leave has run out: returning", "service", l.Service, "kind", string(l.Kind), "id", l.ID)
			}
			delete(k.kept.Leases, key)
			continue
		}
		if kind == "local" && l.State == fleet.Revoked && l.Begun {
			e.overrides = slices.DeleteFunc(slices.Clone(e.overrides), func(o policy.Override) bool {
				return o.Service == rest && o.Verb != policy.Announce
			})
		}
	}
}

// leaseWake is when a lease changes what may be done by itself.
func (k *centreKeeper) leaseWake(now time.Time) time.Time {
	var next time.Time
	for _, l := range k.kept.Leases {
		if until := l.Lease.Until(); l.State != "" && !l.Sent.IsZero() && until.After(now) {
			next = earliest(next, until)
		}
	}
	if until := k.backed.Add(fleet.TTL - fleet.Margin); len(k.want.keep) > 0 && !k.backed.IsZero() && until.After(now) {
		next = earliest(next, until)
	}
	return next
}

// fleetWords are the operators' words for the fleet that hold here. One that leaves a
// service no neighbour, after what operators and windows took before, waits for leave.
func (e *Edge) fleetWords(now time.Time) []policy.Override {
	k := &e.centre
	var out []policy.Override
	all, taken := targets(e.cfg), e.taken(now)
	words := slices.SortedStableFunc(slices.Values(k.want.overrides), func(a, b fleetWord) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.id, b.id)) })
	for _, w := range words {
		if !w.until.IsZero() && !now.Before(w.until) {
			continue
		}
		for i := range e.cfg.Services {
			svc := &e.cfg.Services[i]
			var hit []string
			left := false
			for _, n := range svc.Neighbors {
				key := targetKey{svc.Name, n}
				t, is := all[key]
				if is && w.selector.Matches(t) {
					hit = append(hit, n)
				} else if is {
					left = left || !taken[key]
				}
			}
			if len(hit) == 0 {
				continue
			}
			o := policy.Override{Service: svc.Name, Verb: w.verb, Reason: w.reason, By: w.by, Since: w.since, Until: w.until, EvenIfDead: w.evenIfDead,
				WithdrawAt: w.since.Add(svc.Drain)}
			if !left && w.verb != policy.Announce {
				begun, ok := e.begin(now, "fleet/"+w.id+"/"+svc.Name, lease{Lease: fleet.Lease{Kind: fleet.Override}, Service: svc.Name, Reason: w.reason, Override: w.overrideSafety})
				if !ok {
					continue
				}
				o.Since, o.WithdrawAt = begun, begun.Add(svc.Drain)
			}
			if o.Verb != policy.Drain {
				o.WithdrawAt = time.Time{}
			} else if before(e.decision, svc.Name).Severity == policy.Withdrawn || len(e.decision.Services) == 0 {
				o.WithdrawAt = minTime(now, o.WithdrawAt)
			}
			for _, n := range hit {
				o.Neighbor = n
				out = append(out, o)
				taken[targetKey{svc.Name, n}] = w.verb != policy.Announce || taken[targetKey{svc.Name, n}]
			}
		}
	}
	return out
}

// taken is what local words and windows take away, or are about to.
func (e *Edge) taken(now time.Time) map[targetKey]bool {
	out := map[targetKey]bool{}
	for key := range targets(e.cfg) {
		out[key] = len(e.centre.windows.running[key]) > 0 || slices.ContainsFunc(e.overrides, func(o policy.Override) bool {
			return o.Service == key.service && (o.Neighbor == "" || o.Neighbor == key.neighbor) && o.Verb != policy.Announce && o.Active(now)
		})
	}
	return out
}

// begin acts on leave if there is any, and asks for it otherwise. It returns since when
// it is acted on.
func (e *Edge) begin(now time.Time, key string, want lease) (time.Time, bool) {
	k := &e.centre
	l, asked := k.kept.Leases[key]
	if !asked {
		l = e.ask(now, key, want)
	}
	if !l.mayAct(now) {
		return time.Time{}, false
	}
	if !l.Begun {
		l.Begun, l.BegunAt = true, now
		k.kept.Leases[key] = l
	}
	return l.BegunAt, true
}

// wantsSoft says whether a service should be withdrawn for a soft failure.
func (e *Edge) wantsSoft(name string) bool {
	soft := e.state.Services[name].Soft
	return soft.Held && !soft.InService && !e.centre.want.frozen
}

// askForSoft asks for leave to withdraw what fails its soft checks, and acts on it.
func (e *Edge) askForSoft(now time.Time) {
	k := &e.centre
	for i := range e.cfg.Services {
		name := e.cfg.Services[i].Name
		if !e.wantsSoft(name) {
			continue
		}
		if _, ok := e.begin(now, "soft/"+name, lease{Lease: fleet.Lease{Kind: fleet.SoftFailure}, Service: name, Reason: "soft checks fail"}); ok {
			k.orders.Leave = append(k.orders.Leave, name)
		} else if l := k.kept.Leases["soft/"+name]; l.Refused != "" {
			k.orders.Refused = append(k.orders.Refused, policy.Refusal{Service: name, Reason: l.Refused})
		}
	}
}

// loadStays is for how long leave to climb is asked for after it was lacked last.
const loadStays = time.Minute

// wantsLoad says whether a service's neighbours need rungs that take leave, or stand
// on one.
func (e *Edge) wantsLoad(now time.Time, name string) bool {
	for _, nd := range before(e.decision, name).Neighbors {
		if last := e.centre.askedLoad[nd.Name]; !last.IsZero() && now.Sub(last) < loadStays || e.onLease(nd.Name) {
			return true
		}
	}
	return false
}

// onLease says whether a neighbour stands on a rung that needs leave.
func (e *Edge) onLease(neighbor string) bool {
	n := neighborOf(e.cfg, neighbor)
	rung := e.load.rungOf(e.state, neighbor)
	return n != nil && rung > 0 && rung <= len(n.Ladder) && n.Ladder[rung-1].MayWithdraw()
}

// askForLoad asks for leave to climb where the policy lacked it.
func (e *Edge) askForLoad(now time.Time) {
	k := &e.centre
	if k.want.frozen {
		return
	}
	for i := range e.decision.Climbers {
		d := &e.decision.Climbers[i]
		if d.Restraint.Hindrance == policy.NeedsGrant {
			k.askedLoad[d.Name] = now
		}
		last := k.askedLoad[d.Name]
		if !(e.onLease(d.Name) || !last.IsZero() && now.Sub(last) < loadStays) {
			continue
		}
		granted, any := true, false
		for _, svc := range e.cfg.Services {
			if !slices.Contains(svc.Neighbors, d.Name) {
				continue
			}
			any = true
			key := "load/" + svc.Name
			l, asked := k.kept.Leases[key]
			if !asked {
				l = e.ask(now, key, lease{Lease: fleet.Lease{Kind: fleet.Load}, Service: svc.Name, Reason: "load at " + d.Name, Load: e.through(d.Name)})
			}
			if e.onLease(d.Name) && !l.Begun && l.mayAct(now) {
				l.Begun, l.BegunAt = true, now
				k.kept.Leases[key] = l
			}
			granted = granted && l.mayAct(now)
		}
		if granted && any {
			k.orders.Ascend = append(k.orders.Ascend, d.Name)
		}
	}
}

// through is how much comes through a neighbour, and goes elsewhere if it is told of
// nothing, in bit/s; 0: not known, which counts as all that the node carries.
func (e *Edge) through(neighbor string) float64 {
	n, l := neighborOf(e.cfg, neighbor), e.linkOf(&e.decision, neighbor)
	if n == nil || l == nil || !l.Known || l.Stale {
		return 0
	}
	return l.Utilization * e.capacity(l.Name) * weight(e.cfg, n)
}

// capacity is that of a link in bit/s, as it was measured or else configured; 0: not
// known.
func (e *Edge) capacity(link string) float64 {
	if s := e.load.figures.links[link]; s.Capacity > 0 {
		return s.Capacity
	}
	for i := range e.cfg.Links {
		if e.cfg.Links[i].Name == link {
			return float64(e.cfg.Links[i].Capacity)
		}
	}
	return 0
}
