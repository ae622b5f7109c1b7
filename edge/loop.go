package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/policy"
)

// Run announces until the context is done, and then leaves: all routes are
// withdrawn, the hold passes, the VIPs go, the sessions end. It returns an error
// only if the node could not start. Run may be called once.
func (e *Edge) Run(ctx context.Context) error {
	defer close(e.gone)
	leaving := sync.OnceFunc(func() { close(e.leaving) })
	defer leaving()
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	var side sync.WaitGroup
	defer side.Wait()
	defer stop()
	e.work = work

	if err := e.opt.Announcer.SetNeighbors(e.local(e.cfg), sessions(e.cfg)); err != nil {
		leaving()
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		e.opt.Announcer.Close(end, "")
		return errors.Join(err, e.free(end))
	}
	vipNews, err := e.opt.VIPs.Watch(work)
	if err != nil {
		e.log.Warn("changes of addresses on this machine go unseen", "error", err)
	}
	returnNews, err := e.opt.Returns.Watch(work)
	if err != nil {
		e.log.Warn("changes of return paths on this machine go unseen", "error", err)
	}
	side.Go(func() { e.watchWayBack(work) })
	e.checks.set(work, e.cfg, nil)
	e.load.see(e.opt.Announcer.Sessions())
	e.measure(time.Now())
	e.joinCentre(time.Now())
	defer e.partCentre()
	defer e.load.sampling.finish()
	e.logWarnings()
	e.log.Info("started", "node", e.cfg.Node, "asn", e.cfg.ASN, "version", e.opt.Version)
	e.loop(ctx, vipNews, returnNews)
	leaving()
	e.leave()
	e.checks.stop()
	return nil
}

// loop is the one goroutine that owns the state.
func (e *Edge) loop(ctx context.Context, vipNews, returnNews <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	trigger := "start"
	for ctx.Err() == nil {
		now := time.Now()
		e.step(now, trigger)
		e.beat(now)
		timer.Reset(e.sleep(now))
		trigger = e.await(ctx, timer.C, &vipNews, &returnNews)
	}
}

// await waits for the next event, takes it in and says what it was; empty:
// nothing that a decision depends on.
func (e *Edge) await(ctx context.Context, timer <-chan time.Time, vipNews, returnNews *<-chan struct{}) string {
	if r, ok := e.checks.next(); ok {
		if trigger, decide := e.takeResults(r); decide {
			return trigger
		}
	}
	sessions, calm := e.opt.Announcer.Changed(), (<-chan time.Time)(nil)
	if d := sessionsPause - time.Since(e.sessionsAt); d > 0 && d <= sessionsPause {
		sessions, calm = nil, time.After(d)
	}
	for {
		select {
		case <-ctx.Done():
			return ""
		case <-calm:
			sessions, calm = e.opt.Announcer.Changed(), nil
		case <-timer:
			return byTime
		case r := <-e.checks.results:
			if trigger, decide := e.takeResults(r); decide {
				return trigger
			}
		case n := <-e.centre.news:
			return e.hear(n)
		case wb := <-e.wayBacks:
			e.wayBack = &wb
			return "routes of this machine"
		case d := <-e.defaults:
			e.learn(d)
			return ""
		case <-sessions:
			e.sessionsAt = time.Now()
			e.load.see(e.opt.Announcer.Sessions())
			return bySessions
		case <-e.load.sampling.mail.ready:
			e.load.figures = e.load.sampling.mail.take()
			e.load.series.add(time.Now(), e.load.figures.links)
			return byLoad
		case _, ok := <-*vipNews:
			if !ok {
				*vipNews = nil
			}
			e.vips.dirty = true
			return "addresses of this machine"
		case _, ok := <-*returnNews:
			if !ok {
				*returnNews = nil
			}
			e.returns.dirty = true
			return ""
		case r := <-e.requests:
			if r.run(time.Now()); r.trigger != "" {
				return r.trigger
			}
		}
	}
}

// sessionsPause is the least time between two looks at the sessions: while thousands
// of routes go out there is news of them all the time.
const sessionsPause = 20 * time.Millisecond

// takeResults takes a check's result in, and those that wait behind it: when many
// services change at once, one decision is made for all of them, with one changed
// verdict of each: what made a service change stays known. It says whether there is
// something to decide and which verdict changed first, and leaves in triggers which
// one did for each service.
func (e *Edge) takeResults(r checkResult) (trigger string, decide bool) {
	e.triggers = map[string]string{}
	for range resultsAtOnce {
		if e.triggers[r.key.service] != "" {
			break
		}
		switch e.checks.take(r) {
		case newVerdict:
			decide = true
			e.triggers[r.key.service] = fmt.Sprintf("check %s of %s", r.key.check, r.key.service)
			trigger = cmp.Or(trigger, e.triggers[r.key.service])
		case newWords:
			decide = true
		}
		select {
		case r = <-e.checks.results:
			continue
		default:
		}
		if !decide { // most results; a watcher may show the time
			e.news.tell()
		}
		return trigger, decide
	}
	e.checks.ahead = &r
	return trigger, true
}

// resultsAtOnce bounds how many results one decision takes in.
const resultsAtOnce = 1000

// request is a function for the loop to run. Without a trigger it only reads:
// no decision follows.
type request struct {
	run     func(now time.Time)
	trigger string
}

// read runs a function that changes nothing in the loop, and waits for it.
func (e *Edge) read(ctx context.Context, f func(now time.Time)) error { return e.change(ctx, "", f) }

// change runs a function in the loop and waits for it.
func (e *Edge) change(ctx context.Context, trigger string, f func(now time.Time)) error {
	done := make(chan struct{})
	r := request{trigger: trigger, run: func(now time.Time) { defer close(done); f(now) }}
	select {
	case e.requests <- r:
		<-done
		return nil
	case <-e.leaving:
		return errLeaving
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errLeaving = errors.New("edge: the node is leaving")

// sleep is how long the loop may wait without an event.
func (e *Edge) sleep(now time.Time) time.Duration {
	next := earliest(e.decision.Wake, e.vips.wake(), e.learnt.retry, e.returns.retry, e.load.sampling.retry, e.nextBeat(), e.centreWake(now))
	for _, t := range e.told {
		next = earliest(next, t.retry)
	}
	if e.pending != nil {
		next = earliest(next, e.pending.deadline)
	}
	if next.IsZero() {
		return time.Hour
	}
	return max(0, next.Sub(now))
}

func earliest(ts ...time.Time) time.Time {
	var out time.Time
	for _, t := range ts {
		if !t.IsZero() && (out.IsZero() || t.Before(out)) {
			out = t
		}
	}
	return out
}

// step decides and brings about what was decided. An empty trigger says that
// nothing that a decision depends on has changed.
func (e *Edge) step(now time.Time, trigger string) {
	if ended := e.expire(now); ended != "" {
		trigger = ended
	}
	e.keepVIPs(now)
	e.keepDefaults(now)
	e.keepReturns(now)
	e.retryMeasure(now)
	e.steer(now)
	in := e.input(now, e.cfg)
	state, d := policy.Next(e.policyConfig(), e.state, in)
	e.tape.add(e.cfg, e.policyConfig(), e.state, in)
	e.record(now, trigger, in, d)
	e.recordLoad(now, &in, &d)
	keep := e.worthKeeping(now, trigger, &state, &d)
	e.triggers = nil
	e.state, e.decision = state, d
	routes := e.routes(d)
	for _, n := range e.cfg.Neighbors {
		e.tell(now, n.Name, routes[n.Name])
	}
	e.releaseVIPs(now)
	keep = e.tellCentre(now, &in, trigger == bySessions || seldom(trigger)) || keep
	if keep {
		e.store.save(e.stored())
	}
	e.news.tell()
}

// expire ends what has run out: overrides, and a configuration never confirmed.
// It says what did; empty: nothing.
func (e *Edge) expire(now time.Time) (ended string) {
	e.overrides = slices.DeleteFunc(slices.Clone(e.overrides), func(o policy.Override) bool {
		if !o.Active(now) {
			ended = "end of an override"
			e.log.Info("override ended", "service", o.Service, "neighbor", o.Neighbor, "verb", o.Verb.String())
		}
		return !o.Active(now)
	})
	if e.expirePins(now) {
		ended = "end of a pin"
	}
	if e.pending != nil && !now.Before(e.pending.deadline) {
		e.log.Warn("the new configuration was not confirmed: going back")
		_, _ = e.revert(now) // it logs what came of it
		ended = "configuration not confirmed"
	}
	return ended
}

func (e *Edge) watchWayBack(ctx context.Context) {
	for ctx.Err() == nil {
		err := e.opt.WayBack(ctx, func(wb host.WayBack) {
			select {
			case e.wayBacks <- wb:
			case <-ctx.Done():
			}
		})
		if err == nil {
			return
		}
		e.log.Error("the routes of this machine cannot be watched; trying again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}
