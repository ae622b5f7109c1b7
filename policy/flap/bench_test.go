package flap

import (
	"net/netip"
	"testing"
	"time"
)

// full is a ledger of 1000 prefixes at each of 20 ASes, and the keys of one.
func full() (Ledger, []Key) {
	var all []Key
	for asn := range uint32(20) {
		for i := range 1000 {
			all = append(all, Key{64500 + asn, netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0}), 24)})
		}
	}
	return Ledger{}.Charge(Default(), t0, AttributeChange, all...), all[10_000:11_000]
}

// BenchmarkAllow asks for all prefixes at one AS.
func BenchmarkAllow(b *testing.B) {
	l, keys := full()
	now := at(time.Minute)
	for name, s := range map[string]Share{"alone": {}, "share": {4, 2}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Allow(Default(), s, now, AttributeChange, keys...)
			}
		})
	}
	b.Run("onePrefix", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			l.Allow(Default(), Share{4, 2}, now, AttributeChange, keys[500])
		}
	})
}

// BenchmarkPenalty reads one penalty.
func BenchmarkPenalty(b *testing.B) {
	l, keys := full()
	c, now := Default(), at(time.Minute)
	b.ReportAllocs()
	for b.Loop() {
		l.Penalty(c, keys[500], now)
	}
}

// BenchmarkCharge charges all prefixes at one AS.
func BenchmarkCharge(b *testing.B) {
	l, keys := full()
	now := at(time.Minute)
	b.ReportAllocs()
	for b.Loop() {
		l.Charge(Default(), now, AttributeChange, keys...)
	}
}
