package guard

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"
)

// rig is an inbound without sockets: the router's bytes come from a reader,
// the leg is a buffer, and time stands still unless the test moves it.
type rig struct {
	in        inbound
	leg       bytes.Buffer
	fail      error // of a write to the leg
	time      time.Time
	confirmed atomic.Bool
	count     counters
}

func (r *rig) write(b []byte) error {
	r.leg.Write(b)
	return r.fail
}

// newRig makes a rig that plays the loop's part: it composes the OPEN, confirms
// at once and passes the first KEEPALIVE on.
func newRig(router io.Reader, received func([]byte)) *rig {
	c := &Config{LocalASN: ourASN, PeerASN: routerASN, RouterID: ourID, Families: []Family{IPv4, IPv6}, Role: Customer}
	us := c.ours(9 * time.Second)
	r := &rig{time: time.Unix(1e9, 0)}
	r.in.r = bufio.NewReaderSize(router, readBuffer)
	r.in.leg, r.in.count, r.in.confirmed, r.in.received = r, &r.count, &r.confirmed, received
	r.in.now = func() time.Time { return r.time }
	r.in.tell = inboundEvents{
		open: func(them open) (agreement, *fault) {
			a, f := c.negotiate(us, them)
			if f == nil {
				_ = r.write(a.compose().append(nil))
				r.confirmed.Store(true)
			}
			return a, f
		},
		alive: func() { _ = r.write(keepalive) },
		live:  func() bool { return true },
	}
	return r
}

// started is what a router sends up to Established.
func started(o open) []byte { return append(o.append(nil), keepalive...) }

// messages splits what the leg got.
func (r *rig) messages(t testing.TB) [][]byte {
	t.Helper()
	var out [][]byte
	for b := bytes.NewReader(r.leg.Bytes()); ; {
		m, err := readMessage(b)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("the leg got a broken message: %v", err)
		}
		out = append(out, m)
	}
}

// count how many messages of a kind the leg got.
func (r *rig) kinds(t testing.TB, kind byte) (n int) {
	t.Helper()
	for _, m := range r.messages(t) {
		if m[18] == kind {
			n++
		}
	}
	return n
}

func TestOnlyComposedMessagesReachTheLeg(t *testing.T) {
	stream := started(routerOpen())
	stream = append(stream, update(100)...)
	stream = append(stream, refreshes[IPv6]...)
	r := newRig(bytes.NewReader(stream), nil)
	if f := r.in.run(); f.notify != nil {
		t.Fatalf("ended with %s", f.reason)
	}
	composed := agreement{
		hold: 9 * time.Second, families: 1<<IPv4 | 1<<IPv6, refresh: true, fourOctet: true, asn: routerASN, id: routerID,
	}.compose().append(nil)
	want := append(append(composed, keepalive...), refreshes[IPv6]...)
	if !bytes.Equal(r.leg.Bytes(), want) {
		t.Errorf("leg got\n%x, want\n%x", r.leg.Bytes(), want)
	}
	if r.count.updatesDropped.Load() != 1 || r.count.bytesDropped.Load() != 119 {
		t.Errorf("counted %d UPDATEs, %d bytes", r.count.updatesDropped.Load(), r.count.bytesDropped.Load())
	}
}

func TestFirstUpdateLongAfterTheStartKeepsTheLegAlive(t *testing.T) {
	r := newRig(bytes.NewReader(started(routerOpen())), nil)
	r.in.run()
	before := r.kinds(t, typeKeepalive)
	for i := range 3 { // no KEEPALIVE of the router comes between
		r.time = r.time.Add(4500 * time.Millisecond)
		r.in.r.Reset(bytes.NewReader(update(60)))
		r.in.run()
		if n := r.kinds(t, typeKeepalive) - before; n != i+1 {
			t.Errorf("after %d UPDATEs 4.5 s apart the leg got %d KEEPALIVEs", i+1, n)
		}
	}
}

func TestFloodOfUpdatesKeepsTheLegAlive(t *testing.T) {
	stream := append([]byte(nil), started(routerOpen())...)
	const every, flood = 5 * time.Millisecond, 60 * time.Second
	stream = append(stream, bytes.Repeat(update(60), int(flood/every))...)
	r := newRig(bytes.NewReader(stream), nil)
	var last, longest time.Duration
	start := r.time
	r.in.now = func() time.Time { r.time = r.time.Add(every); return r.time }
	r.in.leg = writeFunc(func(b []byte) error {
		at := r.time.Sub(start)
		longest, last = max(longest, at-last), at
		return r.write(b)
	})
	if f := r.in.run(); f.notify != nil {
		t.Fatal(f.reason)
	}
	if n := r.kinds(t, typeKeepalive); n < 59 || n > 62 {
		t.Errorf("%d KEEPALIVEs in 60 s of UPDATEs, want one each second", n)
	}
	if longest > standInEvery+every || flood-last > standInEvery+every {
		t.Errorf("leg heard nothing for %s", max(longest, flood-last))
	}
}

type writeFunc func([]byte) error

func (f writeFunc) write(b []byte) error { return f(b) }

func TestRefreshIsRateLimitedForEachFamily(t *testing.T) {
	r := newRig(nil, nil)
	feed := func(b []byte) {
		t.Helper()
		r.in.r.Reset(bytes.NewReader(b))
		if f := r.in.run(); f.notify != nil {
			t.Fatal(f.reason)
		}
	}
	feed(started(routerOpen()))
	check := func(passed, dropped uint64) {
		t.Helper()
		if p, d := r.count.refreshPassed.Load(), r.count.refreshDropped.Load(); p != passed || d != dropped {
			t.Errorf("passed %d, dropped %d; want %d, %d", p, d, passed, dropped)
		}
	}
	feed(bytes.Repeat(refreshes[IPv4], 10))
	check(1, 9)
	feed(refreshes[IPv6])
	check(2, 9)
	r.time = r.time.Add(refreshEvery - 1)
	feed(append(refreshes[IPv4], refreshes[IPv6]...))
	check(2, 11)
	r.time = r.time.Add(1)
	feed(append(refreshes[IPv4], refreshes[IPv6]...))
	check(4, 11)
	if n := r.kinds(t, typeRefresh); n != 4 {
		t.Errorf("leg got %d", n)
	}
}

func TestRefreshThatCameTooSoonIsCaughtUpWith(t *testing.T) {
	r := newRig(bytes.NewReader(append(started(routerOpen()), bytes.Repeat(refreshes[IPv4], 3)...)), nil)
	r.in.run()
	feed := func(b []byte) int {
		r.in.r.Reset(bytes.NewReader(b))
		r.in.run()
		return r.kinds(t, typeRefresh)
	}
	if n := feed(keepalive); n != 1 {
		t.Errorf("leg got %d at once, want 1", n)
	}
	r.time = r.time.Add(refreshEvery)
	if n := feed(keepalive); n != 2 {
		t.Errorf("leg got %d after a second, want 2", n)
	}
	r.time = r.time.Add(time.Hour)
	if n := feed(keepalive); n != 2 {
		t.Errorf("leg got %d after an hour, want 2", n)
	}
}

func TestRefreshOfOtherFormsIsDropped(t *testing.T) {
	for name, m := range map[string]string{
		"BoRR":          ffs + "0017 05 0001 01 01",
		"EoRR":          ffs + "0017 05 0001 02 01",
		"ORF":           ffs + "001b 05 0001 00 01 01 40 0000",
		"VPNv4":         ffs + "0017 05 0001 00 80",
		"unknown AFI":   ffs + "0017 05 4004 00 01",
		"AFI 0":         ffs + "0017 05 0000 00 01",
		"not in common": ffs + "0017 05 0002 00 01",
	} {
		t.Run(name, func(t *testing.T) {
			o := routerOpen()
			o.families = 1 << IPv4
			r := newRig(bytes.NewReader(append(started(o), unhex(t, m)...)), nil)
			if f := r.in.run(); f.notify != nil {
				t.Fatal(f.reason)
			}
			if r.kinds(t, typeRefresh) != 0 || r.count.refreshDropped.Load() != 1 {
				t.Errorf("leg got %x", r.leg.Bytes())
			}
		})
	}
}

func TestRefreshOfANeighbourWithoutTheCapabilityIsDropped(t *testing.T) {
	o := routerOpen()
	o.refresh = false
	r := newRig(bytes.NewReader(append(started(o), refreshes[IPv4]...)), nil)
	if f := r.in.run(); f.notify != nil || r.kinds(t, typeRefresh) != 0 {
		t.Errorf("%s; leg got %x", f.reason, r.leg.Bytes())
	}
}

func TestMessagesOutOfPlace(t *testing.T) {
	o := routerOpen().append(nil)
	for name, tt := range map[string]struct {
		stream  []byte
		subcode byte
	}{
		"KEEPALIVE first":          {keepalive, fsmOpenSent},
		"UPDATE first":             {update(4), fsmOpenSent},
		"ROUTE-REFRESH first":      {refreshes[IPv4], fsmOpenSent},
		"UPDATE before KEEPALIVE":  {append(bytes.Clone(o), update(4)...), fsmOpenConfirm},
		"refresh before KEEPALIVE": {append(bytes.Clone(o), refreshes[IPv4]...), fsmOpenConfirm},
		"OPEN twice":               {append(bytes.Clone(o), o...), fsmOpenConfirm},
		"OPEN when Established":    {append(started(routerOpen()), o...), fsmEstablished},
	} {
		t.Run(name, func(t *testing.T) {
			f := newRig(bytes.NewReader(tt.stream), nil).in.run()
			if f.notify == nil || f.notify.code != codeFSM || f.notify.subcode != tt.subcode {
				t.Errorf("ended with %+v", f)
			}
		})
	}
}

func TestUpdateBeforeWeConfirmIsRefused(t *testing.T) {
	r := newRig(bytes.NewReader(append(started(routerOpen()), update(4)...)), nil)
	alive := r.in.tell.alive
	r.in.tell.alive = func() { alive(); r.confirmed.Store(false) }
	if f := r.in.run(); f.notify == nil || f.notify.subcode != fsmOpenConfirm {
		t.Errorf("ended with %+v", f)
	}
}

func TestKeepalivesArePassedAtAMeasuredPace(t *testing.T) {
	r := newRig(bytes.NewReader(append(started(routerOpen()), bytes.Repeat(keepalive, 1000)...)), nil)
	r.in.now = func() time.Time { r.time = r.time.Add(10 * time.Millisecond); return r.time }
	r.in.run()
	if n := r.kinds(t, typeKeepalive); n < 18 || n > 22 {
		t.Errorf("%d of 1000 KEEPALIVEs in 10 s were passed, want one each half second", n)
	}
}

func TestReceivedSeesBodiesUntilStopped(t *testing.T) {
	var got [][]byte
	r := newRig(nil, func(b []byte) { got = append(got, bytes.Clone(b)) })
	r.in.r.Reset(bytes.NewReader(append(append(started(routerOpen()), numbered(1)...), update(maxBody)...)))
	r.in.run()
	r.in.stop()
	r.in.r.Reset(bytes.NewReader(numbered(2)))
	r.in.run()
	if len(got) != 2 || !bytes.Equal(got[0], []byte{0, 0, 0, 1}) || len(got[1]) != maxBody {
		t.Errorf("received %d bodies", len(got))
	}
	if n := r.count.updatesDropped.Load(); n != 3 {
		t.Errorf("counted %d", n)
	}
}

func TestDeadLegEndsTheSession(t *testing.T) {
	r := newRig(bytes.NewReader(append(started(routerOpen()), refreshes[IPv4]...)), nil)
	r.fail = errors.New("stuck")
	if f := r.in.run(); f.notify == nil || f.notify.subcode != ceaseReset {
		t.Errorf("ended with %+v", f)
	}
}

// repeater gives the same bytes for ever.
type repeater struct {
	b   []byte
	off int
}

func (r *repeater) Read(p []byte) (int, error) {
	n := copy(p, r.b[r.off:])
	r.off = (r.off + n) % len(r.b)
	return n, nil
}

func TestDroppingUpdatesAllocatesNothing(t *testing.T) {
	for name, received := range map[string]func([]byte){"unread": nil, "received": func([]byte) {}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(bytes.NewReader(started(routerOpen())), received)
			r.in.run()
			stream := bytes.Repeat(append(append(update(80), refreshes[IPv4]...), keepalive...), 8)
			r.in.r.Reset(&repeater{b: stream})
			r.in.leg = writeFunc(func([]byte) error { return nil })
			r.in.now = func() time.Time { r.time = r.time.Add(300 * time.Millisecond); return r.time }
			if n := testing.AllocsPerRun(10000, func() {
				if f := r.in.message(); f != nil {
					t.Fatal(f.reason)
				}
			}); n != 0 {
				t.Errorf("%v allocations for each message", n)
			}
		})
	}
}

func BenchmarkDropUpdates(b *testing.B) {
	r := newRig(bytes.NewReader(started(routerOpen())), nil)
	r.in.run()
	const body = 80 // a full table has about this in the mean
	r.in.r.Reset(&repeater{b: bytes.Repeat(update(body), 1000)})
	r.in.now = time.Now
	r.in.leg = writeFunc(func([]byte) error { return nil })
	b.SetBytes(headerLen + body)
	b.ReportAllocs()
	for b.Loop() {
		if f := r.in.message(); f != nil {
			b.Fatal(f.reason)
		}
	}
}
