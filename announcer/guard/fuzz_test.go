package guard

import (
	"bytes"
	"testing"
)

// FuzzReadOpen: whatever an OPEN says, it is refused with an OPEN Message
// Error, or what the leg would get is a well-formed OPEN of ours.
func FuzzReadOpen(f *testing.F) {
	o := routerOpen()
	o.role, o.extended = Provider, true
	f.Add(o.append(nil)[headerLen:])
	f.Add(open{asn: routerASN, hold: 3, id: routerID}.append(nil)[headerLen:])
	f.Add([]byte("\x04\xfd\xe9\x00\x5a\x0a\x00\x00\x02\xff\xff\x00\x0e\x02\x00\x0b\x41\x04\x00\x00\xfd\xe9\x09\x01\x00\x02\x00"))
	c := &Config{LocalASN: ourASN, PeerASN: routerASN, RouterID: ourID, Families: []Family{IPv4, IPv6}, Role: Customer}
	us := c.ours(9e9)
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) < 10 || len(body) > maxBody {
			return
		}
		them, fault := parseOpen(body)
		var a agreement
		if fault == nil {
			a, fault = c.negotiate(us, them)
		}
		if fault != nil {
			if fault.reason == "" || fault.notify == nil || fault.notify.code != codeOpen {
				t.Fatalf("fault %+v", fault)
			}
			return
		}
		if them.asn != routerASN || them.hold < 3 || a.hold < 3e9 || a.hold > 9e9 || a.families == 0 {
			t.Fatalf("agreed %+v from %+v", a, them)
		}
		b := a.compose().append(nil)
		again, fault := parseOpen(b[headerLen:])
		if fault != nil || again.families != a.families || again.asn != routerASN || len(b) > headerLen+10+2+32 {
			t.Fatalf("composed %x", b)
		}
	})
}

// FuzzSession: whatever a router writes, the leg gets our OPEN first, then
// KEEPALIVEs and ROUTE-REFRESHes of ours, byte for byte.
func FuzzSession(f *testing.F) {
	hello := started(routerOpen())
	f.Add(hello, true)
	f.Add(append(append(bytes.Clone(hello), update(40)...), refreshes[IPv4]...), false)
	f.Add(append(bytes.Clone(hello), notification{code: 6, subcode: 2, data: []byte("\x03bye")}.append(nil)...), true)
	f.Add(append(bytes.Clone(hello), appendHeader(nil, typeKeepalive, 1)...), false)
	// The bytes are taken as they are, or (framed) as lengths and bodies of
	// messages after a good start, which gets the fuzzer further.
	f.Fuzz(func(t *testing.T, stream []byte, framed bool) {
		if framed {
			stream = frame(stream)
		}
		var bodies int
		r := newRig(bytes.NewReader(stream), func([]byte) { bodies++ })
		fault := r.in.run()
		if fault.reason == "" {
			t.Fatal("a session ended for no reason")
		}
		if uint64(bodies) != r.count.updatesDropped.Load() {
			t.Fatalf("received %d of %d UPDATEs", bodies, r.count.updatesDropped.Load())
		}
		for i, m := range r.messages(t) {
			fine := bytes.Equal(m, keepalive) || bytes.Equal(m, refreshes[IPv4]) || bytes.Equal(m, refreshes[IPv6])
			if i == 0 {
				fine = bytes.Equal(m, r.in.agreed.compose().append(nil))
			}
			if !fine {
				t.Fatalf("message %d to the leg is %x", i, m)
			}
		}
	})
}

// frame makes messages of b after a good start: a type, a length, a body.
func frame(b []byte) []byte {
	out := started(routerOpen())
	for len(b) >= 2 {
		kind, n := b[0]%7, min(int(b[1]), len(b)-2)
		out = append(appendHeader(out, kind, n), b[2:2+n]...)
		b = b[2+n:]
	}
	return append(out, b...)
}
