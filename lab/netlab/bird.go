package netlab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/router"
)

// BIRD is BIRD 2 on a node.
type BIRD struct {
	node *Node
	proc *Proc
}

var _ Router = (*BIRD)(nil)

const birdSocket = "/run/bird/bird.ctl"

// BIRD starts bird with this bird.conf and waits until it answers. BIRDConfig writes the common case; another text
// should hold `log stderr all;`, `debug protocols { events };` and `timeformat protocol iso long us;` for Session.
func (n *Node) BIRD(config string) *BIRD {
	n.lab.t.Helper()
	b, err := n.bird(config)
	if err != nil {
		n.lab.t.Fatalf("node %s: BIRD: %v", n.name, err)
	}
	return b
}

func (n *Node) bird(config string) (*BIRD, error) {
	if err := n.writeFile("/run/bird/bird.conf", config); err != nil {
		return nil, err
	}
	b := &BIRD{node: n}
	var err error
	b.proc, err = n.startProc("bird", nil, []string{
		birdTool, "-f", "-c", "/run/bird/bird.conf", "-s", birdSocket, "-P", "/run/bird/bird.pid",
	})
	if err != nil {
		return nil, err
	}
	return b, b.proc.await(startWait, func() error {
		_, err := b.Birdc("show status")
		return err
	})
}

// Birdc gives BIRD a command, as birdc does, and returns the answer without its codes. A refusal is an error.
func (b *BIRD) Birdc(command ...string) (string, error) {
	line := strings.Join(command, " ")
	conn, err := net.Dial("unix", b.node.HostPath(birdSocket))
	if err != nil {
		return "", fmt.Errorf("bird: %w", err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(askWait)); err != nil {
		return "", err
	}
	r := bufio.NewReader(conn)
	if _, _, err := readBird(r); err != nil {
		return "", fmt.Errorf("bird: greeting: %w", err)
	}
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", fmt.Errorf("bird: %s: %w", line, err)
	}
	answer, code, err := readBird(r)
	if err == nil && code >= "8000" {
		err = &birdError{code: code, text: strings.TrimSpace(answer)}
	}
	if err != nil {
		err = fmt.Errorf("bird: %s: %w", line, err)
	}
	return answer, err
}

// birdError is a refusal: codes from 8000 are run-time errors, from 9000 syntax errors.
type birdError struct{ code, text string }

func (e *birdError) Error() string { return e.code + " " + e.text }

const birdNoRoute = "8001" // "Network not found"

// readBird reads one answer: lines "CODE-text" and " text" that go on, and "CODE text" that ends it.
func readBird(r *bufio.Reader) (answer, code string, err error) {
	var text strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return text.String(), code, err
		}
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "+") {
			text.WriteString(line[1:])
			continue
		}
		if len(line) < 5 {
			return text.String(), code, fmt.Errorf("odd line %q", line)
		}
		code = line[:4]
		text.WriteString(line[5:])
		if line[4] == ' ' {
			return text.String(), code, nil
		}
	}
}

// Configure loads a new configuration. BIRD keeps the sessions that it does not change.
func (b *BIRD) Configure(config string) error {
	if err := b.node.writeFile("/run/bird/bird.conf", config); err != nil {
		return err
	}
	_, err := b.Birdc("configure")
	return err
}

// Proc is the bird process.
func (b *BIRD) Proc() *Proc { return b.proc }

// Routes implements Router. Routes that an import filter refused are left out.
func (b *BIRD) Routes(prefix netip.Prefix) ([]Path, error) {
	text, err := b.Birdc("show route", prefix.String(), "all")
	var refusal *birdError
	if errors.As(err, &refusal) && refusal.code == birdNoRoute {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	neighbors, err := b.neighbors()
	if err != nil {
		return nil, err
	}
	return router.ParseBIRDRoutes(text, neighbors)
}

// Session implements Router.
func (b *BIRD) Session(peer netip.Addr) (Session, error) {
	n, err := b.neighbor(peer)
	if err == nil && n.State == Established {
		n.Instance, err = birdInstance(n.Name, b.proc)
	}
	return n.Session, err
}

// logged is what is needed of a process that logs its sessions.
type logged interface {
	PID() int
	Log() string
}

// birdInstance counts sessions in the log: BIRD has no counter, and the time that it prints for one event moves with the
// clock's adjustment.
func birdInstance(protocol string, proc logged) (string, error) {
	count := strings.Count(proc.Log(), "> "+protocol+": BGP session established")
	if count == 0 {
		return "", fmt.Errorf("bird's protocol %s: its log tells of no session (is `debug protocols { events };` set?)", protocol)
	}
	return fmt.Sprintf("bird %d, session %d", proc.PID(), count), nil
}

// Counts implements Router. The counters are sums over the channels.
func (b *BIRD) Counts(peer netip.Addr) (Counts, error) {
	n, err := b.neighbor(peer)
	return n.Counts, err
}

// SoftIn implements Router, for every channel of the session.
func (b *BIRD) SoftIn(peer netip.Addr) error {
	n, err := b.neighbor(peer)
	if err != nil {
		return err
	}
	_, err = b.Birdc("reload in", n.Name)
	return err
}

func (b *BIRD) neighbor(peer netip.Addr) (router.Neighbor, error) {
	list, err := b.neighbors()
	return find(list, peer, err)
}

// neighbors are those of all BGP protocols. It asks again each time: a test may have changed the configuration.
func (b *BIRD) neighbors() ([]router.Neighbor, error) {
	text, err := b.Birdc("show protocols all")
	if err != nil {
		return nil, err
	}
	return router.ParseBIRDNeighbors(text, time.Now()), nil
}
