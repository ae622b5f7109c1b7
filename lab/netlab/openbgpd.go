package netlab

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/router"
)

// OpenBGPD is OpenBGPD on a node. Its bgpd is not FRR's, which lies elsewhere.
type OpenBGPD struct {
	node *Node
	proc *Proc
}

var _ Router = (*OpenBGPD)(nil)

// Where OpenBGPD keeps its files, in the node. It changes root to this folder, its user's home.
const (
	openBGPDDir    = "/run/openbgpd"
	openBGPDFile   = openBGPDDir + "/bgpd.conf"
	openBGPDSocket = openBGPDDir + "/bgpd.sock"
)

// OpenBGPD starts bgpd with this bgpd.conf and waits until it answers; a configuration that it does not understand ends
// the test. OpenBGPDConfig writes the common case. A socket of another name in it is not found.
func (n *Node) OpenBGPD(config string) *OpenBGPD {
	n.lab.t.Helper()
	o, err := n.openBGPD(config)
	if err != nil {
		n.lab.t.Fatalf("node %s: OpenBGPD: %v", n.name, err)
	}
	return o
}

func (n *Node) openBGPD(config string) (*OpenBGPD, error) {
	if err := n.writeFile(openBGPDFile, config); err != nil {
		return nil, err
	}
	if err := os.Chmod(n.HostPath(openBGPDFile), 0o600); err != nil { // bgpd refuses a file that others may read
		return nil, err
	}
	o := &OpenBGPD{node: n}
	var err error
	if o.proc, err = n.startProc("openbgpd", nil, []string{openBGPDTool, "-d", "-v", "-f", openBGPDFile}); err != nil {
		return nil, err
	}
	return o, o.proc.await(startWait, func() error {
		_, err := o.Bgpctl("show", "summary")
		return err
	})
}

// Bgpctl runs bgpctl and returns what it says, in JSON where it can. A refusal is an error.
func (o *OpenBGPD) Bgpctl(command ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	return o.node.Run(ctx, append([]string{bgpctlTool, "-s", openBGPDSocket, "-j"}, command...)...)
}

// Proc is the parent of bgpd's three processes.
func (o *OpenBGPD) Proc() *Proc { return o.proc }

// Routes implements Router.
func (o *OpenBGPD) Routes(prefix netip.Prefix) ([]Path, error) {
	text, err := o.Bgpctl("show", "rib", "detail", prefix.String())
	if err != nil {
		return nil, err
	}
	paths, err := router.ParseOpenBGPDRoutes([]byte(text))
	// bgpctl lists the paths to shorter prefixes, too.
	return slices.DeleteFunc(paths, func(p Path) bool { return p.Prefix != prefix }), err
}

// Session implements Router. The uptime is in whole seconds.
func (o *OpenBGPD) Session(peer netip.Addr) (Session, error) {
	n, err := o.neighbor(peer)
	if err == nil && n.State == Established {
		n.Instance = openBGPDInstance(peer, o.proc)
	}
	return n.Session, err
}

// openBGPDInstance counts sessions in the log, as OpenBGPD has no counter of them.
func openBGPDInstance(peer netip.Addr, proc logged) string {
	count := 0
	for line := range strings.Lines(proc.Log()) {
		if strings.HasPrefix(line, "neighbor "+peer.String()) && strings.Contains(line, "-> Established") {
			count++
		}
	}
	return fmt.Sprintf("openbgpd %d, session %d", proc.PID(), count)
}

// Counts implements Router.
func (o *OpenBGPD) Counts(peer netip.Addr) (Counts, error) {
	n, err := o.neighbor(peer)
	return n.Counts, err
}

func (o *OpenBGPD) neighbor(peer netip.Addr) (router.Neighbor, error) {
	text, err := o.Bgpctl("show", "neighbor", peer.String())
	if err != nil {
		return router.Neighbor{}, err
	}
	list, err := router.ParseOpenBGPDNeighbors([]byte(text))
	return find(list, peer, err)
}

// SoftIn implements Router, for every family of the session.
func (o *OpenBGPD) SoftIn(peer netip.Addr) error {
	_, err := o.Bgpctl("neighbor", peer.String(), "refresh")
	return err
}

// OpenBGPDConfig is the bgpd.conf of the common case: a router that takes every route of its neighbours.
type OpenBGPDConfig struct {
	ASN      uint32
	RouterID string
	// Networks are announced to every neighbour of their family, whether or not the router has such a route.
	Networks  []netip.Prefix
	Neighbors []OpenBGPDNeighbor
	Global    []string // further lines at the top level
}

// OpenBGPDNeighbor is one neighbour. The zero value of each field is OpenBGPD's default.
type OpenBGPDNeighbor struct {
	Address netip.Addr
	// Local is the router's own address; invalid: the kernel's choice. With it and a password, OpenBGPD 7.7 on Linux can
	// connect but not be connected to, since it gives the key to no listener.
	Local       netip.Addr
	ASN         uint32
	IPv4, IPv6  bool // families of the session; neither: the address's own
	Password    string
	TTLSecurity bool // GTSM (RFC 5082)
	Multihop    int
	Passive     bool
	HoldTime    time.Duration
	Options     []string // further lines of the neighbour
}

// String is the text of the bgpd.conf.
func (c OpenBGPDConfig) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("AS %d\nrouter-id %s\nsocket %q", c.ASN, c.RouterID, openBGPDSocket)
	line("fib-update no\nlisten on 0.0.0.0\nlisten on ::")
	for _, network := range c.Networks {
		line("network %s", network)
	}
	for _, global := range c.Global {
		line("%s", global)
	}
	for _, n := range c.Neighbors {
		line("neighbor %s {", n.Address)
		for _, option := range n.options() {
			line("  %s", option)
		}
		line("}")
	}
	line("allow from any\nallow to any")
	return b.String()
}

func (n OpenBGPDNeighbor) options() []string {
	yes := map[bool]string{true: "unicast", false: "none"}
	options := []string{
		fmt.Sprintf("remote-as %d", n.ASN),
		"announce IPv4 " + yes[n.IPv4 || (!n.IPv6 && n.Address.Is4())],
		"announce IPv6 " + yes[n.IPv6 || (!n.IPv4 && n.Address.Is6())],
	}
	add := func(wanted bool, format string, args ...any) {
		if wanted {
			options = append(options, fmt.Sprintf(format, args...))
		}
	}
	add(n.Local.IsValid(), "local-address %s", n.Local)
	add(n.Password != "", "tcp md5sig password %q", n.Password)
	add(n.TTLSecurity, "ttl-security yes")
	add(n.Multihop > 0, "multihop %d", n.Multihop)
	add(n.Passive, "passive")
	add(n.HoldTime > 0, "holdtime %d", int(n.HoldTime/time.Second))
	return append(options, n.Options...)
}
