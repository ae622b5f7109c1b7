package netlab

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/catchment-bgp/catchment/lab/router"
)

// ExaBGP is ExaBGP 4 on a node, as a router that takes routes: it writes down what it received, and the table is made of
// that. It chooses no best path, and has no filter.
type ExaBGP struct {
	node *Node
	proc *Proc

	mu      sync.Mutex
	journal router.Journal
	read    int64 // bytes of the file that the journal holds
}

var _ Router = (*ExaBGP)(nil)

// In the node: the configuration, what ExaBGP writes as JSON, and the pipe on which it takes commands.
const (
	exaBGPFile     = "/run/exabgp/exabgp.conf"
	exaBGPHeard    = "/run/exabgp/heard.json"
	exaBGPCommands = "/run/exabgp/commands"
	exaBGPScribe   = "/run/exabgp/scribe"
)

// exaScribe is the process beside ExaBGP that passes both on. The second cat holds ExaBGP's pipe open, for ExaBGP ends
// a process that closes its output; it ends with the first, which ends with ExaBGP.
const exaScribe = `#!/bin/sh
cat <>` + exaBGPCommands + ` &
cat >>` + exaBGPHeard + `
kill $!
`

// ExaBGPEnv is what ExaBGP needs in its environment to run in a lab: as root, without its command-line pipes.
func ExaBGPEnv() []string {
	return []string{
		"exabgp.daemon.user=root", "exabgp.api.cli=false", "exabgp.api.ack=false", "exabgp.log.destination=stderr",
		"PYTHONUNBUFFERED=1",
	}
}

// ExaBGP starts exabgp with this configuration, which ExaBGPConfig writes, and waits until it listens.
func (n *Node) ExaBGP(config string) *ExaBGP {
	n.lab.t.Helper()
	e, err := n.exaBGP(config)
	if err != nil {
		n.lab.t.Fatalf("node %s: ExaBGP: %v", n.name, err)
	}
	return e
}

func (n *Node) exaBGP(config string) (*ExaBGP, error) {
	for file, text := range map[string]string{exaBGPFile: config, exaBGPHeard: "", exaBGPScribe: exaScribe} {
		if err := n.writeFile(file, text); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(n.HostPath(exaBGPScribe), 0o755); err != nil {
		return nil, err
	}
	if err := makePipe(n.HostPath(exaBGPCommands)); err != nil {
		return nil, err
	}
	e := &ExaBGP{node: n}
	var err error
	if e.proc, err = n.startProc("exabgp", ExaBGPEnv(), []string{exaBGPTool, exaBGPFile}); err != nil {
		return nil, err
	}
	return e, e.proc.await(startWait, func() error {
		if !strings.Contains(e.proc.Log(), "loaded new configuration successfully") {
			return errors.New("exabgp has not read its configuration")
		}
		return nil
	})
}

// Proc is the exabgp process.
func (e *ExaBGP) Proc() *Proc { return e.proc }

// hear reads what ExaBGP has written since the last time. The caller holds the lock.
func (e *ExaBGP) hear() error {
	select {
	case <-e.proc.Done():
		return errors.New("exabgp has ended")
	default:
	}
	file, err := os.Open(e.node.HostPath(exaBGPHeard))
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, e.read, 1<<30))
	if err != nil {
		return err
	}
	whole := text[:strings.LastIndexByte(string(text), '\n')+1]
	e.read += int64(len(whole))
	return e.journal.Add(whole)
}

// neighbor finds what is known of a neighbour. One that was never connected is known too, if it is configured.
func (e *ExaBGP) neighbor(peer netip.Addr) (router.Neighbor, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.hear(); err != nil {
		return router.Neighbor{}, err
	}
	if n, err := router.Find(e.journal.Neighbors(time.Now()), peer); err == nil {
		return n, nil
	}
	config, err := os.ReadFile(e.node.HostPath(exaBGPFile))
	return find(router.ParseExaBGPConfig(string(config)), peer, err)
}

// Routes implements Router. Paths are in the order of their neighbours' addresses; none of them is marked as the best.
func (e *ExaBGP) Routes(prefix netip.Prefix) ([]Path, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.hear(); err != nil {
		return nil, err
	}
	return e.journal.Paths(prefix), nil
}

// Session implements Router. The state is "Established", "connected" or "down".
func (e *ExaBGP) Session(peer netip.Addr) (Session, error) {
	n, err := e.neighbor(peer)
	if err == nil && n.State == Established {
		n.Instance = fmt.Sprintf("exabgp %d, session %d", e.proc.PID(), n.Ups)
	}
	return n.Session, err
}

// Counts implements Router.
func (e *ExaBGP) Counts(peer netip.Addr) (Counts, error) {
	n, err := e.neighbor(peer)
	return n.Counts, err
}

// SoftIn implements Router, for both families.
func (e *ExaBGP) SoftIn(peer netip.Addr) error {
	if _, err := e.neighbor(peer); err != nil {
		return err
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		if err := e.Command("neighbor " + peer.String() + " announce route-refresh " + family + " unicast"); err != nil {
			return err
		}
	}
	return nil
}

// Command gives ExaBGP a command of its API ("announce route ..."). Whether it was obeyed is not told.
func (e *ExaBGP) Command(line string) error {
	pipe, err := openPipe(e.node.HostPath(exaBGPCommands))
	if err != nil {
		return fmt.Errorf("exabgp's pipe: %w", err)
	}
	defer pipe.Close()
	_, err = io.WriteString(pipe, line+"\n")
	return err
}

// ExaBGPConfig is the configuration of the common case: a router that waits for its neighbours, takes every route and
// announces nothing.
type ExaBGPConfig struct {
	ASN       uint32
	RouterID  string
	Neighbors []ExaBGPNeighbor
}

// ExaBGPNeighbor is one neighbour. The zero value of each field is ExaBGP's default, unless it is said otherwise.
type ExaBGPNeighbor struct {
	Address     netip.Addr
	Local       netip.Addr // the router's own address, which it listens on; it must be given
	ASN         uint32
	IPv4, IPv6  bool // families of the session; neither: the address's own
	Password    string
	TTLSecurity bool // GTSM (RFC 5082)
	Multihop    int
	Active      bool // connects, and does not listen
	HoldTime    time.Duration
	Options     []string // further lines of the neighbour, each with its semicolon
}

// String is the text of the configuration.
func (c ExaBGPConfig) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("process scribe {\n  run %s;\n  encoder json;\n}", exaBGPScribe)
	for _, n := range c.Neighbors {
		line("neighbor %s {", n.Address)
		line("  router-id %s;\n  local-as %d;", c.RouterID, c.ASN)
		for _, option := range n.options() {
			line("  %s", option)
		}
		line("  api { processes [ scribe ]; neighbor-changes; receive { parsed; update; } }")
		line("}")
	}
	return b.String()
}

func (n ExaBGPNeighbor) options() []string {
	families := ""
	if n.IPv4 || (!n.IPv6 && n.Address.Is4()) {
		families += "ipv4 unicast; "
	}
	if n.IPv6 || (!n.IPv4 && n.Address.Is6()) {
		families += "ipv6 unicast; "
	}
	options := []string{
		fmt.Sprintf("local-address %s;", n.Local), fmt.Sprintf("peer-as %d;", n.ASN),
		"family { " + families + "}", "capability { asn4 enable; route-refresh enable; }",
	}
	add := func(wanted bool, format string, args ...any) {
		if wanted {
			options = append(options, fmt.Sprintf(format, args...))
		}
	}
	add(!n.Active, "passive;")
	add(!n.Active, "listen 179;")
	add(n.Password != "", "md5-password '%s';", n.Password)
	add(n.TTLSecurity, "incoming-ttl 255;")
	add(n.TTLSecurity, "outgoing-ttl 255;")
	add(n.Multihop > 0, "outgoing-ttl %d;", n.Multihop)
	add(n.HoldTime > 0, "hold-time %d;", int(n.HoldTime/time.Second))
	return append(options, n.Options...)
}
