package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/clab"
)

// indexes numbers the first ends of links, far from what the kernel gives to the second ends. When both ends have one
// number, as the first links of two new namespaces do, the kernel takes up to a second to call them up.
var indexes atomic.Int32

// connect makes the links of a topology, whose nodes are the processes pids.
func connect(ctx context.Context, t *clab.Topology, pids []int) error {
	handles, err := openNetworks(t, pids)
	defer handles.close()
	if err != nil {
		return err
	}
	for _, l := range t.Links {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := handles.link(l); err != nil {
			return fmt.Errorf("%s:%d: link %s - %s: %w", t.File, l.Line, l.A, l.B, err)
		}
	}
	return nil
}

// network is a node's network namespace.
type network struct {
	file   *os.File
	handle *netlink.Handle
}

type networks map[string]network

func openNetworks(t *clab.Topology, pids []int) (networks, error) {
	all := networks{}
	for i, n := range t.Nodes {
		f, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pids[i]))
		if here := (Node{Lab: t.Name, Name: n.Name, PID: pids[i]}); err == nil && !here.lives() { // it may be another's namespace
			err = errors.Join(os.ErrProcessDone, f.Close())
		}
		if err != nil {
			return all, fmt.Errorf("node %s has ended: %w; look at %s", n.Name, err, LogFile(t.Name, n.Name))
		}
		h, err := netlink.NewHandleAt(netns.NsHandle(f.Fd()), unix.NETLINK_ROUTE)
		if err != nil {
			_ = f.Close()
			return all, fmt.Errorf("node %s: %w", n.Name, err)
		}
		all[n.Name] = network{f, h}
	}
	return all, nil
}

func (all networks) close() {
	for _, n := range all {
		n.handle.Close()
		_ = n.file.Close()
	}
}

func (all networks) link(l clab.Link) error {
	a, b := all[l.A.Node], all[l.B.Node]
	err := a.handle.LinkAdd(&netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: l.A.Interface, Index: 10_000 + int(indexes.Add(1))},
		PeerName:      l.B.Interface,
		PeerNamespace: netlink.NsFd(int(b.file.Fd())),
	})
	if err != nil {
		return fmt.Errorf("veth: %w", err)
	}
	for _, end := range []struct {
		network
		name string
	}{{a, l.A.Interface}, {b, l.B.Interface}} {
		link, err := end.handle.LinkByName(end.name)
		if err != nil {
			return err
		}
		if err := end.handle.LinkSetUp(link); err != nil {
			return err
		}
	}
	return nil
}
