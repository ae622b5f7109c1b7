package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// plan is the JSON of plan and apply.
type plan struct {
	Neighbors []struct {
		Name, Session        string
		Announced, Withdrawn []statusRoute
		Changed              []struct{ From, To statusRoute }
	}
}

func parsePlan(t testing.TB, text string) plan {
	t.Helper()
	var p plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return p
}

// after is what a neighbour's table must be when the plan was carried out on before.
func (p plan) after(t testing.TB, neighbor string, before []string) []string {
	t.Helper()
	after := slices.Clone(before)
	add := func(r statusRoute) { after = append(after, r.String()) }
	remove := func(r statusRoute) {
		i := slices.Index(after, r.String())
		if i < 0 {
			t.Errorf("the plan for %s takes away what the router does not have: %s", neighbor, r)
			return
		}
		after = slices.Delete(after, i, i+1)
	}
	for _, n := range p.Neighbors {
		if n.Name != neighbor {
			continue
		}
		for _, r := range n.Withdrawn {
			remove(r)
		}
		for _, c := range n.Changed {
			remove(c.From)
			add(c.To)
		}
		for _, r := range n.Announced {
			add(r)
		}
	}
	return sorted(after)
}

// tables are what both routers have.
func (s *site) tables() map[string][]string {
	s.t.Helper()
	out := map[string][]string{}
	for _, p := range s.peers() {
		out[p.name] = p.table(s.t)
	}
	return out
}

// awaitTables waits until the routers have just this.
func (s *site) awaitTables(within time.Duration, want map[string][]string) {
	s.t.Helper()
	for _, p := range s.peers() {
		netlab.Eventually(s.t, within, "the table of "+p.name, func() error {
			if has := p.table(s.t); !slices.Equal(has, want[p.name]) {
				return fmt.Errorf("it has\n  %s\nwant\n  %s", strings.Join(has, "\n  "), strings.Join(want[p.name], "\n  "))
			}
			return nil
		})
	}
}

// changed is a configuration that differs from the site's in every way that a plan can tell, without a session restart.
func (s *site) changed() configuration {
	c := s.config()
	c.Neighbors = []string{s.neighborFRR("prepend: 2"), s.neighborBIRD("med: 70", `communities: ["57629:5", "57629:1:5"]`)}
	c.Services = []string{
		video("prefixes: ["+video4.String()+"]", "vips: ["+vip4+"/32]"),
		dnsService("neighbors: [frr]"),
	}
	return c
}

func TestPlanIsWhatApplyDoes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start(s.config())
	s.awaitRoutes(soon, look{})
	before, tables, counted := s.sessions(), s.tables(), s.counts()
	file := hostFile(t, "new.yaml", s.changed().String())

	planned := parsePlan(t, s.edge.must("plan", "--config", file, "-o", "json"))
	want := map[string][]string{}
	for _, n := range planned.Neighbors {
		if n.Session != "kept" {
			t.Errorf("the session with %s is %s", n.Name, n.Session)
		}
		want[n.Name] = planned.after(t, n.Name, tables[n.Name])
		if slices.Equal(want[n.Name], tables[n.Name]) {
			t.Errorf("the plan for %s is empty: %+v", n.Name, n)
		}
	}
	holds(t, 500*time.Millisecond, "nothing done by a plan", func() error {
		return differ("counters", []string{fmt.Sprint(s.counts())}, []string{fmt.Sprint(counted)})
	})

	applied := parsePlan(t, s.edge.must("apply", "--config", file, "-o", "json"))
	if got, want := fmt.Sprint(applied), fmt.Sprint(planned); got != want {
		t.Errorf("apply says it did\n%s\nand the plan was\n%s", got, want)
	}
	s.awaitTables(soon, want)
	s.sameSessions(before)
	if again := s.edge.must("plan", "--config", file); !strings.HasPrefix(again, "no neighbour would see a change\n") {
		t.Errorf("a plan of what stands: %q", again)
	}
	if text, err := os.ReadFile(s.Edge.HostPath(configFile)); err != nil || string(text) != s.changed().String() {
		t.Errorf("the file after apply: %v\n%s", err, text)
	}

	s.edge.proc.Kill() // what was applied stays
	s.edge.start()
	s.awaitTables(sessionWait, want)
}

func TestF03RollbackRestoresRouteAndVIP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.config()
	c.Services = append(c.Services, dnsService())
	s.start(c)
	s.awaitRoutes(soon, look{})
	awaitPath(t, soon, s.bird, dns4, nil)
	awaitPath(t, soon, s.frr, dns4, nil)
	before, tables := s.sessions(), s.tables()

	s.edge.must("apply", "--config", hostFile(t, "less.yaml", s.config().String()))
	awaitGone(t, soon, s.frr, dns4)
	awaitGone(t, soon, s.bird, dns4)
	netlab.Eventually(t, soon, "the VIP's removal", func() error { return s.hasVIP("203.0.113.53", false) })

	began := time.Now()
	s.edge.must("rollback")
	s.awaitTables(soon, tables)
	netlab.Eventually(t, soon, "the VIP's return", func() error { return s.hasVIP("203.0.113.53", true) })
	if took := time.Since(began); took > 10*time.Second { // F3
		t.Errorf("back after %v", took)
	} else {
		t.Logf("from rollback to route and VIP: %v", took)
	}
	s.sameSessions(before)
	if text, err := os.ReadFile(s.Edge.HostPath(configFile)); err != nil || string(text) != c.String() {
		t.Errorf("the file after rollback: %v\n%s", err, text)
	}
}

// hasVIP wants an address on the edge's lo, or not.
func (s *site) hasVIP(address string, want bool) error {
	if has := strings.Contains(s.vips(), address+"/"); has != want {
		return fmt.Errorf("%s there: %v", address, has)
	}
	return nil
}

func TestApplyGoesBackUnlessConfirmed(t *testing.T) {
	t.Parallel()
	const trial = 3 * time.Second
	s := newSite(t)
	old := s.config()
	s.start(old)
	s.awaitRoutes(soon, look{})
	before := s.sessions()
	fresh := old
	fresh.Neighbors = []string{s.neighborFRR("prepend: 1"), s.neighborBIRD()}
	file := hostFile(t, "new.yaml", fresh.String())
	frr := s.peers()[0]
	onDisk := func(want configuration) {
		t.Helper()
		if text, err := os.ReadFile(s.Edge.HostPath(configFile)); err != nil || string(text) != want.String() {
			t.Errorf("the file on disk: %v\n%s", err, text)
		}
	}

	began := time.Now()
	s.edge.must("apply", "--config", file, "--confirm-within", "3s")
	applied := time.Now() // the trial began between the two
	s.awaitRoutesAt(frr, time.Second, look{prepend: 1})
	onDisk(old)
	if a := s.edge.cli("apply", "--config", file); a.code != 3 {
		t.Errorf("a second apply during the trial: exit code %d, %s", a.code, a.stderr)
	}
	s.awaitRoutesAt(frr, soon, look{})
	if most, least := time.Since(began), time.Since(applied); most < trial || least > trial+2*time.Second {
		t.Errorf("went back after %v to %v, want %v", least, most, trial)
	}
	onDisk(old)

	s.edge.must("apply", "--config", file, "--confirm-within", "3s")
	s.awaitRoutesAt(frr, soon, look{prepend: 1})
	s.edge.must("confirm")
	onDisk(fresh)
	holds(t, trial+time.Second, "what was confirmed", func() error {
		path, err := s.frr.Routes(video4)
		if err != nil || len(path) != 1 {
			return fmt.Errorf("%+v, %v", path, err)
		}
		return look{prepend: 1}.at(s.ToFRR.Edge4)(path[0])
	})

	s.edge.must("apply", "--config", hostFile(t, "old.yaml", old.String()), "--confirm-within", "1m")
	s.awaitRoutesAt(frr, soon, look{})
	s.edge.must("rollback") // before the time is over
	s.awaitRoutesAt(frr, soon, look{prepend: 1})
	onDisk(fresh)

	s.edge.must("rollback") // to the file before the last confirmed apply
	s.awaitRoutesAt(frr, soon, look{})
	onDisk(old)
	s.sameSessions(before)
}

func TestApplyRefusesAWrongFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	good := s.inputConfig()
	s.edge = startEdge(t, s.Edge, good)
	s.awaitRoutes(sessionWait, look{communities: []string{"57629:101"}})
	counted := s.counts()
	for _, verb := range []string{"plan", "apply"} {
		for _, m := range mistakes() {
			wrong, line := m.apply(t, good)
			a := s.edge.cli(verb, "--config", hostFile(t, "new.yaml", wrong))
			if at := fmt.Sprintf("new.yaml:%d: %s", line, m.path); a.code != 2 || !strings.Contains(a.stderr, at) {
				t.Errorf("%s, %s: exit code %d, %q, want 2 and %q", verb, m.name, a.code, a.stderr, at)
			}
		}
	}
	s.untouched(counted)
	if text, err := os.ReadFile(s.Edge.HostPath(configFile)); err != nil || string(text) != good {
		t.Errorf("the file on disk: %v\n%s", err, text)
	}
}

func TestTrialEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	old := s.config()
	s.start(old)
	s.awaitRoutes(soon, look{})
	fresh := old
	fresh.Neighbors = []string{s.neighborFRR("prepend: 1"), s.neighborBIRD()}
	for name, end := range map[string]func(){"SIGKILL": func() { s.edge.proc.Kill() }, "SIGTERM": s.edge.leave} {
		s.edge.must("apply", "--config", hostFile(t, "new.yaml", fresh.String()), "--confirm-within", "1m")
		s.awaitRoutesAt(s.peers()[0], soon, look{prepend: 1})
		end()
		if text, err := os.ReadFile(s.Edge.HostPath(configFile)); err != nil || string(text) != old.String() {
			t.Errorf("%s: the file on disk: %v\n%s", name, err, text)
		}
		s.edge.start()
		s.awaitRoutes(sessionWait, look{})
		if a := s.edge.cli("confirm"); a.code != 2 {
			t.Errorf("%s: a trial goes on after the restart: exit code %d", name, a.code)
		}
	}
}
