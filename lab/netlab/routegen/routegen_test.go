package routegen

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair brings up a session between two speakers on the loopback.
func pair(t *testing.T, a, b Config) (*Speaker, *Speaker) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	listener, err := Listen(ctx, "127.0.0.1:0", b)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	type result struct {
		s   *Speaker
		err error
	}
	accepted := make(chan result, 1)
	go func() {
		s, err := listener.Accept(ctx)
		accepted <- result{s, err}
	}()
	dialed, err := Dial(ctx, listener.Addr().String(), a)
	other := <-accepted
	if err != nil || other.err != nil {
		t.Fatalf("dialing: %v; accepting: %v", err, other.err)
	}
	t.Cleanup(func() { _ = dialed.Close(); _ = other.s.Close() })
	return dialed, other.s
}

// next waits for the next message of a type.
func next(t *testing.T, s *Speaker, kind byte) Message {
	t.Helper()
	deadline := time.After(5 * time.Second)
	for {
		select {
		case m, ok := <-s.Received():
			if !ok {
				t.Fatalf("no message of type %d: %v", kind, s.Err())
			}
			if m.Type == kind {
				return m
			}
		case <-deadline:
			t.Fatalf("no message of type %d", kind)
		}
	}
}

func TestHandshakeTellsWhatTheOtherSideOffered(t *testing.T) {
	role := byte(3)
	a, b := pair(t,
		Config{LocalASN: 4200000001, HoldTime: 9 * time.Second, Families: []Family{IPv4, IPv6}, Role: &role},
		Config{LocalASN: 65001, RouterID: netip.MustParseAddr("10.0.0.9")})
	if got := b.Peer(); got.ASN != 4200000001 || got.HoldTime != 9*time.Second {
		t.Errorf("the listener saw %+v", got)
	}
	if value, ok := b.Peer().Capability(CapRole); !ok || !slices.Equal(value, []byte{3}) {
		t.Errorf("role %v, %v", value, ok)
	}
	if got := a.Peer(); got.ASN != 65001 || got.RouterID.String() != "10.0.0.9" || got.HoldTime != 90*time.Second {
		t.Errorf("the dialer saw %+v", got)
	}
	if m := next(t, b, TypeOpen); m.At.IsZero() {
		t.Error("the OPEN has no time")
	}
}

func TestKeepalivesAreSentAtAThirdOfTheHoldTime(t *testing.T) {
	a, b := pair(t, Config{LocalASN: 1, HoldTime: 3 * time.Second}, Config{LocalASN: 2})
	next(t, a, TypeKeepalive)
	next(t, b, TypeKeepalive)
	first, second := next(t, b, TypeKeepalive), next(t, b, TypeKeepalive)
	if gap := second.At.Sub(first.At); gap < 500*time.Millisecond || gap > 2*time.Second {
		t.Errorf("KEEPALIVEs %v apart with a hold time of 3 s", gap)
	}
}

func TestFloodArrivesWholeAndInOrder(t *testing.T) {
	a, b := pair(t, Config{LocalASN: 1}, Config{LocalASN: 2})
	routes := Routes{Count: 2500, PerUpdate: 100, Path: []uint32{1}, NextHop: netip.MustParseAddr("10.0.0.1")}
	const n = 100 // four passes over the table
	sent, err := a.Flood(t.Context(), n, routes.Update)
	if err != nil || sent != n {
		t.Fatalf("sent %d: %v", sent, err)
	}
	for i := range n {
		u, err := ParseUpdate(next(t, b, TypeUpdate).Body)
		if err != nil {
			t.Fatal(err)
		}
		med, _ := u.Attr(AttrMED)
		if len(u.Announced) != 100 || !slices.Equal(med, []byte{0, 0, 0, byte(i / 25)}) {
			t.Fatalf("UPDATE %d: %d prefixes, MED %v", i, len(u.Announced), med)
		}
		if i == 25 && u.Announced[0].String() != "20.0.0.0/24" {
			t.Errorf("the second pass begins with %v", u.Announced[0])
		}
	}
}

func TestFloodEndsWithItsContextWhenNobodyReads(t *testing.T) {
	a, b := pair(t, Config{LocalASN: 1}, Config{LocalASN: 2})
	b.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	routes := Routes{Count: 100000, PerUpdate: 1, Path: []uint32{1}, NextHop: netip.MustParseAddr("10.0.0.1")}
	start := time.Now()
	sent, err := a.Flood(ctx, 1<<30, routes.Update)
	if err == nil || time.Since(start) > 4*time.Second {
		t.Errorf("sent %d in %v: %v", sent, time.Since(start), err)
	}
}

func TestNotificationIsTheReasonOfTheEnd(t *testing.T) {
	a, b := pair(t, Config{LocalASN: 1}, Config{LocalASN: 2})
	if err := a.Send(Frame(TypeNotification, []byte{6, 2, 3, 'b', 'y', 'e'})); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	<-b.Done()
	var n *Notification
	if !errors.As(b.Err(), &n) || n.Code != 6 || n.Subcode != 2 || string(n.Data) != "\x03bye" {
		t.Errorf("ended with %v", b.Err())
	}
}

func TestCloseOfTheOtherSideIsEOF(t *testing.T) {
	a, b := pair(t, Config{LocalASN: 1}, Config{LocalASN: 2})
	_ = a.Close()
	<-b.Done()
	if !errors.Is(b.Err(), io.EOF) {
		t.Errorf("ended with %v", b.Err())
	}
}

func TestRefusedHandshakeIsAnError(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	listener, err := Listen(ctx, "127.0.0.1:0", Config{NoHandshake: true})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	refused := make(chan error, 1)
	go func() {
		s, err := listener.Accept(ctx)
		if err == nil {
			<-s.Received()
			err = errors.Join(s.Send(Frame(TypeNotification, []byte{2, 6})), s.Close())
		}
		refused <- err
	}()
	_, err = Dial(ctx, listener.Addr().String(), Config{LocalASN: 1})
	var n *Notification
	if !errors.As(err, &n) || n.Code != 2 || n.Subcode != 6 {
		t.Errorf("error %v", err)
	}
	if err := <-refused; err != nil {
		t.Error(err)
	}
}

func TestAcceptEndsWithItsContext(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.0.1:0", Config{LocalASN: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := listener.Accept(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// Composed by hand after RFC 4760 section 3: a route of IPv6 with a global and a link-local next hop.
func TestParseUpdateReadsMPReach(t *testing.T) {
	const body = "0000" + "003d" +
		"900e002c" + "000201" + "20" + "fd770002000000000000000000000002" + "fe800000000000000000000000000001" + "00" +
		"30" + "20010db80100" + // 2001:db8:100::/48
		"40010100" + "40020602010000fde9" // ORIGIN IGP, AS_PATH 65001
	raw, err := hex.DecodeString(body)
	if err != nil {
		t.Fatal(err)
	}
	u, err := ParseUpdate(raw)
	if err != nil {
		t.Fatal(err)
	}
	want := []netip.Prefix{netip.MustParsePrefix("2001:db8:100::/48")}
	hops := []netip.Addr{netip.MustParseAddr("fd77:2::2"), netip.MustParseAddr("fe80::1")}
	if !slices.Equal(u.Announced, want) || !slices.Equal(u.NextHop, hops) || !slices.Equal(u.ASPath(), []uint32{65001}) {
		t.Errorf("%+v", u)
	}
}

func TestParseUpdateGivesBackWhatBuildUpdateWrote(t *testing.T) {
	prefix := rapid.Custom(func(t *rapid.T) netip.Prefix {
		raw := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")
		return netip.PrefixFrom(netip.AddrFrom4([4]byte(raw)), rapid.IntRange(0, 32).Draw(t, "bits")).Masked()
	})
	rapid.Check(t, func(t *rapid.T) {
		withdrawn := rapid.SliceOfN(prefix, 0, 20).Draw(t, "withdrawn")
		announced := rapid.SliceOfN(prefix, 0, 20).Draw(t, "announced")
		path := rapid.SliceOfN(rapid.Uint32(), 0, 100).Draw(t, "path")
		attrs := PathAttrs(path, netip.MustParseAddr("192.0.2.1"), rapid.Uint32().Draw(t, "med"))
		m, err := readMessage(strings.NewReader(string(BuildUpdate(withdrawn, attrs, announced))))
		if err != nil {
			t.Fatal(err)
		}
		u, err := ParseUpdate(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(u.Withdrawn, withdrawn) || !slices.Equal(u.Announced, announced) || !slices.Equal(u.ASPath(), path) {
			t.Fatalf("%+v", u)
		}
	})
}

func TestParseOpenGivesBackWhatMessageWrote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asn := rapid.Uint32().Draw(t, "asn")
		want := Config{LocalASN: asn, HoldTime: time.Duration(rapid.IntRange(1, 65535).Draw(t, "hold")) * time.Second}.open()
		m, err := readMessage(strings.NewReader(string(want.Message())))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseOpen(m.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got.ASN != want.ASN || got.HoldTime != want.HoldTime || got.RouterID != want.RouterID || len(got.Capabilities) != len(want.Capabilities) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(BuildUpdate(nil, PathAttrs([]uint32{1}, netip.MustParseAddr("192.0.2.1"), 1), []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")})[headerLen:])
	f.Add(Config{LocalASN: 1}.open().Message()[headerLen:])
	f.Fuzz(func(t *testing.T, body []byte) {
		if u, err := ParseUpdate(body); err == nil {
			again, err := ParseUpdate(slices.Clone(body))
			if err != nil || !reflect.DeepEqual(u, again) {
				t.Fatalf("read twice: %+v and %+v, %v", u, again, err)
			}
			u.ASPath()
		}
		if o, err := ParseOpen(body); err == nil && !o.RouterID.Is4() {
			t.Fatalf("router ID %v", o.RouterID)
		}
	})
}
