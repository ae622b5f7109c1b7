package netlab

import (
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Capture is a tcpdump that is running on a node.
type Capture struct {
	node *Node
	proc *Proc
	file string // in the node
}

var captures atomic.Uint64

// Capture records packets of an interface ("any" for all) that match a tcpdump filter ("tcp port 179"), from now on.
func (n *Node) Capture(iface, filter string) *Capture {
	n.lab.t.Helper()
	c := &Capture{node: n, file: fmt.Sprintf("/run/capture-%d.pcap", captures.Add(1))}
	command := append([]string{"/usr/bin/tcpdump", "-Z", "root", "-n", "-U", "--immediate-mode", "-i", iface, "-w", c.file},
		strings.Fields(filter)...)
	c.proc = n.Start("tcpdump", command...)
	err := c.proc.await(startWait, func() error {
		if strings.Contains(c.proc.Log(), "listening on") {
			return nil
		}
		return fmt.Errorf("tcpdump has not begun: %s", c.proc.Log())
	})
	if err != nil {
		n.lab.t.Fatalf("node %s: %v", n.name, err)
	}
	return c
}

// Stop ends the recording and returns the path of the pcap file on the host. It is gone with the lab.
func (c *Capture) Stop() (string, error) {
	if err := c.proc.Signal(unix.SIGINT); err != nil {
		return "", err
	}
	_, err := c.proc.Wait(stopWait)
	return c.node.HostPath(c.file), err
}
