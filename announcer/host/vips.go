package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// VIPOptions says where VIPs works.
type VIPOptions struct {
	// Namespace is where the interfaces are.
	Namespace Namespace
	// StateDir is an existing directory. On kernels before 5.18 the file
	// vips.json there says which addresses are ours; it is written before an
	// address is added.
	StateDir string
	// Log gets a line for each address that is added, removed, or found to be
	// there before us. Nil: none are written.
	Log *slog.Logger
}

// VIPs keeps service addresses on interfaces. What is ours is known by a mark:
// IFA_PROTO 0xCA (Linux 5.18 and later), for IPv4 also a label that ends in
// :catchment or :ctch, and on older kernels the record in StateDir, which IPv6 has
// nothing beside and which IPv4 needs when an interface is renamed (the kernel
// then takes the label off its first address).
// Its methods may be called by several goroutines.
type VIPs struct {
	log    *slog.Logger
	ns     Namespace
	socket *socket

	mu     sync.Mutex
	ledger *ledger
	claim  claim
	// marks is set once the kernel has shown that it knows IFA_PROTO.
	marks bool
	// noMarks, set by tests only, makes a kernel without IFA_PROTO of any.
	noMarks bool
	want    []Address
	// links is what the wanted interfaces were like at the last Set.
	links map[string]link
	// foreign is the wanted addresses that are not ours.
	foreign map[Address]bool
}

// NewVIPs prepares; addresses change with Set only.
func NewVIPs(o VIPOptions) (*VIPs, error) {
	log := logger(o.Log)
	s, err := openSocket(o.Namespace)
	if err != nil {
		return nil, fmt.Errorf("VIPs: %w", err)
	}
	l, err := openLedger(o.StateDir)
	if err != nil {
		log.Warn("the record of VIPs cannot be read; IPv6 addresses of a run before may stay", "error", err)
	}
	return &VIPs{log: log, ns: o.Namespace, socket: s, ledger: l, claim: claim{ns: o.Namespace}, foreign: map[Address]bool{}}, nil
}

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}

// Close frees the socket; the addresses stay. Set(nil) takes them away.
func (v *VIPs) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return errors.Join(v.socket.Close(), v.claim.Close())
}

// Set makes want, addresses by interface, everything of ours that stands: it
// adds what is missing, then removes what is ours and not wanted; nil removes
// all that is ours. An address that stands already without our mark is used, and
// never removed. Addresses are /32 or /128 (see CheckVIP).
//
// If some address does not stand afterwards, or its interface is down, the error
// is a *SetError that names each; the others stand all the same. If the kernel's
// tables cannot be read the error is another one, and nothing was changed. Call
// Set again to retry; Watch says when. While another catchment process holds
// addresses in the namespace, nothing is changed, and none of want stands.
func (v *VIPs) Set(want map[string][]netip.Prefix) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	links, list, err := v.read()
	if err != nil {
		return fmt.Errorf("VIPs: %w", err)
	}
	addrs, failures := flatten(want)
	v.remember(addrs, links)
	if err := v.claimFor(addrs, list); err != nil {
		for _, a := range addrs {
			failures = append(failures, failed(a, err))
		}
		return setError(failures)
	}

	wanted := map[place]bool{}
	var missing []Address
	for _, a := range addrs {
		l, ok := links[a.Interface]
		if !ok {
			failures = append(failures, failed(a, fmt.Errorf("there is no interface %s: create it, or correct `interface`", a.Interface)))
			continue
		}
		at := place{l.index, a.Prefix.Addr()}
		wanted[at] = true
		if e, stands := list[at]; !stands {
			missing = append(missing, a)
		} else {
			v.noteForeign(a, !v.ours(e))
		}
		if !l.up {
			failures = append(failures, failed(a, fmt.Errorf("interface %s is down: `ip link set %s up`", l.name, l.name)))
		}
	}
	failures = append(failures, v.add(missing, links, list)...)
	failures = append(failures, v.removeOthers(wanted, links, list)...)
	if err := v.record(nil, links, list); err != nil {
		v.log.Warn("the record of VIPs names some that are gone", "error", err)
	}
	return setError(failures)
}

// claimFor takes the claim where there is something to add, keep or remove. While
// another catchment has it nothing is touched.
func (v *VIPs) claimFor(addrs []Address, list map[place]entry) error {
	if len(addrs) > 0 {
		return v.claim.take()
	}
	for _, e := range list {
		if v.ours(e) {
			return v.claim.take()
		}
	}
	return nil
}

// place is where an address stands: IPv6 allows it once on an interface, and
// catchment wants it no more often for IPv4.
type place struct {
	index int
	addr  netip.Addr
}

func (v *VIPs) read() (map[string]link, map[place]entry, error) {
	links, err := v.socket.links()
	if err != nil {
		return nil, nil, err
	}
	all, err := v.socket.addresses()
	if err != nil {
		return nil, nil, err
	}
	list := make(map[place]entry, len(all))
	for _, e := range all {
		if v.noMarks {
			e.proto, e.hasProto = 0, false
		}
		v.marks = v.marks || e.hasProto
		at := place{e.index, e.addr}
		// IPv4 allows an address twice, with two lengths: ours has the full one.
		if _, twice := list[at]; !twice || v.ours(e) {
			list[at] = e
		}
	}
	return links, list, nil
}

// ours tells whether an address carries our mark. The record in the state
// directory counts only where the kernel does not know marks, and only for an
// address that looks like one of ours.
func (v *VIPs) ours(e entry) bool {
	if e.bits != e.addr.BitLen() {
		return false
	}
	if e.hasProto && e.proto == protoCatchment {
		return true
	}
	if e.addr.Is4() && isOurLabel(e.label) {
		return true
	}
	return !v.marks && e.unpreferred && v.ledger.has(e.index, e.addr)
}

// flatten sorts want, drops repeats, and refuses what cannot be a VIP.
func flatten(want map[string][]netip.Prefix) (addrs []Address, failures []Failure) {
	for iface, prefixes := range want {
		for _, p := range prefixes {
			a := Address{iface, p}
			if err := CheckVIP(p); err != nil {
				failures = append(failures, failed(a, err))
				continue
			}
			addrs = append(addrs, a)
		}
	}
	slices.SortFunc(addrs, compareAddresses)
	return slices.Compact(addrs), failures
}

func compareAddresses(a, b Address) int {
	return cmp.Or(cmp.Compare(a.Interface, b.Interface), a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()))
}

func failed(a Address, err error) Failure {
	return Failure{Interface: a.Interface, Prefix: a.Prefix, Err: err}
}

// remember keeps what Watch compares with.
func (v *VIPs) remember(addrs []Address, links map[string]link) {
	v.want = addrs
	v.links = map[string]link{}
	for _, a := range addrs {
		v.links[a.Interface] = links[a.Interface]
	}
	maps.DeleteFunc(v.foreign, func(a Address, _ bool) bool { return !slices.Contains(addrs, a) })
}

// noteForeign logs once that an address is somebody else's.
func (v *VIPs) noteForeign(a Address, foreign bool) {
	if foreign && !v.foreign[a] {
		v.log.Warn("VIP was there before us: it is used, and will not be removed", "interface", a.Interface, "address", a.Prefix)
	}
	if foreign {
		v.foreign[a] = true
	} else {
		delete(v.foreign, a)
	}
}

// add adds to list, too, what it added.
func (v *VIPs) add(missing []Address, links map[string]link, list map[place]entry) (failures []Failure) {
	if len(missing) == 0 {
		return nil
	}
	var added []Address
	recorded := v.record(missing, links, list)
	for _, a := range missing {
		err := recorded
		if a.Prefix.Addr().Is4() {
			err = nil // the label says whose it is
		}
		if err == nil {
			err = v.socket.addAddress(a.Interface, links[a.Interface].index, a.Prefix, !v.noMarks)
		}
		if err != nil {
			failures = append(failures, failed(a, err))
			continue
		}
		delete(v.foreign, a)
		e := entry{index: links[a.Interface].index, addr: a.Prefix.Addr(), bits: a.Prefix.Bits(), unpreferred: true}
		list[place{e.index, e.addr}] = e
		added = append(added, a)
		v.log.Info("VIP added", "interface", a.Interface, "address", a.Prefix)
	}
	v.awaitDelivery(added, links)
	return failures
}

// record writes down which addresses are ours or about to be, unless the kernel
// keeps the marks.
func (v *VIPs) record(missing []Address, links map[string]link, list map[place]entry) error {
	var entries []ledgerEntry
	if !v.marks {
		for _, e := range v.ledger.entries {
			if stands, ok := list[place{e.Index, e.Address}]; ok && v.ours(stands) {
				entries = append(entries, e)
			}
		}
		for _, a := range missing {
			entries = append(entries, ledgerEntry{a.Interface, links[a.Interface].index, a.Prefix.Addr()})
		}
	}
	err := v.ledger.write(entries)
	if err != nil && !v.marks {
		return fmt.Errorf("not added, since it could not be written down as ours: %w", err)
	}
	return nil
}

// awaitDelivery returns when the kernel takes packets to the added addresses, so
// that a Set that has returned may be followed by an announcement at once. An
// interface of a VRF has its routes elsewhere: then it gives up.
func (v *VIPs) awaitDelivery(added []Address, links map[string]link) {
	for _, a := range added {
		if links[a.Interface].up && a.Prefix.Addr().Is6() && !v.socket.awaitDelivery(a.Prefix.Addr()) {
			v.log.Warn("VIP stands but the main routing tables do not deliver to it", "interface", a.Interface, "address", a.Prefix)
		}
	}
}

// removeOthers takes off list, too, what it removed.
func (v *VIPs) removeOthers(wanted map[place]bool, links map[string]link, list map[place]entry) (failures []Failure) {
	names := namesOf(links)
	for at, e := range list {
		if wanted[at] || !v.ours(e) {
			continue
		}
		a := Address{names[e.index], e.prefix()}
		if err := v.socket.removeAddress(a.Interface, e.index, a.Prefix); err != nil {
			failures = append(failures, failed(a, fmt.Errorf("cannot be removed: %w", err)))
			continue
		}
		delete(list, at)
		v.log.Info("VIP removed", "interface", a.Interface, "address", a.Prefix)
	}
	return failures
}

func namesOf(links map[string]link) map[int]string {
	names := make(map[int]string, len(links))
	for name, l := range links {
		names[l.index] = name
	}
	return names
}

// setError gives nil for no failures.
func setError(failures []Failure) error {
	if len(failures) == 0 {
		return nil
	}
	slices.SortFunc(failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(a.Neighbor, b.Neighbor),
			compareAddresses(Address{a.Interface, a.Prefix}, Address{b.Interface, b.Prefix}))
	})
	return &SetError{Failures: failures}
}

// Own lists the addresses that carry our mark now, sorted: after a start, those
// that a killed run left.
func (v *VIPs) Own() ([]Address, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	links, list, err := v.read()
	if err != nil {
		return nil, fmt.Errorf("VIPs: %w", err)
	}
	names := namesOf(links)
	var own []Address
	for _, e := range list {
		if v.ours(e) {
			own = append(own, Address{names[e.index], e.prefix()})
		}
	}
	slices.SortFunc(own, compareAddresses)
	return own, nil
}

// Watch signals when Set has something to do again: a wanted address is gone, or
// a wanted interface came, went, or changed between up and down. Signals are
// merged while nobody listens. The channel is closed after ctx has ended.
func (v *VIPs) Watch(ctx context.Context) (<-chan struct{}, error) {
	groups := []uint{unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR}
	return watch(ctx, v.ns, groups, v.log, func(message) bool { return true }, v.stale)
}

// stale tells whether a Set with the same want would do anything.
func (v *VIPs) stale() (bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	links, list, err := v.read()
	if err != nil {
		return false, err
	}
	for name, before := range v.links {
		if links[name] != before {
			return true, nil
		}
	}
	return slices.ContainsFunc(v.want, func(a Address) bool {
		l, there := links[a.Interface]
		_, stands := list[place{l.index, a.Prefix.Addr()}]
		return there && !stands
	}), nil
}
