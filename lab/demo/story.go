package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/announcer/upstream"
	"github.com/catchment-bgp/catchment/community"
	"github.com/catchment-bgp/catchment/edge"
	"github.com/catchment-bgp/catchment/policy"
)

// view is what a router's table must show of the prefix.
type view func(paths []upstream.Path) error

// announced wants one path with a number of prepends and the node's communities.
func announced(prepend int, gshut bool) view {
	return func(paths []upstream.Path) error {
		if len(paths) != 1 {
			return fmt.Errorf("%d paths, want 1", len(paths))
		}
		p := paths[0]
		if want := slices.Repeat([]uint32{ourASN}, prepend+1); !slices.Equal(p.ASPath, want) {
			return fmt.Errorf("AS_PATH %v, want %v", p.ASPath, want)
		}
		if has := p.Communities.Contains(community.GracefulShutdown); has != gshut {
			return fmt.Errorf("GSHUT %v, want %v", has, gshut)
		}
		if tag := community.NewStandard(ourASN, 101); !p.Communities.Contains(tag) {
			return fmt.Errorf("communities %s lack %s", p.Communities, tag)
		}
		return nil
	}
}

func withdrawn(paths []upstream.Path) error {
	if len(paths) != 0 {
		return fmt.Errorf("%d paths, want none", len(paths))
	}
	return nil
}

// story is the demo, step by step.
func (d *demo) story(ctx context.Context) error {
	steps := []struct {
		title string
		act   func(ctx context.Context) error
		a, b  view
	}{
		{"The node starts: its service is healthy, the prefix is announced to both upstreams.",
			nothing, announced(0, false), announced(0, false)},
		{"Reload with `prepend: 2` at transit-b: only transit-b gets an UPDATE.",
			d.reload(2), d.leftAlone(announced(0, false)), announced(2, false)},
		{"The service dies (the listener and its connections are closed): withdrawn.",
			func(context.Context) error { return d.web.stop() }, withdrawn, withdrawn},
		{"The service returns; a second of uninterrupted health is asked for here (10 s by default).",
			func(context.Context) error { return d.web.start() }, announced(0, false), announced(2, false)},
		{"Drain, as before maintenance: GSHUT (65535:0, RFC 8326) asks others to prefer another site.",
			d.word(policy.Drain, "kernel upgrade"), announced(0, true), announced(2, true)},
		{"After the drain time (2 s here) the prefix is withdrawn; the sessions stay up.",
			nothing, d.withdrawnSessionsUp, d.withdrawnSessionsUp},
		{"The override is lifted: announced again.",
			d.auto, announced(0, false), announced(2, false)},
	}
	d.say("catchment demo: AS %d, one edge, two upstreams, one prefix. Configuration: %s\n", ourASN, d.file())
	for i, s := range steps {
		if err := d.step(ctx, i+1, s.title, s.act, s.a, s.b); err != nil {
			return err
		}
	}
	if d.Keep {
		d.keep(ctx)
	}
	return d.goodbye(len(steps) + 1)
}

func nothing(context.Context) error { return nil }

// leftAlone wants a view, and that transit-a got no UPDATE since the reload began.
func (d *demo) leftAlone(v view) view {
	return func(paths []upstream.Path) error {
		now, err := d.updatesSent(context.Background())
		if err != nil {
			return err
		}
		if now != d.sentBefore {
			return fmt.Errorf("%d UPDATEs were sent, want none", now-d.sentBefore)
		}
		return v(paths)
	}
}

// updatesSent is how many UPDATEs transit-a got.
func (d *demo) updatesSent(ctx context.Context) (uint64, error) {
	s, err := d.node.Snapshot(ctx)
	return s.Sessions[d.transits[0].name].UpdatesSent, err
}

func (d *demo) reload(prepend int) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if d.sentBefore, err = d.updatesSent(ctx); err != nil {
			return err
		}
		if err := d.writeConfig(prepend); err != nil {
			return err
		}
		_, err = d.node.ReloadFile(ctx)
		return err
	}
}

func (d *demo) word(v policy.Verb, reason string) func(context.Context) error {
	return func(ctx context.Context) error { return d.override(ctx, v, reason) }
}

func (d *demo) auto(ctx context.Context) error {
	_, _, err := d.node.ClearOverride(ctx, edge.Selector{Services: []string{"video"}}, "upgrade done", "demo")
	return err
}

func (d *demo) withdrawnSessionsUp(paths []upstream.Path) error {
	for _, t := range d.transits {
		if !t.router.Established() {
			return fmt.Errorf("the session with %s is down", t.name)
		}
	}
	return withdrawn(paths)
}

// step does one thing and waits until both tables are as they should be.
func (st *stage) step(ctx context.Context, n int, title string, act func(context.Context) error, views ...view) error {
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	st.say("%d. %s", n, title)
	start := time.Now()
	if err := act(ctx); err != nil {
		return fmt.Errorf("demo: step %d: %w", n, err)
	}
	if err := st.await(ctx, views); err != nil {
		return fmt.Errorf("demo: step %d: %w", n, err)
	}
	took := time.Since(start)
	if err := st.tables(); err != nil {
		return err
	}
	st.say("   %s\n", human(took))
	return nil
}

// pollEvery is how often the routers' tables are read.
const pollEvery = time.Millisecond

func (st *stage) await(ctx context.Context, views []view) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		var bad error
		for i, t := range st.transits {
			paths, err := t.router.Routes()
			if err == nil {
				err = views[i](paths)
			}
			if err != nil {
				bad = errors.Join(bad, fmt.Errorf("%s: %w", t.name, err))
			}
		}
		if bad == nil {
			return nil
		}
		select {
		case <-tick.C:
		case err := <-st.left:
			st.left <- err
			return errors.Join(fmt.Errorf("the node has left: %w", bad), err)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), bad)
		}
	}
}

// tables prints what each router has learnt.
func (st *stage) tables() error {
	for _, t := range st.transits {
		paths, err := t.router.Routes()
		if err != nil {
			return err
		}
		lines := []string{"(nothing)"}
		if len(paths) > 0 {
			lines = nil
		}
		for _, p := range paths {
			lines = append(lines, p.String())
		}
		st.say("   %s (AS %d) has  %s", t.name, t.asn, strings.Join(lines, "\n"))
	}
	return nil
}

func human(t time.Duration) string {
	if t < time.Second {
		return fmt.Sprintf("after %.1f ms", float64(t.Microseconds())/1000)
	}
	return fmt.Sprintf("after %.2f s", t.Seconds())
}

// keep leaves everything running until the context ends.
func (d *demo) keep(ctx context.Context) {
	d.say(`Left running. Try, in another terminal (Ctrl-C here ends the demo):
  export CATCHMENT_EDGE=unix://%s
  bin/catchment edge status
  bin/catchment edge why
  bin/catchment edge withdraw video --neighbor transit-b --reason "try it" --for 1m
  bin/catchment edge auto video --reason "enough"
  bin/catchment edge plan --config %s
`, d.socket(), d.file())
	select {
	case <-ctx.Done():
	case err := <-d.left:
		d.left <- err
	}
}

// goodbye has the node leave, as on SIGTERM.
func (d *demo) goodbye(n int) error {
	d.say("%d. The node leaves, as on SIGTERM: withdrawal, hold, then Cease/Administrative Shutdown.", n)
	ctx, cancel := context.WithTimeout(context.Background(), stepTime)
	defer cancel()
	start := time.Now()
	d.leave()
	if err := d.await(ctx, []view{withdrawn, withdrawn}); err != nil && len(d.left) == 0 {
		return fmt.Errorf("demo: leaving: %w", err)
	}
	gone := time.Since(start)
	select {
	case err := <-d.left:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return fmt.Errorf("demo: the node did not end within %s", stepTime)
	}
	if err := d.tables(); err != nil {
		return err
	}
	d.say("   withdrawn %s, ended %s", human(gone), human(time.Since(start)))
	return nil
}
