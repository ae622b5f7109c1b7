package scenarios

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// What the tests announce, and as whom.
var (
	video4 = netip.MustParsePrefix("198.51.100.0/24")
	video6 = netip.MustParsePrefix("2001:db8:100::/48")
)

const (
	edgeASN = 57629
	frrASN  = 65001
	birdASN = 4200000001

	vip4 = "198.51.100.1"
	vip6 = "2001:db8:100::1"

	// soon bounds what should take milliseconds, on a machine that is busy; tests that measure say less.
	soon = 10 * time.Second
	// sessionWait bounds the way from the start of a daemon to a session.
	sessionWait = 20 * time.Second
)

// In the node: the daemon's file, its socket and its state.
const (
	configFile  = "/run/edge/edge.yaml"
	controlFile = "/run/edge/edge.sock"
	stateDir    = "/var/lib/catchment"
)

// configuration is an edge's configuration file in parts. Lines are at the top level; neighbours and services are YAML
// mappings, see mapping.
type configuration struct {
	Neighbors, Services []string
	Lines               []string // after the others, such as "leave_hold: 1s"
}

// mapping is a YAML mapping on one line: mapping("name: a", "asn: 1") is "{name: a, asn: 1}".
func mapping(fields ...string) string { return "{" + strings.Join(fields, ", ") + "}" }

// String is the text of the file: node "msk1" of AS 57629 with a short leave_hold and grace and quick returns, unless
// Lines say otherwise.
func (c configuration) String() string {
	var b strings.Builder
	given := strings.Join(c.Lines, "\n")
	for _, line := range []string{
		"node: msk1", fmt.Sprintf("asn: %d", edgeASN), "router_id: 10.77.0.1", "state_dir: " + stateDir,
		"control: unix://" + controlFile, "leave_hold: 500ms", "way_back: {require: default, grace: 1s}", "return_after: [1s]",
	} {
		if key, _, _ := strings.Cut(line, ":"); !strings.HasPrefix(given, key+":") && !strings.Contains(given, "\n"+key+":") {
			fmt.Fprintln(&b, line)
		}
	}
	for _, line := range c.Lines {
		fmt.Fprintln(&b, line)
	}
	for _, list := range []struct {
		key   string
		items []string
	}{{"neighbors", c.Neighbors}, {"services", c.Services}} {
		fmt.Fprintf(&b, "%s:\n", list.key)
		for _, item := range list.items {
			fmt.Fprintf(&b, "  - %s\n", item)
		}
	}
	return b.String()
}

// daemon is a catchment-edge that runs on a node.
type daemon struct {
	t    testing.TB
	node *netlab.Node
	proc *netlab.Proc
	env  []string

	program string // main package; empty: catchment-edge's
	args    []string
}

// startEdge starts catchment-edge on a node with this configuration, and waits until it answers on its socket. It is
// killed when the test ends.
func startEdge(t testing.TB, node *netlab.Node, config string, env ...string) *daemon {
	t.Helper()
	d := &daemon{t: t, node: node, env: env}
	d.write(config)
	d.start()
	return d
}

// start starts the daemon, again after it has ended, with the file as it stands.
func (d *daemon) start() {
	d.t.Helper()
	program := cmp.Or(d.program, "./cmd/catchment-edge")
	command := append([]string{netlab.Binary(d.t, program), "--config", configFile}, d.args...)
	d.proc = d.node.StartEnv("catchment-edge", d.env, command...)
	d.t.Cleanup(d.proc.Kill)
	d.t.Cleanup(d.explain)
	netlab.Eventually(d.t, soon, "the daemon's socket", func() error {
		select {
		case <-d.proc.Done():
			d.t.Fatalf("catchment-edge has ended: %s", d.proc.Log())
		default:
		}
		if a := d.cli("status", "-o", "json"); a.code != 0 {
			return errors.New(a.stderr)
		}
		return nil
	})
}

// explain logs what the daemon says of itself, if the test has failed.
func (d *daemon) explain() {
	if d.t.Failed() {
		d.t.Logf("---- %s: status\n%s", d.node.Name(), d.cli("status", "-o", "json").stdout)
	}
}

// write replaces the configuration file; the daemon reads it at its start and on SIGHUP.
func (d *daemon) write(config string) {
	d.t.Helper()
	d.node.WriteFile(configFile, config)
	if err := os.Chmod(d.node.HostPath(configFile), 0o600); err != nil { // it holds passwords
		d.t.Fatal(err)
	}
}

// reload replaces the file, sends SIGHUP, and waits until the daemon has taken it up.
func (d *daemon) reload(config string) {
	d.t.Helper()
	d.hup(config, "configuration taken up")
}

// refuse is reload for a file that must not be taken up, for a reason that the log must hold.
func (d *daemon) refuse(config, reason string) {
	d.t.Helper()
	if said := d.hup(config, "was not taken up"); !strings.Contains(said, reason) {
		d.t.Errorf("the log lacks %q:\n%s", reason, said)
	}
}

// hup replaces the file, sends SIGHUP, waits for new lines of the log with word in them, and returns these.
func (d *daemon) hup(config, word string) (said string) {
	d.t.Helper()
	before := len(d.proc.Log())
	d.write(config)
	d.signal(unix.SIGHUP)
	netlab.Eventually(d.t, soon, "the daemon to say "+word, func() error {
		if said = d.proc.Log()[before:]; !strings.Contains(said, word) {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	})
	return said
}

func (d *daemon) signal(s unix.Signal) {
	d.t.Helper()
	if err := d.proc.Signal(s); err != nil {
		d.t.Fatalf("%v to catchment-edge: %v", s, err)
	}
}

// leave sends SIGTERM and waits for the end, which must come with code 0 in under 10 s.
func (d *daemon) leave() {
	d.t.Helper()
	d.signal(unix.SIGTERM)
	if code, err := d.proc.Wait(10 * time.Second); err != nil || code != 0 {
		d.t.Fatalf("after SIGTERM: exit code %d, %v", code, err)
	}
}

// answer is how a command ended.
type answer struct {
	stdout, stderr string
	code           int
}

// cli runs `catchment edge ARGS` against the daemon, for at most 15 s.
func (d *daemon) cli(args ...string) answer {
	d.t.Helper()
	socket := "unix://" + d.node.HostPath(controlFile)
	return run(d.t, netlab.Binary(d.t, "./cmd/catchment"), append([]string{"edge", "--edge", socket}, args...)...)
}

// must is cli for a command that succeeds; it returns stdout.
func (d *daemon) must(args ...string) string {
	d.t.Helper()
	a := d.cli(args...)
	if a.code != 0 {
		d.t.Fatalf("catchment edge %s: exit code %d: %s", strings.Join(args, " "), a.code, a.stderr)
	}
	return a.stdout
}

// run runs a program on the host, for at most 15 s.
func run(t testing.TB, program string, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, time.Second
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %s: %v", filepath.Base(program), strings.Join(args, " "), err)
	}
	return answer{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// hostFile writes a file outside of the nodes, for a command to read, and returns its path.
func hostFile(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitSession waits until a router's session with a neighbour is established.
func awaitSession(t testing.TB, r netlab.Router, peer netip.Addr) netlab.Session {
	t.Helper()
	var s netlab.Session
	netlab.Eventually(t, sessionWait, "a session with "+peer.String(), func() (err error) {
		if s, err = r.Session(peer); err == nil && s.State != netlab.Established {
			err = fmt.Errorf("%+v", s)
		}
		return err
	})
	return s
}

// sameSession fails the test unless the session is still the one of before.
func sameSession(t testing.TB, r netlab.Router, peer netip.Addr, before netlab.Session) {
	t.Helper()
	after, err := r.Session(peer)
	if err != nil || after.State != netlab.Established || after.Instance != before.Instance || after.Uptime < before.Uptime {
		t.Errorf("the session with %s was restarted: %+v, then %+v (%v)", peer, before, after, err)
	}
}

// awaitPath waits until a router has exactly one path to a prefix and check, when there is one, has nothing against it.
func awaitPath(t testing.TB, within time.Duration, r netlab.Router, prefix netip.Prefix, check func(netlab.Path) error) netlab.Path {
	t.Helper()
	var path netlab.Path
	netlab.Eventually(t, within, fmt.Sprintf("%s at %T", prefix, r), func() error {
		paths, err := r.Routes(prefix)
		switch {
		case err != nil:
			return err
		case len(paths) != 1:
			return fmt.Errorf("%d paths: %+v", len(paths), paths)
		}
		if path = paths[0]; check != nil {
			return check(path)
		}
		return nil
	})
	return path
}

// awaitGone waits until a router has no path to a prefix.
func awaitGone(t testing.TB, within time.Duration, r netlab.Router, prefix netip.Prefix) {
	t.Helper()
	netlab.Eventually(t, within, fmt.Sprintf("the withdrawal of %s at %T", prefix, r), func() error {
		paths, err := r.Routes(prefix)
		if err == nil && len(paths) > 0 {
			err = fmt.Errorf("%+v", paths)
		}
		return err
	})
}

// holds fails the test when check does at any time while it goes on.
func holds(t testing.TB, d time.Duration, what string, check func() error) {
	t.Helper()
	tick := time.NewTicker(netlab.PollEvery)
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < d; <-tick.C {
		if err := check(); err != nil {
			t.Fatalf("%s did not hold after %v: %v", what, time.Since(start).Round(time.Millisecond), err)
		}
	}
}

// kill sends SIGKILL to a process and its children, and tells when. It does not wait, as Proc.Kill does.
func kill(t testing.TB, p *netlab.Proc) time.Time {
	t.Helper()
	now := time.Now()
	if err := unix.Kill(-p.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	return now
}
