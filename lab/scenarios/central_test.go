package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// TestDevServesLoopbackWithNothingElse is the centre as one tries it out: flags alone, beside
// the edge on its machine.
func TestDevServesLoopbackWithNothingElse(t *testing.T) {
	t.Parallel()
	const address = "127.0.0.1:7179"
	s := newSite(t)
	centre := s.Edge.Start("catchment-central", netlab.Binary(t, "./cmd/catchment-central"), "--dev", "--data", "/var/lib/central", "--listen", address)
	t.Cleanup(centre.Kill)
	netlab.Eventually(t, sessionWait, "the centre's socket", func() error { return listens(s.Edge, address) })
	c := s.config()
	c.Lines = append(c.Lines, fmt.Sprintf("central: {address: %q, insecure: true}", address))
	s.start(c)
	s.awaitRoutes(soon, look{})
	var nodes []struct {
		Name, State, Reason string
		Tags                []struct{ Value string }
	}
	netlab.Eventually(t, soon, "the node at the centre", func() error {
		a := inside(t, s.Edge, "node", "list", "-o", "json", "--central", address)
		if err := json.Unmarshal([]byte(a.stdout), &nodes); err != nil || len(nodes) != 1 || nodes[0].Name != "msk1" || nodes[0].State != "announced" {
			return fmt.Errorf("%s %s (%w)", a.stdout, a.stderr, errors.Join(err))
		}
		return nil
	})
	if a := inside(t, s.Edge, "node", "tag", "msk1", "57629:101", "--meaning", "Moscow", "--central", address); a.code != 0 {
		t.Fatalf("exit code %d: %s", a.code, a.stderr)
	}
	s.awaitRoutes(soon, look{communities: []string{"57629:101"}})
	last := inside(t, s.Edge, "maintenance", "add", "--node", "msk1", "--start", "now", "--for", "1m", "--reason", "the only node", "--central", address)
	if last.code != 3 || !strings.Contains(last.stderr, "announce") {
		t.Errorf("a window for the last announcer: exit code %d, %s", last.code, last.stderr)
	}
}

// TestTheCentreOverTLS is the centre's work from end to end, with identities made and used by
// the commands alone.
func TestTheCentreOverTLS(t *testing.T) {
	t.Parallel()
	f := newGoverned(t, 3, 1)
	f.startCentre(f.centres[0], "data: /var/lib/central", "[{name: video, min_announcing: 2}]")
	for _, e := range f.edges {
		f.join(e)
	}
	f.startEdges()
	first, second, third := f.edges[0], f.edges[1], f.edges[2]

	for i, e := range f.edges[:2] {
		begun, tag := time.Now(), fmt.Sprintf("57629:10%d", i+1)
		f.must("node", "tag", e.name, tag, "--meaning", "Moscow, hall "+tag, "--reason", "test")
		acknowledged := time.Now()
		f.await(soon, e, "tagged", has(tag))
		took := time.Since(acknowledged)
		t.Logf("%s had its tag at both routers %v after the acknowledgement, %v after the command began", e.name, took, time.Since(begun))
	}
	f.await(soon, third, "without a tag", func(p netlab.Path) bool { return len(p.Communities) == 0 })

	id := f.addWindow(first, "40s", "6s", "line card") // long enough for a busy machine to be refused in it
	f.await(6*time.Second, first, "drained", has(gshut))
	f.await(soon, first, "withdrawn", nil)
	f.awaitWindow(soon, id, "safe")
	f.refusals(second)
	f.await(90*time.Second, first, "back, with its tag", func(p netlab.Path) bool { return undrained(p) && has("57629:101")(p) })
	f.awaitWindow(soon, id, "ended")
	for _, e := range f.edges[1:] {
		f.await(soon, e, "announced", undrained)
	}
	f.must("audit", "verify")
	f.audited("denied", "TagNode")
	f.audited("refused", "AddWindow")
}

// refusals has the centre refuse what it must while one node of three is out, of which two
// stay.
func (f *governed) refusals(e *fleetEdge) {
	f.t.Helper()
	past := f.as(operator, "maintenance", "add", "--node", e.name, "--start", "now", "--for", "1m", "--reason", "too much")
	if past.code != 3 || !strings.Contains(past.stderr, "limit min_announcing") {
		f.t.Errorf("a window past the budget: exit code %d, %s", past.code, past.stderr)
	}
	drain := e.cli("drain", "video", "--reason", "too much")
	if drain.code != 3 || !strings.Contains(drain.stderr, "min_announcing") {
		f.t.Errorf("a local drain past the budget: exit code %d, %s", drain.code, drain.stderr)
	}
	write := f.as(viewer, "node", "tag", e.name, "57629:666", "--meaning", "a viewer was here", "--reason", "test")
	if write.code != 1 || !strings.Contains(write.stderr, "denied") || !strings.Contains(write.stderr, "operator") {
		f.t.Errorf("a viewer's tag: exit code %d, %s", write.code, write.stderr)
	}
	if read := f.as(viewer, "fleet", "status"); read.code != 0 {
		f.t.Errorf("a viewer cannot read: exit code %d, %s", read.code, read.stderr)
	}
	if nobody := inside(f.t, f.mgmt, "node", "list", "--central", f.centres[0].address()); nobody.code == 0 {
		f.t.Errorf("without a certificate: %s", nobody.stdout)
	}
}

// join has an edge get its certificate by a token, which is good for that once.
func (f *governed) join(e *fleetEdge) {
	f.t.Helper()
	token := f.as(admin, "node", "join-token", e.name, "--reason", "new machine")
	if token.code != 0 {
		f.t.Fatalf("a token for %s: exit code %d, %s", e.name, token.code, token.stderr)
	}
	file := hostFile(f.t, "token", token.stdout)
	join := func(dir string) answer {
		return inside(f.t, e.node, "node", "join", e.name, "--token-file", file, "--dir", dir, "--central", f.centres[0].address())
	}
	if err := os.MkdirAll(e.node.HostPath(identityDir), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if a := join(e.node.HostPath(identityDir)); a.code != 0 {
		f.t.Fatalf("%s joins: exit code %d, %s", e.name, a.code, a.stderr)
	}
	again := f.t.TempDir()
	if a := join(again); a.code != 1 || !strings.Contains(a.stderr, "was used") {
		f.t.Errorf("%s joins again: exit code %d, %s", e.name, a.code, a.stderr)
	}
	if left, _ := filepath.Glob(again + "/*"); len(left) > 0 {
		f.t.Errorf("a join that was denied has left %v", left)
	}
}

// addWindow opens a window for an edge now.
func (f *governed) addWindow(e *fleetEdge, lasts, lead, reason string) (id string) {
	f.t.Helper()
	var w nocWindow
	f.decode(&w, "maintenance", "add", "--node", e.name, "--start", "now", "--for", lasts, "--lead", lead, "--reason", reason)
	if w.ID == "" {
		f.t.Fatalf("the window for %s has no id", e.name)
	}
	return w.ID
}

// audited wants a record of a method with this outcome.
func (f *governed) audited(outcome, method string) {
	f.t.Helper()
	var records []struct{ Method, Target, Outcome, Who string }
	f.decode(&records, "audit", "list", "--limit", "1000")
	for _, r := range records {
		if r.Outcome == outcome && strings.Contains(r.Method+" "+r.Target, method) {
			return
		}
	}
	f.t.Errorf("the audit log has no %s %s: %+v", outcome, method, records)
}
