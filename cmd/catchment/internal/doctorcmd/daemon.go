package doctorcmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/doctor"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/node"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// versionWithin bounds `catchment-edge --version`.
const versionWithin = 5 * time.Second

// askDaemon gathers what the running daemon says, and what the kernel says of it. uid is
// whom it runs as.
func askDaemon(ctx context.Context, client *node.Client, l *Loaded) (d doctor.Daemon, uid string) {
	answer, err := node.Call(ctx, client, edgev1.EdgeClient.Status, &edgev1.StatusRequest{})
	if err != nil {
		d.Problem = err.Error()
		return d, ""
	}
	m := output.Printable(answer)
	d.Running, d.Node, d.Version, d.Trial, d.Warnings = true, m.GetNode(), m.GetVersion(), m.GetPendingApply() != nil, m.GetWarnings()
	d.Announced = map[string]bool{}
	down := map[string]bool{}
	for _, s := range m.GetServices() {
		d.Announced[s.GetName()] = s.GetState() == "announced" || s.GetState() == "steered"
		for _, b := range s.GetNeighbors() {
			if b.GetSession() == "established" || down[b.GetName()] {
				continue
			}
			down[b.GetName()] = true
			text := fmt.Sprintf("%s: the session is not up (%s)", b.GetName(), b.GetSession())
			if b.GetLastError() != "" {
				text += ": " + b.GetLastError()
			}
			d.Down = append(d.Down, text)
		}
	}
	if l.Config != nil {
		plan(ctx, &d, client, l)
	}
	pid, err := peer(ctx, client)
	if err != nil {
		return d, ""
	}
	return d, ofProcess(&d, pid)
}

// plan asks what a reload of the file would change. It changes nothing.
func plan(ctx context.Context, d *doctor.Daemon, client *node.Client, l *Loaded) {
	answer, err := node.Call(ctx, client, edgev1.EdgeClient.Plan, &edgev1.PlanRequest{Config: &edgev1.ConfigFile{Name: l.File, Content: l.Text}})
	if err != nil {
		d.PlanProblem = output.OneLine(err.Error())
		return
	}
	m := output.Printable(answer)
	for _, p := range m.GetNeighbors() {
		announced, changed, withdrawn := len(p.GetAnnounced()), len(p.GetChanged()), len(p.GetWithdrawn())
		if p.GetSession() != "kept" || announced+changed+withdrawn > 0 {
			d.Changes = append(d.Changes, fmt.Sprintf("%s: session %s, routes %d new, %d other, %d gone", p.GetName(), p.GetSession(), announced, changed, withdrawn))
		}
	}
	for _, text := range m.GetDifferences() {
		d.Differences = append(d.Differences, output.OneLine(text))
	}
	d.Planned, d.Compared = true, m.GetCompared()
}

// peer is the process that listens on the socket (unix(7), SO_PEERCRED).
func peer(ctx context.Context, client *node.Client) (int32, error) {
	path, ok := strings.CutPrefix(client.Address, "unix:")
	if !ok {
		return 0, errors.New("no unix socket")
	}
	conn, err := client.Dial(ctx, strings.TrimPrefix(path, "//"))
	if err != nil {
		return 0, err
	}
	defer conn.Close() // nothing was said
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, errors.New("no unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	return cred.Pid, nil
}

// ofProcess reads /proc, and returns the process's user.
func ofProcess(d *doctor.Daemon, pid int32) (uid string) {
	proc := filepath.Join("/proc", strconv.Itoa(int(pid)))
	if status, err := os.ReadFile(filepath.Join(proc, "status")); err == nil {
		for line := range strings.Lines(string(status)) {
			fields := strings.Fields(line)
			switch {
			case len(fields) >= 2 && fields[0] == "Uid:":
				uid = fields[1]
			case len(fields) == 2 && fields[0] == "CapEff:":
				mask, err := strconv.ParseUint(fields[1], 16, 64)
				d.Capabilities, d.KnowsCapabilities = mask, err == nil
			}
		}
	}
	if limits, err := os.ReadFile(filepath.Join(proc, "limits")); err == nil {
		for line := range strings.Lines(string(limits)) {
			if rest, ok := strings.CutPrefix(line, "Max open files"); ok && len(strings.Fields(rest)) > 0 {
				d.NoFile, _ = strconv.ParseUint(strings.Fields(rest)[0], 10, 64) // unlimited: not known to be low
			}
		}
	}
	if exe, err := os.Readlink(filepath.Join(proc, "exe")); err == nil {
		d.Replaced = strings.HasSuffix(exe, " (deleted)")
	}
	return uid
}

// Installed asks the program that a restart would start for its version; empty: it does
// not say.
func Installed(ctx context.Context, program string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		return ""
	}
	limited, cancel := context.WithTimeout(ctx, versionWithin)
	defer cancel()
	c := exec.CommandContext(limited, path, "--version")
	c.WaitDelay = time.Second
	out, err := c.Output()
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 2 || fields[0] != program {
		return ""
	}
	return output.OneLine(fields[1])
}
