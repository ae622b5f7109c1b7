package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// governed is edges, each with a session to FRR and one to BIRD, and their centres. The
// node mgmt joins the edges with the centres, and commands are run there.
//
//	msk1 -+- FRR      each edge and each centre (c1, c2, ...)
//	msk2 -X           has a wire to mgmt, too
//	msk3 -+- BIRD
type governed struct {
	t        testing.TB
	lab      *netlab.Lab
	mgmt     *netlab.Node
	wires    int // of mgmt
	edges    []*fleetEdge
	frr      *netlab.FRR
	bird     *netlab.BIRD
	centres  []*centre
	frrAddr  netip.Addr   // at mgmt, if it has a wire there
	mgmtAddr []netip.Addr // of the edges, at mgmt
	pki      string       // folder of the CA and of the operators' certificates, seen by all nodes
	service  string       // as the edges have it
}

type fleetEdge struct {
	*daemon
	name          string
	toFRR, toBIRD netlab.Wire
}

// centre is one catchment-central on a node of its own.
type centre struct {
	node *netlab.Node
	addr netip.Addr
	proc *netlab.Proc
	// shell starts it, where it is set: a script that ends by exec "$@".
	shell string
}

const (
	centrePort = "7179"
	// trustDomain is the domain of all certificates.
	trustDomain = "example.net"
	// Who calls, each with the role of that name.
	viewer, operator, admin = "viewer", "operator", "admin"
)

func (c *centre) address() string { return c.addr.String() + ":" + centrePort }

// newGoverned starts the routers and makes a CA with a certificate for each role; edges and
// centres are the test's to start. With further lines for "router bgp" of FRR that has a wire
// to mgmt, too.
func newGoverned(t testing.TB, edges, centres int, more ...string) *governed {
	t.Helper()
	lab := netlab.New(t, netlab.FRRouting, netlab.BIRDRouting)
	f := &governed{t: t, lab: lab, mgmt: lab.Node("mgmt"), service: video("vips: []", "checks: []", "drain: 2s")}
	frr, bird := lab.Node("frr"), lab.Node("bird")
	frrConfig := netlab.FRRConfig{ASN: frrASN, RouterID: "10.77.100.1", BGP: more}
	birdConfig := netlab.BIRDConfig{ASN: birdASN, RouterID: "10.77.100.2"}
	for i := 1; i <= edges; i++ {
		e := &fleetEdge{name: fmt.Sprintf("msk%d", i)}
		node := lab.Node(e.name)
		e.toFRR = lab.Wire(node, frr, fmt.Sprintf("10.77.%d.", i), fmt.Sprintf("fd77:%d::", i))
		e.toBIRD = lab.Wire(node, bird, fmt.Sprintf("10.78.%d.", i), fmt.Sprintf("fd78:%d::", i))
		node.DefaultRoute(e.toFRR.Peer4.String())
		node.DefaultRoute(e.toFRR.Peer6.String())
		f.mgmtAddr = append(f.mgmtAddr, f.wire(node))
		frrConfig.Neighbors = append(frrConfig.Neighbors, netlab.FRRNeighbor{Address: e.toFRR.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: frrPassword})
		birdConfig.Neighbors = append(birdConfig.Neighbors, netlab.BIRDNeighbor{Name: e.name, Address: e.toBIRD.Edge4, ASN: edgeASN, IPv4: true, IPv6: true, Password: birdPassword})
		e.daemon = &daemon{t: t, node: node}
		f.edges = append(f.edges, e)
	}
	for i := 1; i <= centres; i++ {
		node := lab.Node(fmt.Sprintf("c%d", i))
		f.centres = append(f.centres, &centre{node: node, addr: f.wire(node)})
	}
	if len(more) > 0 {
		f.frrAddr = f.wire(frr)
	}
	f.frr, f.bird = frr.FRR(frrConfig.String()), bird.BIRD(birdConfig.String())
	f.pki = filepath.Join(t.TempDir(), "pki")
	f.files("pki", "init", trustDomain, "--dir", f.pki)
	for _, role := range []string{viewer, operator, admin} {
		f.issue("noc/"+role, role, "--role", role)
	}
	for _, c := range f.centres {
		f.issue("central/"+c.node.Name(), c.node.Name(), "--host", c.addr.String())
	}
	return f
}

// wire links a node to mgmt and returns the node's address there.
func (f *governed) wire(node *netlab.Node) netip.Addr {
	f.t.Helper()
	f.wires++
	w := f.lab.Wire(f.mgmt, node, fmt.Sprintf("10.79.%d.", f.wires), fmt.Sprintf("fd79:%d::", f.wires))
	node.MustRun("ip", "route", "add", "10.79.0.0/16", "via", w.Edge4.String())
	return w.Peer4
}

// files runs catchment where no centre is asked.
func (f *governed) files(args ...string) {
	f.t.Helper()
	if a := run(f.t, netlab.Binary(f.t, "./cmd/catchment"), args...); a.code != 0 {
		f.t.Fatalf("catchment %s: exit code %d: %s", strings.Join(args, " "), a.code, a.stderr)
	}
}

// issue makes a certificate; out is relative to the folder of the CA.
func (f *governed) issue(name, out string, more ...string) {
	f.t.Helper()
	if !filepath.IsAbs(out) {
		out = filepath.Join(f.pki, out)
	}
	f.files(append([]string{"pki", "issue", name, "--dir", f.pki, "--out", out}, more...)...)
}

// startCentre starts a centre, again after it has ended, and waits until it serves. store
// is where it keeps things, services the limits.
func (f *governed) startCentre(c *centre, store, services string) {
	f.t.Helper()
	const file = "/run/central/central.yaml"
	c.node.WriteFile(file, strings.Join([]string{"listen: 0.0.0.0:" + centrePort, store, "domain: " + trustDomain, "pki: " + f.pki,
		fmt.Sprintf("tls: {ca: %[1]s/ca.pem, cert: %[1]s/%[2]s.pem, key: %[1]s/%[2]s.key}", f.pki, c.node.Name()), "services: " + services, ""}, "\n"))
	command := []string{netlab.Binary(f.t, "./cmd/catchment-central"), "--config", file}
	if c.shell != "" {
		command = append([]string{"sh", "-c", c.shell, "sh"}, command...)
	}
	c.proc = c.node.Start("catchment-central", command...)
	f.t.Cleanup(c.proc.Kill)
	netlab.Eventually(f.t, 2*sessionWait, "the centre "+c.node.Name()+" to serve", func() error {
		select {
		case <-c.proc.Done():
			f.t.Fatalf("catchment-central has ended: %s", c.proc.Log())
		default:
		}
		if !strings.Contains(c.proc.Log(), "the centre serves") {
			return fmt.Errorf("it says %s", c.proc.Log())
		}
		return nil
	})
}

// Where an edge has what `catchment node join` writes.
const identityDir = "/run/edge/identity"

// admit gives an edge its certificate.
func (f *governed) admit(e *fleetEdge) {
	f.t.Helper()
	ca, err := os.ReadFile(filepath.Join(f.pki, "ca.pem"))
	if err != nil {
		f.t.Fatal(err)
	}
	e.node.WriteFile(identityDir+"/ca.pem", string(ca))
	f.issue("edge/"+e.name, e.node.HostPath(identityDir+"/edge"))
}

// startEdges starts all edges and waits until they are connected and announce.
func (f *governed) startEdges() {
	f.t.Helper()
	for i, e := range f.edges {
		e.write(f.config(i).String())
		e.start()
	}
	for _, e := range f.edges {
		awaitSession(f.t, f.frr, e.toFRR.Edge4)
		awaitSession(f.t, f.bird, e.toBIRD.Edge4)
		f.await(soon, e, "announced", undrained)
	}
	f.awaitConnected(sessionWait)
}

func (f *governed) config(i int) configuration {
	e := f.edges[i]
	neighbor := func(name string, asn uint32, w netlab.Wire, password string) string {
		return mapping("name: "+name, "address: "+w.Peer4.String(), fmt.Sprintf("asn: %d", asn), "kind: transit", "local_address: "+w.Edge4.String(),
			"password: "+password, "families: [ipv4, ipv6]", fmt.Sprintf("next_hop: {ipv6: %q}", w.Edge6))
	}
	var addresses []string
	for _, c := range f.centres {
		addresses = append(addresses, fmt.Sprintf("%q", c.address()))
	}
	return configuration{
		Lines: []string{"node: " + e.name, fmt.Sprintf("router_id: 10.77.0.%d", i+1),
			fmt.Sprintf("central: {addresses: [%s], tls: {ca: %[2]s/ca.pem, cert: %[2]s/edge.pem, key: %[2]s/edge.key}}", strings.Join(addresses, ", "), identityDir)},
		Services:  []string{f.service},
		Neighbors: []string{neighbor("frr", frrASN, e.toFRR, frrPassword), neighbor("bird", birdASN, e.toBIRD, birdPassword)},
	}
}

// connected says whether an edge has a stream to a centre.
func (e *fleetEdge) connected() error {
	var s struct {
		Central string `json:"central"`
	}
	a := e.cli("status", "-o", "json")
	if err := json.Unmarshal([]byte(a.stdout), &s); err != nil || s.Central != "connected" {
		return fmt.Errorf("the centre is %q for %s (%v %s)", s.Central, e.name, err, a.stderr)
	}
	return nil
}

func (f *governed) awaitConnected(within time.Duration) {
	f.t.Helper()
	for _, e := range f.edges {
		netlab.Eventually(f.t, within, e.name+" to be connected", e.connected)
	}
}

// inside runs catchment in a node's network and on the host's files.
func inside(t testing.TB, node *netlab.Node, args ...string) answer {
	t.Helper()
	return run(t, "ip", append([]string{"netns", "exec", filepath.Base(node.Namespace()), netlab.Binary(t, "./cmd/catchment")}, args...)...)
}

// at asks a centre as one of the operators.
func (f *governed) at(c *centre, who string, args ...string) answer {
	f.t.Helper()
	file := func(name string) string { return filepath.Join(f.pki, name) }
	return inside(f.t, f.mgmt, append(args, "--central", c.address(), "--ca", file("ca.pem"), "--cert", file(who+".pem"), "--key", file(who+".key"))...)
}

// as asks the first centre.
func (f *governed) as(who string, args ...string) answer {
	f.t.Helper()
	return f.at(f.centres[0], who, args...)
}

// mustAt is at for a command of an operator that succeeds; it returns stdout.
func (f *governed) mustAt(c *centre, args ...string) string {
	f.t.Helper()
	a := f.at(c, operator, args...)
	if a.code != 0 {
		f.t.Fatalf("catchment %s: exit code %d: %s", strings.Join(args, " "), a.code, a.stderr)
	}
	return a.stdout
}

// decodeAt is mustAt for an answer in JSON.
func (f *governed) decodeAt(c *centre, into any, args ...string) {
	f.t.Helper()
	if text := f.mustAt(c, append(args, "-o", "json")...); json.Unmarshal([]byte(text), into) != nil {
		f.t.Fatalf("catchment %s: no JSON: %s", strings.Join(args, " "), text)
	}
}

// must is mustAt the first centre.
func (f *governed) must(args ...string) string {
	f.t.Helper()
	return f.mustAt(f.centres[0], args...)
}

// decode is decodeAt the first centre.
func (f *governed) decode(into any, args ...string) {
	f.t.Helper()
	f.decodeAt(f.centres[0], into, args...)
}

// nocWindow is what the centre says of a window.
type nocWindow struct {
	ID     string    `json:"id"`
	State  string    `json:"state"`
	Reason string    `json:"reason"`
	Start  time.Time `json:"start"`
}

func (f *governed) awaitWindow(within time.Duration, id, state string) {
	f.t.Helper()
	netlab.Eventually(f.t, within, "window "+id+" to be "+state, func() error {
		var w nocWindow
		if f.decode(&w, "maintenance", "show", id); w.State != state {
			return fmt.Errorf("it is %s", w.State)
		}
		return nil
	})
}

// routers are both, each with the address at which it has an edge.
func (f *governed) routers(e *fleetEdge) []peer {
	return []peer{{"frr", f.frr, e.toFRR}, {"bird", f.bird, e.toBIRD}}
}

// await waits until each of an edge's routes at both routers is as wanted; nil: there is
// none.
func (f *governed) await(within time.Duration, e *fleetEdge, what string, want func(netlab.Path) bool) {
	f.t.Helper()
	for _, at := range f.routers(e) {
		for _, prefix := range []netip.Prefix{video4, video6} {
			netlab.Eventually(f.t, within, fmt.Sprintf("%s of %s at %s to be %s", prefix, e.name, at.name, what), func() error {
				paths, err := at.router.Routes(prefix)
				if err != nil {
					return err
				}
				i := slices.IndexFunc(paths, func(p netlab.Path) bool { return p.From == at.wire.Edge4 })
				if want == nil && i < 0 || want != nil && i >= 0 && want(paths[i]) {
					return nil
				}
				return fmt.Errorf("%+v", paths)
			})
		}
	}
}

const gshut = "65535:0"

func has(community string) func(netlab.Path) bool {
	return func(p netlab.Path) bool { return slices.Contains(p.Communities, community) }
}

func undrained(p netlab.Path) bool { return !has(gshut)(p) }

// listens says whether something accepts connections inside a node.
func listens(node *netlab.Node, address string) error {
	c, err := node.DialContext(context.Background(), "tcp", address)
	if err == nil {
		_ = c.Close()
	}
	return err
}
