package announcer

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catchment-bgp/catchment/announcer/guard"
	"github.com/catchment-bgp/catchment/announcer/upstream"
	"github.com/catchment-bgp/catchment/community"
)

// GoBGP servers cannot be ended; speakers are used again instead.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/osrg/gobgp/v3/pkg/server.(*BgpServer).Serve"),
		goleak.IgnoreAnyFunction("github.com/osrg/gobgp/v3/pkg/server.newTCPListener.func2"))
}

const ourASN = 57629

var (
	v4  = netip.MustParsePrefix("198.51.100.0/24")
	v4b = netip.MustParsePrefix("203.0.113.0/24")
	v6  = netip.MustParsePrefix("2001:db8:100::/48")
	us  = netip.MustParseAddr("127.0.0.1")
	id  = netip.MustParseAddr("10.77.0.1")
)

func local() Local { return Local{ASN: ourASN, RouterID: id} }

// neighbor starts a router and describes it as a neighbour.
func neighbor(t *testing.T, name string, kind Kind, last byte, asn uint32) (Neighbor, *upstream.Router) {
	t.Helper()
	addr := netip.AddrFrom4([4]byte{127, 0, 0, last})
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	listen := netip.AddrPortFrom(addr, port.Port())
	r, err := upstream.Start(upstream.Config{ASN: asn, RouterID: netip.AddrFrom4([4]byte{10, 0, 0, last}),
		Listen: listen, Neighbor: us, NeighborASN: ourASN, Password: "secret-" + name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return Neighbor{Name: name, Address: addr, Port: listen.Port(), ASN: asn, Kind: kind, LocalAddress: us,
		Password: "secret-" + name, Multihop: 1, HoldTime: 9 * time.Second, IPv4: true, IPv6: true}, r
}

func newAnnouncer(t *testing.T, ns ...Neighbor) *Announcer {
	t.Helper()
	a := New(Options{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		a.Close(ctx, "test over")
	})
	if err := a.SetNeighbors(local(), ns); err != nil {
		t.Fatal(err)
	}
	return a
}

// eventually polls until f returns nil.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		<-tick.C
	}
}

func established(t *testing.T, a *Announcer, names ...string) {
	t.Helper()
	eventually(t, "sessions", func() error {
		for _, n := range names {
			if st := a.Status()[n]; st.State != guard.Established {
				return fmt.Errorf("%s is %s (%s)", n, st.State, st.LastError)
			}
		}
		return nil
	})
}

// learnt waits until a router has learnt just these lines.
func learnt(t *testing.T, r *upstream.Router, want ...string) {
	t.Helper()
	eventually(t, "routes", func() error {
		paths, err := r.Routes()
		if err != nil {
			return err
		}
		var got []string
		for _, p := range paths {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("learnt %q, want %q", got, want)
		}
		return nil
	})
}

func set(t *testing.T, a *Announcer, name string, routes ...Route) {
	t.Helper()
	if err := a.Set(name, routes); err != nil {
		t.Fatal(err)
	}
}

func settle(t *testing.T, a *Announcer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := a.Settle(ctx); err != nil {
		t.Fatal(err)
	}
}

func communities(t *testing.T, texts ...string) community.Set {
	t.Helper()
	var vs []community.Value
	for _, s := range texts {
		v, err := community.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		vs = append(vs, v)
	}
	return community.NewSet(vs...)
}

func TestEachNeighbourLearnsItsOwnRoutes(t *testing.T) {
	na, ra := neighbor(t, "a", Transit, 2, 65001)
	nb, rb := neighbor(t, "b", Peer, 3, 4200000001)
	a := newAnnouncer(t, na, nb)
	set(t, a, "a", Route{Prefix: v4, NextHop: us, Prepend: 2, Communities: communities(t, "57629:101", "57629:1:101", "rt:57629:7"), MED: Metric{20, true}},
		Route{Prefix: v6, NextHop: netip.MustParseAddr("2001:db8::1")})
	set(t, a, "b", Route{Prefix: v4, NextHop: netip.MustParseAddr("127.0.0.9")})
	established(t, a, "a", "b")
	learnt(t, ra,
		"198.51.100.0/24  AS_PATH 57629 57629 57629  next hop 127.0.0.1  MED 20  communities 57629:101 rt:57629:7 57629:1:101",
		"2001:db8:100::/48  AS_PATH 57629  next hop 2001:db8::1")
	learnt(t, rb, "198.51.100.0/24  AS_PATH 57629  next hop 127.0.0.9")
	settle(t, a)
	st := a.Status()
	for name, is := range a.Sessions() {
		if is.State != st[name].State || is.Sessions != st[name].Sessions || len(st) != len(a.Sessions()) {
			t.Errorf("%s: %+v, want %+v", name, is, st[name].Status)
		}
	}
	if got := st["a"].Standing; len(got) != 2 || got[0].Prepend != 2 || got[0].MED != (Metric{20, true}) {
		t.Errorf("standing at a: %+v", got)
	}
	if !st["a"].Settled || !st["b"].Settled {
		t.Errorf("not settled: %+v", st)
	}
}

func TestChangingOneNeighbourSendsOneUpdateThereAndNoneElsewhere(t *testing.T) {
	na, ra := neighbor(t, "a", Transit, 2, 65001)
	nb, rb := neighbor(t, "b", Transit, 3, 65002)
	a := newAnnouncer(t, na, nb)
	for _, n := range []string{"a", "b"} {
		set(t, a, n, Route{Prefix: v4, NextHop: us})
	}
	established(t, a, "a", "b")
	learnt(t, rb, "198.51.100.0/24  AS_PATH 57629  next hop 127.0.0.1")
	settle(t, a)
	before := a.Status()
	path := "57629"
	for prepend := 1; prepend <= 3; prepend++ {
		path += " 57629"
		set(t, a, "a", Route{Prefix: v4, NextHop: us, Prepend: prepend})
		set(t, a, "a", Route{Prefix: v4, NextHop: us, Prepend: prepend}) // said twice: sent once
		learnt(t, ra, "198.51.100.0/24  AS_PATH "+path+"  next hop 127.0.0.1")
	}
	settle(t, a)
	after := a.Status()
	if got := after["a"].UpdatesSent - before["a"].UpdatesSent; got != 3 {
		t.Errorf("a got %d UPDATEs for 3 changes", got)
	}
	if got := after["b"].UpdatesSent - before["b"].UpdatesSent; got != 0 {
		t.Errorf("b got %d UPDATEs, want none", got)
	}
	if after["a"].Sessions != 1 || after["b"].Sessions != 1 {
		t.Errorf("sessions were restarted: %d, %d", after["a"].Sessions, after["b"].Sessions)
	}
}

func TestWithdrawalReachesTheNeighbour(t *testing.T) {
	na, ra := neighbor(t, "a", Transit, 2, 65001)
	a := newAnnouncer(t, na)
	set(t, a, "a", Route{Prefix: v4, NextHop: us}, Route{Prefix: v6, NextHop: netip.MustParseAddr("2001:db8::1")}, Route{Prefix: v4b, NextHop: us})
	established(t, a, "a")
	settle(t, a)
	set(t, a, "a", Route{Prefix: v4b, NextHop: us})
	settle(t, a)
	learnt(t, ra, "203.0.113.0/24  AS_PATH 57629  next hop 127.0.0.1")
	set(t, a, "a")
	settle(t, a)
	learnt(t, ra)
	if got := a.Status()["a"].Standing; len(got) != 0 {
		t.Errorf("standing after the withdrawal: %v", got)
	}
}

func TestReloadTouchesOnlyChangedSessions(t *testing.T) {
	na, ra := neighbor(t, "a", Transit, 2, 65001)
	nb, rb := neighbor(t, "b", Transit, 3, 65002)
	nc, rc := neighbor(t, "c", Transit, 4, 65003)
	a := newAnnouncer(t, na, nb)
	set(t, a, "a", Route{Prefix: v4, NextHop: us})
	set(t, a, "b", Route{Prefix: v4, NextHop: us})
	established(t, a, "a", "b")
	settle(t, a)
	nb.HoldTime = 30 * time.Second // changed
	if err := a.SetNeighbors(local(), []Neighbor{na, nb, nc}); err != nil {
		t.Fatal(err)
	}
	set(t, a, "c", Route{Prefix: v4b, NextHop: us})
	established(t, a, "a", "b", "c")
	learnt(t, ra, "198.51.100.0/24  AS_PATH 57629  next hop 127.0.0.1")
	learnt(t, rb, "198.51.100.0/24  AS_PATH 57629  next hop 127.0.0.1")
	learnt(t, rc, "203.0.113.0/24  AS_PATH 57629  next hop 127.0.0.1")
	st := a.Status()
	if st["a"].Sessions != 1 || st["a"].UpdatesSent != 1 {
		t.Errorf("the unchanged session was touched: %d sessions, %d UPDATEs", st["a"].Sessions, st["a"].UpdatesSent)
	}
	if st["b"].HoldTime != 30*time.Second {
		t.Errorf("hold time of b is %s, want the new 30s", st["b"].HoldTime)
	}
	if err := a.SetNeighbors(local(), []Neighbor{na}); err != nil {
		t.Fatal(err)
	}
	learnt(t, rb)
	learnt(t, rc)
	learnt(t, ra, "198.51.100.0/24  AS_PATH 57629  next hop 127.0.0.1")
	if err := a.Set("b", nil); err == nil {
		t.Error("Set for a removed neighbour gave no error")
	}
}

func TestARouterThatComesBackIsToldAgain(t *testing.T) {
	na, ra := neighbor(t, "a", Transit, 2, 65001)
	a := newAnnouncer(t, na)
	set(t, a, "a", Route{Prefix: v4, NextHop: us})
	established(t, a, "a")
	learnt(t, ra, "198.51.100.0/24  AS_PATH 57629  next hop 127.0.0.1")
	if err := ra.Reset(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "second session", func() error {
		if st := a.Status()["a"]; st.Sessions != 2 || st.State != guard.Established || !st.Settled {
			return fmt.Errorf("%s, %d sessions, settled %v (%s)", st.State, st.Sessions, st.Settled, st.LastError)
		}
		return nil
	})
	learnt(t, ra, "198.51.100.0/24  AS_PATH 57629  next hop 127.0.0.1")
}

func TestBadRoutesAreRefusedAndChangeNothing(t *testing.T) {
	na, ra := neighbor(t, "a", Transit, 2, 65001)
	na.IPv6 = false
	a := newAnnouncer(t, na)
	good := Route{Prefix: v4, NextHop: us}
	set(t, a, "a", good)
	established(t, a, "a")
	settle(t, a)
	for name, bad := range map[string][]Route{
		"host bits":          {{Prefix: netip.MustParsePrefix("198.51.100.1/24"), NextHop: us}},
		"no next hop":        {{Prefix: v4}},
		"family not carried": {{Prefix: v6, NextHop: netip.MustParseAddr("2001:db8::1")}},
		"prepend over cap":   {{Prefix: v4, NextHop: us, Prepend: 11}},
		"negative prepend":   {{Prefix: v4, NextHop: us, Prepend: -1}},
		"local preference":   {{Prefix: v4, NextHop: us, LocalPref: Metric{1, true}}},
		"IPv6 next hop":      {{Prefix: v4, NextHop: netip.MustParseAddr("2001:db8::1")}},
		"twice":              {good, good},
		"no prefix":          {{NextHop: us}},
	} {
		if err := a.Set("a", bad); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := a.Set("nobody", nil); err == nil {
		t.Error("unknown neighbour: no error")
	}
	settle(t, a)
	learnt(t, ra, "198.51.100.0/24  AS_PATH 57629  next hop 127.0.0.1")
	if st := a.Status()["a"]; st.UpdatesSent != 1 {
		t.Errorf("%d UPDATEs were sent, want the first one only", st.UpdatesSent)
	}
}

func TestCallsAfterCloseSayThatItIsClosed(t *testing.T) {
	a := New(Options{})
	a.Close(context.Background(), "")
	a.Close(context.Background(), "")
	if err := a.Set("a", nil); err != ErrClosed {
		t.Errorf("Set: %v", err)
	}
	if err := a.SetNeighbors(local(), nil); err != ErrClosed {
		t.Errorf("SetNeighbors: %v", err)
	}
}
