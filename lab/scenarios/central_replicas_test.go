package scenarios

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// cluster is a fleet with centres that keep nothing themselves but have an etcd cluster.
type cluster struct {
	*governed
	on      []*centre // beside these runs a member each
	members map[*centre]*netlab.Proc
	store   string // of the centres' configuration
}

const clusterServices = "[{name: video, min_announcing: 2}]"

// reconnectWithin is how soon edges must have another centre; 5 s are wanted, and the machine may be busy.
const reconnectWithin = 10 * time.Second

// newCluster starts etcd, the three centres, each beside a member, and the edges.
func newCluster(t testing.TB) *cluster {
	t.Helper()
	g := newGoverned(t, 3, 3)
	c := newStore(g, g.centres...)
	for _, m := range c.centres {
		c.startCentre(m, c.store, clusterServices)
	}
	for _, e := range c.edges {
		c.admit(e)
	}
	c.startEdges()
	return c
}

// newStore starts etcd, a member on the node of each of these. It has a CA of its own: etcd
// lets in whoever has a certificate of it, and edges are not to be let in.
func newStore(g *governed, on ...*centre) *cluster {
	g.t.Helper()
	c := &cluster{governed: g, on: on, members: map[*centre]*netlab.Proc{}}
	c.files("pki", "init", "etcd."+trustDomain, "--dir", c.etcdPKI(""))
	c.files("pki", "issue", "noc/dialer", "--dir", c.etcdPKI(""), "--out", c.etcdPKI("dialer"))
	var endpoints []string
	for _, m := range c.on {
		c.files("pki", "issue", "central/"+m.node.Name(), "--host", m.addr.String(), "--dir", c.etcdPKI(""), "--out", c.etcdPKI(m.node.Name()))
		endpoints = append(endpoints, fmt.Sprintf("%q", etcdURL(m, 2379)))
	}
	c.store = fmt.Sprintf("etcd: {endpoints: [%s], tls: {ca: %s, cert: %s, key: %s}}", strings.Join(endpoints, ", "),
		c.etcdPKI("ca.pem"), c.etcdPKI("dialer.pem"), c.etcdPKI("dialer.key"))
	for _, m := range c.on {
		c.startMember(m)
	}
	for _, m := range c.on {
		c.awaitMember(m)
	}
	return c
}

func (c *cluster) etcdPKI(name string) string { return filepath.Join(c.pki, "etcd", name) }

func etcdURL(m *centre, port int) string { return fmt.Sprintf("https://%s:%d", m.addr, port) }

// startMember starts the member beside a centre, again after it has ended.
func (c *cluster) startMember(m *centre) {
	c.t.Helper()
	var all []string
	for _, each := range c.on {
		all = append(all, each.node.Name()+"="+etcdURL(each, 2380))
	}
	c.members[m] = m.node.Start("member", netlab.Binary(c.t, "./lab/member"), "-name", m.node.Name(), "-data", "/var/lib/etcd",
		"-client", etcdURL(m, 2379), "-peer", etcdURL(m, 2380), "-cluster", strings.Join(all, ","),
		"-ca", c.etcdPKI("ca.pem"), "-server", c.etcdPKI(m.node.Name()), "-dialer", c.etcdPKI("dialer"))
	c.t.Cleanup(c.members[m].Kill)
}

func (c *cluster) awaitMember(m *centre) {
	c.t.Helper()
	netlab.Eventually(c.t, 2*sessionWait, "the member of "+m.node.Name(), func() error {
		if log := c.members[m].Log(); !strings.Contains(log, "ready\n") {
			return fmt.Errorf("it says %s", log)
		}
		return nil
	})
}

// TestAnyCentreAndAnyMemberMayDie kills each machine of the centre in turn, with its replica
// and its member: whichever of them the edges had and whichever led the cluster.
func TestAnyCentreAndAnyMemberMayDie(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	first := c.edges[0]
	tagged := func(p netlab.Path) bool { return has("57629:101")(p) }
	writes := []func(by *centre){
		func(by *centre) {
			c.mustAt(by, "node", "tag", first.name, "57629:101", "--meaning", "Moscow", "--reason", "test")
			c.await(soon, first, "tagged", tagged)
		},
		func(by *centre) {
			c.mustAt(by, "maintenance", "add", "--node", first.name, "--start", "now", "--for", "5m", "--lead", "3s", "--reason", "line card")
			c.await(soon, first, "drained", has(gshut))
			c.await(lateEnd, first, "withdrawn", nil) // leave may have been on its way to the leader that died
		},
		func(by *centre) {
			var all []nocWindow
			c.decodeAt(by, &all, "maintenance", "list")
			if len(all) != 1 {
				t.Fatalf("windows %+v", all)
			}
			c.mustAt(by, "maintenance", "end", all[0].ID, "--reason", "done early")
			c.await(soon, first, "back", func(p netlab.Path) bool { return undrained(p) && tagged(p) })
		},
	}
	for i, victim := range c.centres {
		by := c.centres[(i+1)%len(c.centres)]
		died := kill(t, victim.proc)
		kill(t, c.members[victim])
		<-victim.proc.Done()
		<-c.members[victim].Done()
		took := c.reconnected(victim, died)
		writes[i](by)
		t.Logf("%s died with its member: all edges had another centre after %v, and a change was at the routers after %v", victim.node.Name(), took, time.Since(died))
		if took > reconnectWithin {
			t.Errorf("without %s edges were connected again after %v; at most %v", victim.node.Name(), took, reconnectWithin)
		}
		c.startMember(victim)
		c.awaitMember(victim)
		c.startCentre(victim, c.store, clusterServices)
	}
	for _, e := range c.edges[1:] {
		c.await(soon, e, "announced", func(p netlab.Path) bool { return len(p.Communities) == 0 })
	}
	c.mustAt(c.centres[0], "audit", "verify")
}

// reconnected waits until each edge has another centre than the one that died, and returns
// when the last of them had it, by the edges' own logs.
func (c *cluster) reconnected(victim *centre, died time.Time) time.Duration {
	c.t.Helper()
	var last time.Time
	for _, e := range c.edges {
		netlab.Eventually(c.t, 30*time.Second, e.name+" to have another centre", func() error {
			at, address := e.lastCentre()
			if address == "" || address == victim.address() {
				return fmt.Errorf("since %s it has %q", at, address)
			}
			if at.After(last) {
				last = at
			}
			return nil
		})
	}
	return max(0, last.Sub(died))
}

// lastCentre is which centre an edge says it has, none being empty, and since when.
func (e *fleetEdge) lastCentre() (at time.Time, address string) {
	for line := range strings.Lines(e.proc.Log()) {
		stamp, text, ok := strings.Cut(strings.TrimSpace(line), ` level=INFO msg="centre `)
		if !ok {
			continue
		}
		at, _ = time.Parse(time.RFC3339, strings.TrimPrefix(stamp, "time="))
		state, where, _ := strings.Cut(text, `" address=`)
		if address = where; state != "connected" {
			address = ""
		}
	}
	return at, address
}
