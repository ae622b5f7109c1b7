package netlab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/catchment-bgp/catchment/lab/router"
)

// askWait bounds a question to a router, and startWait the time in which a router must answer the first one.
const (
	askWait   = 5 * time.Second
	startWait = 10 * time.Second
)

// FRR is FRRouting on a node: zebra and bgpd.
type FRR struct {
	node        *Node
	zebra, bgpd *Proc
}

var _ Router = (*FRR)(nil)

// FRR starts zebra and bgpd and waits until bgpd answers. The text is bgpd's configuration (FRRConfig writes the common
// case); a line that bgpd does not understand ends the test. zebra's is empty: use Node.MustRun("ip", ...) for routes.
func (n *Node) FRR(config string) *FRR {
	n.lab.t.Helper()
	f, err := n.frr(config)
	if err != nil {
		n.lab.t.Fatalf("node %s: FRR: %v", n.name, err)
	}
	return f
}

func (n *Node) frr(config string) (*FRR, error) {
	if err := n.writeFile("/etc/frr/frr.conf", config+"\n"+debugZebra+"\n"); err != nil {
		return nil, err
	}
	for _, empty := range []string{"vtysh", "zebra"} {
		if err := n.writeFile("/etc/frr/"+empty+".conf", ""); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(n.HostPath("/run/frr"), 0o755); err != nil {
		return nil, err
	}
	if err := n.own("frr", "/run/frr", "/etc/frr"); err != nil {
		return nil, err
	}
	f := &FRR{node: n}
	var err error
	if f.zebra, err = f.start("zebra", "zebra"); err != nil {
		return nil, err
	}
	if err := f.await(f.zebra, "zserv.api"); err != nil {
		return nil, err
	}
	if f.bgpd, err = f.start("bgpd", "frr", modules(config)...); err != nil {
		return nil, err
	}
	if err := f.await(f.bgpd, "bgpd.vty"); err != nil {
		return nil, err
	}
	if err := configErrors(f.bgpd.Log()); err != nil {
		return nil, err
	}
	if !strings.Contains(config, "router bgp") { // then bgpd does not ask zebra
		return f, nil
	}
	if err := f.awaitInterfaces(); err != nil {
		return nil, err
	}
	// What it logged of its configuration stands before that in the log, and has been
	// read by now.
	return f, configErrors(f.bgpd.Log())
}

// debugZebra makes bgpd log what zebra tells it.
const debugZebra = "debug bgp zebra"

// awaitInterfaces waits until bgpd knows the node's addresses: until then it resets sessions that come up.
func (f *FRR) awaitInterfaces() error {
	addresses, err := f.node.addresses()
	if err != nil {
		return err
	}
	err = f.bgpd.await(startWait, func() error {
		log := f.bgpd.Log()
		for _, address := range addresses {
			if !strings.Contains(log, address) {
				return fmt.Errorf("bgpd has not heard of %s", address)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = f.ask("no " + debugZebra)
	return err
}

// configErrors looks for lines of the configuration that bgpd did not understand: it logs them and goes on.
func configErrors(log string) error {
	var bad []string
	for line := range strings.Lines(log) {
		if _, what, ok := strings.Cut(line, "No such command on config line "); ok {
			bad = append(bad, strings.TrimSpace(what))
		}
	}
	if bad != nil {
		return fmt.Errorf("frr.conf, line %s", strings.Join(bad, "; line "))
	}
	return nil
}

// start runs one daemon in the foreground.
func (f *FRR) start(daemon, config string, more ...string) (*Proc, error) {
	return f.node.startProc(daemon, nil, append([]string{
		frrDir + "/" + daemon, "-f", "/etc/frr/" + config + ".conf", "-i", "/run/frr/" + daemon + ".pid", "-z", "/run/frr/zserv.api",
		"--vty_socket", "/run/frr", "-A", "127.0.0.1", "-P", "0", "--log", "stdout", "--log-level", "debugging",
	}, more...))
}

// modules are the arguments for bgpd of the modules that a configuration needs.
func modules(config string) []string {
	if strings.Contains(config, "bmp targets") {
		return []string{"-M", "bmp"}
	}
	return nil
}

// await waits until something listens on a daemon's socket.
func (f *FRR) await(p *Proc, socket string) error {
	return p.await(startWait, func() error {
		conn, err := net.Dial("unix", f.node.HostPath("/run/frr/"+socket))
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// own gives folders of the node, and the files in them, to a user of the machine.
func (n *Node) own(name string, dirs ...string) error {
	account, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(account.Gid)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		err := filepath.Walk(n.HostPath(dir), func(path string, _ os.FileInfo, err error) error {
			return errors.Join(err, os.Chown(path, uid, gid))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Vtysh runs commands in one vtysh and returns the output of all. "configure terminal" and what follows it work too.
func (f *FRR) Vtysh(commands ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	args := []string{vtyshTool, "--vty_socket", "/run/frr"}
	for _, command := range commands {
		args = append(args, "-c", command)
	}
	out, err := f.node.Run(ctx, args...)
	if err == nil && (strings.Contains(out, "% Unknown command") || strings.Contains(out, "% Ambiguous command")) {
		err = fmt.Errorf("vtysh: %s", strings.TrimSpace(out))
	}
	return out, err
}

// ask puts a question to bgpd on its vty socket, which takes microseconds where vtysh takes 30 ms. A command ends with a
// zero byte; an answer ends with three and a status, 0 for success (lib/vty.c).
func (f *FRR) ask(command string) (string, error) {
	conn, err := net.Dial("unix", f.node.HostPath("/run/frr/bgpd.vty"))
	if err != nil {
		return "", fmt.Errorf("bgpd: %w", err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(askWait)); err != nil {
		return "", err
	}
	for _, c := range []string{"enable", command} {
		if _, err := io.WriteString(conn, c+"\x00"); err != nil {
			return "", fmt.Errorf("bgpd: %s: %w", command, err)
		}
		answer, status, err := readVty(conn)
		if err != nil {
			return "", fmt.Errorf("bgpd: %s: %w", command, err)
		}
		if status != 0 {
			return "", fmt.Errorf("bgpd: %s: status %d: %s", command, status, strings.TrimSpace(answer))
		}
		if c == command {
			return answer, nil
		}
	}
	return "", nil
}

func readVty(r io.Reader) (answer string, status byte, err error) {
	var all []byte
	block := make([]byte, 64<<10)
	for {
		n, err := r.Read(block)
		all = append(all, block[:n]...)
		if end := len(all) - 4; end >= 0 && string(all[end:end+3]) == "\x00\x00\x00" {
			return string(all[:end]), all[end+3], nil
		}
		if err != nil {
			return "", 0, err
		}
	}
}

// Proc is bgpd.
func (f *FRR) Proc() *Proc { return f.bgpd }

// Zebra is the daemon beside bgpd that owns the kernel's routes.
func (f *FRR) Zebra() *Proc { return f.zebra }

// Kill ends both daemons with SIGKILL.
func (f *FRR) Kill() {
	f.bgpd.Kill()
	f.zebra.Kill()
}

// Routes implements Router.
func (f *FRR) Routes(prefix netip.Prefix) ([]Path, error) {
	text, err := f.ask(fmt.Sprintf("show bgp %s unicast %s json", frrFamily(prefix.Addr()), prefix))
	if err != nil {
		return nil, err
	}
	return router.ParseFRRRoutes([]byte(text))
}

// Session implements Router.
func (f *FRR) Session(peer netip.Addr) (Session, error) {
	n, err := f.neighbor(peer)
	if err == nil && n.State == Established {
		// bgpd counts sessions, anew with each process.
		n.Instance = fmt.Sprintf("bgpd %d, session %d", f.bgpd.PID(), n.Ups)
	}
	return n.Session, err
}

// Counts implements Router.
func (f *FRR) Counts(peer netip.Addr) (Counts, error) {
	n, err := f.neighbor(peer)
	return n.Counts, err
}

func (f *FRR) neighbor(peer netip.Addr) (router.Neighbor, error) {
	text, err := f.ask(fmt.Sprintf("show bgp neighbors %s json", peer))
	if err != nil {
		return router.Neighbor{}, err
	}
	list, err := router.ParseFRRNeighbors([]byte(text))
	return find(list, peer, err)
}

// find is router.Find in what a parser returned.
func find(list []router.Neighbor, peer netip.Addr, err error) (router.Neighbor, error) {
	if err != nil {
		return router.Neighbor{}, err
	}
	return router.Find(list, peer)
}

// SoftIn implements Router, for every family of the session.
func (f *FRR) SoftIn(peer netip.Addr) error {
	_, err := f.ask(fmt.Sprintf("clear bgp %s soft in", peer))
	return err
}

func frrFamily(addr netip.Addr) string {
	if addr.Is6() {
		return "ipv6"
	}
	return "ipv4"
}
