package scenarios

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// dying is a fleet whose centre is killed again and again.
type dying struct {
	*governed
	wire   *wireWatch
	random *rand.Rand
	kills  int
	acked  []string // what the audit log must have, as "METHOD TARGET"
	// shown has the tags that routes carry, by edge: many changes in a row wait for what
	// routers that damp tolerate.
	shown map[string][]string
}

const dyingServices = "[{name: video, min_announcing: 1}]"

// TestTheCentreDiesAtAnyMoment kills it while tags, windows and grants are made. Between the
// kills it starts again on what it has on disk.
func TestTheCentreDiesAtAnyMoment(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := &dying{governed: newGoverned(t, 3, 1), random: rand.New(rand.NewPCG(seed, 1)), shown: map[string][]string{}}
	d.startCentre(d.centres[0], "data: /var/lib/central", dyingServices)
	for _, e := range d.edges {
		d.admit(e)
	}
	d.startEdges()
	d.wire = watchWire(d.governed)
	first, second, third := d.edges[0], d.edges[1], d.edges[2]
	lasting := map[*fleetEdge]map[string]netlab.Session{second: d.sessionsOf(second), third: d.sessionsOf(third)}

	d.tag(first, "57629:101")
	d.tag(second, "57629:102")
	d.drain(second, 3*time.Second)
	long := d.window(first, 12*time.Second, "line card")
	d.restartAlone(first, long.Start.Add(12*time.Second))
	short := d.window(third, 7*time.Second, "fibre")
	d.tag(third, "57629:103")
	d.killAfter(d.upTo(300*time.Millisecond), func() {})

	for _, w := range []nocWindow{long, short} {
		d.awaitWindow(lateEnd, w.ID, "ended")
	}
	for _, e := range d.edges {
		d.await(lateEnd, e, "as before all of it, but for the tags", func(p netlab.Path) bool {
			return undrained(p) && slices.Equal(sorted(p.Communities), sorted(d.shown[e.name]))
		})
	}
	if len(d.shown) == 0 {
		t.Error("no tag was on the wire")
	}
	for e, before := range lasting {
		for _, at := range d.routers(e) {
			sameSession(t, at.router, at.wire.Edge4, before[at.name])
		}
	}
	d.wire.check()
	d.checkAudit()
	t.Logf("the centre was killed %d times", d.kills)
}

func (d *dying) sessionsOf(e *fleetEdge) map[string]netlab.Session {
	d.t.Helper()
	out := map[string]netlab.Session{}
	for _, at := range d.routers(e) {
		out[at.name] = awaitSession(d.t, at.router, at.wire.Edge4)
	}
	return out
}

func (d *dying) upTo(most time.Duration) time.Duration {
	return time.Duration(d.random.Int64N(int64(most)))
}

// killAfter kills the centre a while after do has begun, and starts it again when both are
// over.
func (d *dying) killAfter(late time.Duration, do func()) {
	d.t.Helper()
	d.away(late, do)
	d.startCentre(d.centres[0], "data: /var/lib/central", dyingServices)
	d.awaitConnected(sessionWait)
}

// away is killAfter without the new start.
func (d *dying) away(late time.Duration, do func()) {
	d.t.Helper()
	centre, gone := d.centres[0].proc, make(chan struct{})
	go func() {
		defer close(gone)
		<-time.After(late)
		centre.Kill()
	}()
	do()
	<-gone
	d.kills++
	d.t.Logf("kill %d, after %v", d.kills, late.Round(time.Millisecond))
}

// ask asks the centre while it dies, and again once it is back, unless done says that the
// first time has left its mark. It returns the last answer.
func (d *dying) ask(late time.Duration, done func() bool, args ...string) answer {
	d.t.Helper()
	var a answer
	d.killAfter(late, func() { a = d.as(operator, args...) })
	if a.code != 0 && !done() {
		d.t.Logf("not acknowledged: %s", strings.TrimSpace(a.stderr))
		if a = d.as(operator, args...); a.code != 0 {
			d.t.Fatalf("catchment %s, once the centre is back: exit code %d, %s", strings.Join(args, " "), a.code, a.stderr)
		}
	}
	return a
}

// tag tags an edge while the centre dies.
func (d *dying) tag(e *fleetEdge, tag string) {
	d.t.Helper()
	d.wire.tag(e, tag)
	var after *time.Time
	has := func() bool {
		var n struct {
			Tags []struct {
				Value string
				After *time.Time
			}
		}
		d.decode(&n, "node", "show", e.name)
		for _, t := range n.Tags {
			if after = t.After; t.Value == tag {
				return true
			}
		}
		return false
	}
	d.ask(d.upTo(150*time.Millisecond), has, "node", "tag", e.name, tag, "--meaning", "tag "+tag, "--reason", "test")
	switch {
	case !has():
		d.t.Errorf("tag %s of %s was acknowledged, and the centre has lost it", tag, e.name)
	case after == nil:
		d.wire.acknowledged(e, tag)
		d.shown[e.name] = append(d.shown[e.name], tag)
	default:
		d.t.Logf("tag %s waits until %s", tag, after)
	}
	d.acked = append(d.acked, "TagNode "+e.name)
}

// window opens a window while the centre dies: before it is acknowledged, in the drain, or
// as the node leaves.
func (d *dying) window(e *fleetEdge, lasts time.Duration, reason string) nocWindow {
	d.t.Helper()
	const lead = 3 * time.Second
	begun := time.Now()
	// What is not known before the answer: the window may last from when the command is given
	// again.
	d.wire.allow(e, word{what: reason, from: begun, until: begun.Add(lasts + 20*time.Second), takes: begun.Add(lead - time.Second)})
	find := func() (w nocWindow) {
		var all []nocWindow
		d.decode(&all, "maintenance", "list", "--all")
		if i := slices.IndexFunc(all, func(w nocWindow) bool { return w.Reason == reason }); i >= 0 {
			w = all[i]
		}
		return w
	}
	d.ask(d.upTo(3*time.Second), func() bool { return find().ID != "" },
		"maintenance", "add", "--node", e.name, "--start", "now", "--for", lasts.String(), "--lead", lead.String(), "--reason", reason)
	w := find()
	if w.ID == "" {
		d.t.Fatalf("the window %q was acknowledged, and the centre has lost it", reason)
	}
	d.acked = append(d.acked, "AddWindow "+w.ID)
	d.wire.saw(e, "drained", begun, standing.drained)
	d.wire.saw(e, "withdrawn", begun, func(s standing) bool { return s.absent })
	return w
}

// drain takes a service away at an edge by a grant while the centre dies. It is done or
// refused as a whole; in the second case it is tried again.
func (d *dying) drain(e *fleetEdge, lasts time.Duration) {
	d.t.Helper()
	args := []string{"drain", "video", "--reason", "new disks", "--for", lasts.String()}
	begun := time.Now()
	var a answer
	late := d.upTo(250 * time.Millisecond)
	d.killAfter(late, func() { a = e.cli(args...) })
	if a.code != 0 {
		d.t.Logf("no grant: %s", strings.TrimSpace(a.stderr))
		if a.code != 3 {
			d.t.Errorf("the drain without a grant: exit code %d, %s", a.code, a.stderr)
		}
		begun = time.Now()
		e.must(args...)
	}
	d.wire.allow(e, word{what: "drain", from: begun, until: time.Now().Add(lasts), takes: begun.Add(time.Second)})
	d.wire.saw(e, "withdrawn", begun, func(s standing) bool { return s.absent })
	d.await(lateEnd, e, "back from its drain", undrained)
}

// restartAlone kills an edge in its window while the centre is away. What it has on disk
// tells it to stay away until the window ends, and its tags.
func (d *dying) restartAlone(e *fleetEdge, end time.Time) {
	d.t.Helper()
	d.t.Logf("%s restarts alone %v before its window ends", e.name, time.Until(end).Round(time.Millisecond))
	d.away(d.upTo(300*time.Millisecond), func() {})
	kill(d.t, e.proc)
	<-e.proc.Done()
	e.start()
	for _, at := range d.routers(e) {
		awaitSession(d.t, at.router, at.wire.Edge4)
	}
	var s struct {
		Central  string
		Services []struct{ State, Reason string }
	}
	text := e.must("status", "-o", "json")
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		d.t.Fatal(err)
	}
	if now := time.Now(); now.After(end) {
		d.t.Logf("the machine is slow: %s was back after the end of its window", e.name)
	} else if s.Central != "away" || len(s.Services) != 1 || s.Services[0].State != "withdrawn" || s.Services[0].Reason != "maintenance" {
		d.t.Errorf("%s, alone in its window: %s", e.name, text)
	}
	d.await(time.Until(end)+soon, e, "back by itself", undrained)
	if early := time.Until(end); early > 0 {
		d.t.Errorf("%s was back %v before the end of its window", e.name, early)
	}
	d.startCentre(d.centres[0], "data: /var/lib/central", dyingServices)
	d.awaitConnected(sessionWait)
}

// checkAudit wants the chain whole and in it each write that was acknowledged.
func (d *dying) checkAudit() {
	d.t.Helper()
	d.t.Logf("%s", strings.TrimSpace(d.must("audit", "verify")))
	var records []struct{ Method, Target, Outcome string }
	d.decode(&records, "audit", "list", "--limit", "1000")
	var have []string
	for _, r := range records {
		if r.Outcome == "done" {
			have = append(have, r.Method+" "+r.Target)
		}
	}
	for _, want := range d.acked {
		if !slices.Contains(have, want) {
			d.t.Errorf("the audit log lacks %q: %q", want, have)
		}
	}
}
