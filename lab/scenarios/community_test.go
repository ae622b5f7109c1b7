package scenarios

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// TestATagIsExplainedFromARoutersTableAndPublished goes the whole way of a tag: given to a
// node at the centre, seen at two routers, explained from what they print, written down for
// the RIPE DB, and compared with what stands there.
func TestATagIsExplainedFromARoutersTableAndPublished(t *testing.T) {
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
	netlab.Eventually(t, soon, "the node's tag", func() error {
		if a := inside(t, s.Edge, "node", "tag", "msk1", "57629:101", "--meaning", "Moscow", "--central", address); a.code != 0 {
			return fmt.Errorf("exit code %d: %s", a.code, a.stderr)
		}
		return nil
	})
	s.awaitRoutes(soon, look{communities: []string{"57629:101"}})

	frr, err := s.frr.Vtysh("show bgp ipv4 unicast " + video4.String() + " json")
	if err != nil {
		t.Fatal(err)
	}
	bird, err := s.bird.Birdc("show", "route", "all", "for", video4.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for router, table := range map[string]string{"FRR": frr, "BIRD": bird} {
		a := fed(t, s.Edge, hostFile(t, "table", table), "community", "explain", "-o", "json", "--central", address)
		var out []struct {
			Value   string
			Matches []struct{ Meaning, File string }
		}
		if err := json.Unmarshal([]byte(a.stdout), &out); err != nil || len(out) != 1 || out[0].Value != "57629:101" || len(out[0].Matches) != 1 {
			t.Errorf("%s prints\n%s\nwhich is explained as %s %s (%v)", router, table, a.stdout, a.stderr, err)
			continue
		}
		if m := out[0].Matches[0]; m.Meaning != "Moscow" || m.File != "node msk1" {
			t.Errorf("%s: %+v", router, m)
		}
	}

	a := inside(t, s.Edge, "community", "export", "--format", "rpsl", "--central", address)
	if a.code != 0 || !strings.Contains(a.stdout, "57629:101") || !strings.Contains(a.stdout, "Moscow") {
		t.Fatalf("exit code %d, %s %s", a.code, a.stdout, a.stderr)
	}
	object := "aut-num:        AS57629\nas-name:        EXAMPLE\n" + a.stdout + "source:         RIPE\n"
	verify := func(text string) answer {
		return inside(t, s.Edge, "community", "verify", "--published", hostFile(t, "as57629.txt", text), "--central", address)
	}
	if a := verify(object); a.code != 0 {
		t.Errorf("what was exported differs from what is: exit code %d, %s %s\n%s", a.code, a.stdout, a.stderr, object)
	}
	if a := verify(strings.Replace(object, "Moscow", "Minsk", 1)); a.code != 1 || !strings.Contains(a.stdout+a.stderr, "57629:101") || !strings.Contains(a.stdout+a.stderr, "Minsk") {
		t.Errorf("a changed line: exit code %d, %s %s", a.code, a.stdout, a.stderr)
	}
}

// fed is inside with a file of the host as stdin.
func fed(t testing.TB, node *netlab.Node, file string, args ...string) answer {
	t.Helper()
	script := `exec "$@" < "$0"`
	return run(t, "ip", append([]string{"netns", "exec", filepath.Base(node.Namespace()), "sh", "-c", script, file, netlab.Binary(t, "./cmd/catchment")}, args...)...)
}
