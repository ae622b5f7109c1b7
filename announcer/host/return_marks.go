package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// marks is the table of nftables that marks connections and packets, in the form
// that tells two apart: the sum of what it was made of, which an empty chain of the
// table has in its name, and the comments of all its rules. The zero marks: no table.
type marks struct {
	sum   string
	rules []string
}

func (m marks) equal(o marks) bool { return m.sum == o.sum && slices.Equal(m.rules, o.rules) }

// sumPrefix begins the name of that chain, which so says that the table is ours.
const sumPrefix = "catchment-edge-"

// The sets and chains of the table, by family or in order.
var setNames = map[bool]string{false: "prefixes4", true: "prefixes6"}

const (
	preroutingChain = "prerouting"
	requestsChain   = "requests"
	outputChain     = "output"
	repliesChain    = "replies"
)

// marksOf says what the table of legs must be.
func marksOf(legs []leg, prefixes []netip.Prefix) marks {
	prefixes = widest(prefixes)
	if len(legs) == 0 || len(prefixes) == 0 {
		return marks{}
	}
	var m marks
	var all strings.Builder
	fmt.Fprintln(&all, behindMangle, prefixes)
	for _, s := range statements(legs) {
		m.rules = append(m.rules, s.chain+": "+s.comment)
		fmt.Fprintf(&all, "%s %q %t %d %q %x\n", s.chain, s.comment, s.leg.ipv6, s.leg.id, s.leg.iface, s.leg.mac)
	}
	m.sum = fmt.Sprintf("%s%.8x", sumPrefix, sha256.Sum256([]byte(all.String())))
	return m
}

// widest sorts prefixes and leaves out those within another.
func widest(prefixes []netip.Prefix) (out []netip.Prefix) {
	for _, p := range slices.SortedFunc(slices.Values(prefixes), netip.Prefix.Compare) {
		if len(out) == 0 || !out[len(out)-1].Overlaps(p) {
			out = append(out, p.Masked())
		}
	}
	return out
}

// statement is a rule of the table. Its text comes from its chain and its leg.
type statement struct {
	chain, comment string
	leg            leg // of requests and replies; of the others only the family
}

// statements are the rules in their order. A request is of the first leg that it
// fits: those with a MAC address come first.
func statements(legs []leg) (list []statement) {
	for _, ipv6 := range []bool{false, true} {
		f := leg{ipv6: ipv6}
		list = append(list,
			statement{preroutingChain, "requests to services, " + f.family(), f},
			statement{outputChain, "replies of services, " + f.family(), f})
	}
	ordered := slices.Clone(legs)
	slices.SortStableFunc(ordered, func(a, b leg) int { return compareBool(a.mac == "", b.mac == "") })
	for _, l := range ordered {
		list = append(list, statement{requestsChain, "from " + l.neighbor + ", " + l.family(), l})
	}
	list = append(list, statement{requestsChain, "from elsewhere", leg{}})
	seen := map[uint8]bool{}
	for _, l := range legs {
		if !seen[l.id] {
			list = append(list, statement{repliesChain, "to " + l.neighbor, l})
		}
		seen[l.id] = true
	}
	order := []string{preroutingChain, requestsChain, outputChain, repliesChain}
	slices.SortStableFunc(list, func(a, b statement) int { return slices.Index(order, a.chain) - slices.Index(order, b.chain) })
	return list
}

// nft gives f a connection to nftables for one task.
func (r *Return) nft(f func(*nftables.Conn) error) error {
	options := []nftables.ConnOption{nftables.WithSockOptions(func(c *netlink.Conn) error {
		// One transaction is one datagram, and each of its parts is acknowledged.
		const room = 8 << 20
		return errors.Join(c.SetDeadline(time.Now().Add(answerTime)), c.SetWriteBuffer(room), c.SetReadBuffer(room))
	})}
	if r.ns != "" {
		target, err := os.Open(string(r.ns))
		if err != nil {
			return fmt.Errorf("network namespace: %w", err)
		}
		defer target.Close()
		options = append(options, nftables.WithNetNSFd(int(target.Fd())))
	}
	c, err := nftables.New(options...)
	if err != nil {
		return err
	}
	return f(c)
}

// marks reads the table. One of that name that is not ours is an error.
func (r *Return) marks() (m marks, err error) {
	err = r.nft(func(c *nftables.Conn) error {
		m, err = readMarks(c)
		return err
	})
	switch {
	case errors.Is(err, os.ErrPermission):
		err = fmt.Errorf("%w: nftables needs CAP_NET_ADMIN", err)
	case err != nil:
		err = fmt.Errorf("nftables: %w", err)
	}
	return m, err
}

func readMarks(c *nftables.Conn) (m marks, err error) {
	tables, err := c.ListTablesOfFamily(nftables.TableFamilyINet)
	if err != nil {
		return m, err
	}
	i := slices.IndexFunc(tables, func(t *nftables.Table) bool { return t.Name == ReturnNftables })
	if i < 0 {
		return m, nil
	}
	chains, err := c.ListChainsOfTableFamily(nftables.TableFamilyINet)
	if err != nil {
		return m, err
	}
	for _, ch := range chains {
		if ch.Table.Name == ReturnNftables && strings.HasPrefix(ch.Name, sumPrefix) {
			m.sum = ch.Name
		}
	}
	if m.sum == "" {
		return m, fmt.Errorf("the table inet %s was there before us, and is not ours: rename or delete it", ReturnNftables)
	}
	for _, chain := range []string{preroutingChain, requestsChain, outputChain, repliesChain} {
		rules, err := c.GetRules(tables[i], &nftables.Chain{Name: chain, Table: tables[i]})
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return m, err
		}
		for _, u := range rules {
			comment, _ := userdata.GetString(u.UserData, userdata.TypeComment)
			m.rules = append(m.rules, chain+": "+comment)
		}
	}
	return m, nil
}

// setMarks makes the table what the legs want, in one transaction; nothing changes
// where it is that already.
func (r *Return) setMarks(legs []leg, have returnFacts) error {
	want := marksOf(legs, r.want.Prefixes)
	if have.marks.equal(want) {
		return nil
	}
	err := r.nft(func(c *nftables.Conn) error {
		t := &nftables.Table{Name: ReturnNftables, Family: nftables.TableFamilyINet}
		if have.marks.sum != "" {
			c.DelTable(t)
		}
		if want.sum != "" {
			if err := writeMarks(c, t, legs, r.want.Prefixes, want.sum); err != nil {
				return err
			}
		}
		return c.Flush()
	})
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("nftables: %w: marking packets needs CAP_NET_ADMIN", err)
	case err != nil:
		return fmt.Errorf("nftables: %w: the kernel needs nf_tables, nft_ct and nf_conntrack with marks", err)
	}
	r.log.Info("connections are marked by where their requests come in", "nftables", "inet "+ReturnNftables, "paths", len(legs))
	return nil
}

// watchNftables signals when something of ours in nftables has changed.
func (r *Return) watchNftables(ctx context.Context) (<-chan struct{}, error) {
	s, err := openNetlink(r.ns, unix.NETLINK_NETFILTER, unix.NFNLGRP_NFTABLES)
	if err != nil {
		return nil, err
	}
	return watchSocket(ctx, s, r.log, aboutOurTable, r.stale), nil
}

// aboutOurTable reads the name of the table, the first attribute of all messages on
// tables, chains, rules and sets, behind struct nfgenmsg.
func aboutOurTable(m message) bool {
	const head, name = 4, 1
	if len(m.body) < head || m.body[0] != unix.NFPROTO_INET {
		return false
	}
	for kind, value := range attrs(m.body[head:]) {
		if kind == name {
			return unix.ByteSliceToString(value) == ReturnNftables
		}
	}
	return false
}
