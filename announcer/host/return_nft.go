package host

import (
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"
)

// writeMarks makes the table, in the words of nft (comments left out):
//
//	table inet catchment {
//		set prefixes4 { type ipv4_addr; flags interval; elements = { 198.51.100.0/24 } }
//		set prefixes6 { type ipv6_addr; flags interval; elements = { 2001:db8:100::/48 } }
//		chain prerouting {
//			type filter hook prerouting priority mangle + 10; policy accept;
//			ip daddr @prefixes4 ct state established,new jump requests
//			ip6 daddr @prefixes6 ct state established,new jump requests
//		}
//		chain requests {
//			meta nfproto ipv4 iifname "eth1" ct mark set ct mark & 0x00ffffff | 0x01000000 return
//			meta nfproto ipv4 iifname "eth2" ether saddr 02:00:00:00:00:01 ct mark set ... return
//			ct mark & 0xff000000 != 0x00000000 ct mark set ct mark & 0x00ffffff
//		}
//		chain output {
//			type route hook output priority mangle + 10; policy accept;
//			ip saddr @prefixes4 ct mark & 0xff000000 != 0x00000000 jump replies
//			ip6 saddr @prefixes6 ct mark & 0xff000000 != 0x00000000 jump replies
//		}
//		chain replies {
//			ct mark & 0xff000000 == 0x01000000 meta mark set meta mark & 0x00ffffff | 0x01000000 return
//		}
//		chain catchment-edge-b7cf62f2f8626723 { }
//	}
//
// ICMP errors are of state related and mark nothing: they come from routers on the
// way, not from clients. A chain of type route has the kernel look the way up again
// when a mark was set.
//
// Both come behind what others mark at priority mangle, as iptables does: their
// bits are kept, and where they write whole marks ours are still the last word.
func writeMarks(c *nftables.Conn, t *nftables.Table, legs []leg, prefixes []netip.Prefix, sum string) error {
	c.AddTable(t)
	for _, ipv6 := range []bool{false, true} {
		s := &nftables.Set{Table: t, Name: setNames[ipv6], Interval: true, KeyType: nftables.TypeIPAddr}
		if ipv6 {
			s.KeyType = nftables.TypeIP6Addr
		}
		if err := c.AddSet(s, intervals(prefixes, ipv6)); err != nil {
			return err
		}
	}
	policy, priority := nftables.ChainPolicyAccept, nftables.ChainPriorityRef(*nftables.ChainPriorityMangle+behindMangle)
	chains := map[string]*nftables.Chain{
		requestsChain: {Name: requestsChain, Table: t},
		repliesChain:  {Name: repliesChain, Table: t},
		preroutingChain: {Name: preroutingChain, Table: t, Type: nftables.ChainTypeFilter,
			Hooknum: nftables.ChainHookPrerouting, Priority: priority, Policy: &policy},
		outputChain: {Name: outputChain, Table: t, Type: nftables.ChainTypeRoute,
			Hooknum: nftables.ChainHookOutput, Priority: priority, Policy: &policy},
	}
	for _, name := range []string{requestsChain, repliesChain, preroutingChain, outputChain} {
		c.AddChain(chains[name])
	}
	c.AddChain(&nftables.Chain{Name: sum, Table: t})
	for _, s := range statements(legs) {
		c.AddRule(&nftables.Rule{Table: t, Chain: chains[s.chain], Exprs: s.expressions(),
			UserData: userdata.AppendString(nil, userdata.TypeComment, s.comment)})
	}
	return nil
}

// behindMangle is how far our chains are behind those of priority mangle; all are
// before those that translate addresses (50 further on).
const behindMangle = 10

// intervals are the elements of a set: where each prefix begins, and where what is
// behind it begins. A prefix that goes to the end of all addresses has no end.
func intervals(prefixes []netip.Prefix, ipv6 bool) (list []nftables.SetElement) {
	for _, p := range widest(prefixes) {
		if p.Addr().Is6() != ipv6 {
			continue
		}
		list = append(list, nftables.SetElement{Key: p.Addr().AsSlice()})
		if end := lastOf(p).Next(); end.IsValid() {
			list = append(list, nftables.SetElement{Key: end.AsSlice(), IntervalEnd: true})
		}
	}
	return list
}

// lastOf is the last address of a prefix.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// Everything is compared and computed in the first register.
const reg = 1

func (s statement) expressions() []expr.Any {
	l := s.leg
	switch s.chain {
	case preroutingChain:
		return join(inSet(l.ipv6, true), stateIs(expr.CtStateBitNEW|expr.CtStateBitESTABLISHED), verdict(expr.VerdictJump, requestsChain))
	case outputChain:
		return join(inSet(l.ipv6, false), ourBits(expr.CmpOpNeq, 0), verdict(expr.VerdictJump, repliesChain))
	case repliesChain:
		return join(ourBits(expr.CmpOpEq, l.mark()),
			[]expr.Any{&expr.Meta{Key: expr.MetaKeyMARK, Register: reg}}, setOurBits(l.mark()),
			[]expr.Any{&expr.Meta{Key: expr.MetaKeyMARK, SourceRegister: true, Register: reg}}, verdict(expr.VerdictReturn, ""))
	}
	if l.id == 0 {
		return join(ourBits(expr.CmpOpNeq, 0), markConnection(0))
	}
	match := join(protocol(l.ipv6), metaIs(expr.MetaKeyIIFNAME, append([]byte(l.iface), make([]byte, unix.IFNAMSIZ-len(l.iface))...)))
	if l.mac != "" {
		match = join(match, metaIs(expr.MetaKeyIIFTYPE, binaryutil.NativeEndian.PutUint16(unix.ARPHRD_ETHER)), []expr.Any{
			&expr.Payload{Base: expr.PayloadBaseLLHeader, Offset: 6, Len: macBytes, DestRegister: reg},
			&expr.Cmp{Op: expr.CmpOpEq, Register: reg, Data: []byte(l.mac)},
		})
	}
	return join(match, markConnection(l.mark()), verdict(expr.VerdictReturn, ""))
}

func join(parts ...[]expr.Any) (all []expr.Any) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func metaIs(key expr.MetaKey, value []byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: key, Register: reg}, &expr.Cmp{Op: expr.CmpOpEq, Register: reg, Data: value}}
}

func protocol(ipv6 bool) []expr.Any {
	value := byte(unix.NFPROTO_IPV4)
	if ipv6 {
		value = unix.NFPROTO_IPV6
	}
	return metaIs(expr.MetaKeyNFPROTO, []byte{value})
}

// inSet matches packets to (or from) the services' prefixes of a family.
func inSet(ipv6, to bool) []expr.Any {
	field := &expr.Payload{Base: expr.PayloadBaseNetworkHeader, DestRegister: reg, Offset: 12, Len: 4}
	if ipv6 {
		field.Offset, field.Len = 8, 16
	}
	if to {
		field.Offset += field.Len
	}
	return append(protocol(ipv6), field, &expr.Lookup{SourceRegister: reg, SetName: setNames[ipv6]})
}

func stateIs(bits uint32) []expr.Any {
	return []expr.Any{&expr.Ct{Key: expr.CtKeySTATE, Register: reg}, and(bits, 0), compare(expr.CmpOpNeq, 0)}
}

// ourBits compares the connection mark's bits that are ours.
func ourBits(op expr.CmpOp, mark uint32) []expr.Any {
	return []expr.Any{&expr.Ct{Key: expr.CtKeyMARK, Register: reg}, and(ReturnMask, 0), compare(op, mark)}
}

func markConnection(mark uint32) []expr.Any {
	return join([]expr.Any{&expr.Ct{Key: expr.CtKeyMARK, Register: reg}}, setOurBits(mark),
		[]expr.Any{&expr.Ct{Key: expr.CtKeyMARK, SourceRegister: true, Register: reg}})
}

func setOurBits(mark uint32) []expr.Any { return []expr.Any{and(^uint32(ReturnMask), mark)} }

func and(mask, xor uint32) expr.Any {
	return &expr.Bitwise{SourceRegister: reg, DestRegister: reg, Len: 4,
		Mask: binaryutil.NativeEndian.PutUint32(mask), Xor: binaryutil.NativeEndian.PutUint32(xor)}
}

func compare(op expr.CmpOp, value uint32) expr.Any {
	return &expr.Cmp{Op: op, Register: reg, Data: binaryutil.NativeEndian.PutUint32(value)}
}

func verdict(kind expr.VerdictKind, chain string) []expr.Any {
	return []expr.Any{&expr.Verdict{Kind: kind, Chain: chain}}
}
