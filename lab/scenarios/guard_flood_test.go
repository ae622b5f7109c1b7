package scenarios

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

const (
	fullTable   = 1_000_000 // routes of the flooding neighbour
	withdrawals = 40        // that are timed
	mostRSS     = 64 << 20  // bytes
	mostDelay   = 500 * time.Millisecond
	longFlood   = 10 * time.Second // longer than the hold time of 9 s
)

// The neighbour "flood" never stops sending. A withdrawal is timed from two moments on: from the call of the local API,
// which is what an operator does, and from the decision, as `catchment edge why` tells it. It ends when the raw speaker
// has read the whole UPDATE, and when BIRD logs that the route is gone. All clocks are the machine's own. The test
// itself makes the flood on the same two processors, so that every figure is an upper bound.
//
// It does not run beside other tests, since it measures.
func TestMillionRoutesLeaveMemorySessionsAndWithdrawalsAlone(t *testing.T) {
	h := newHub(t, netlab.BIRDRouting)
	flood, bird := h.spoke("flood"), h.spoke("bird")
	listener := flood.listen(routegen.Config{Families: []routegen.Family{routegen.IPv4, routegen.IPv6}})
	router := bird.node.BIRD(netlab.BIRDConfig{
		ASN: birdASN, RouterID: bird.Peer4.String(), Global: []string{"timeformat log iso long us;"},
		Neighbors: []netlab.BIRDNeighbor{{Name: "edge", Address: bird.Edge4, ASN: edgeASN, IPv4: true, IPv6: true,
			Options: []string{"debug { events, routes };"}}},
	}.String())
	d := h.start(always(flood.neighbor(rawASN, flood.bothFamilies()...), bird.neighbor(birdASN, bird.bothFamilies()...)))
	api := d.api()
	speaker := flood.accept(listener)
	hears := newEar(t, speaker)
	session := awaitSession(t, router, bird.Edge4)
	awaitPath(t, soon, router, video6, nil)
	hears.await(soon, 0, "our routes", announces(video6))

	rss, err := d.proc.RSS()
	if err != nil {
		t.Fatal(err)
	}
	quiet := timeWithdrawals(t, api, hears, router)
	t.Logf("before the flood: RSS %.1f MB; %s", mb(rss), quiet)

	running := startFlood(t, speaker, flood.Peer4)
	running.awaitTable(t)
	var flooded delays
	for flooded.callToRaw == nil || time.Since(running.begun) < longFlood {
		flooded.add(timeWithdrawals(t, api, hears, router))
	}
	sent, took := running.stop(t)

	peak, err := d.proc.PeakRSS()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("with the flood: RSS %.1f MB at most; %s", mb(peak), flooded)
	t.Logf("%d UPDATEs of %d in the table in %v: %.0f a second", sent, running.table.Updates(), took.Round(time.Millisecond), float64(sent)/took.Seconds())
	if peak >= mostRSS {
		t.Errorf("the daemon needed %.1f MB", mb(peak))
	}
	for name, delays := range map[string][]time.Duration{
		"from the call to the flooding neighbour": flooded.callToRaw, "from the decision to the flooding neighbour": flooded.decisionToRaw,
		"from the call to BIRD": flooded.callToBIRD, "from the decision to BIRD": flooded.decisionToBIRD,
	} {
		if m := median(delays); m >= mostDelay || len(delays) < 30 {
			t.Errorf("%s: %v in the median of %d withdrawals", name, m, len(delays))
		}
	}
	alive(t, flood.name, speaker)
	sameSession(t, router, bird.Edge4, session)
	netlab.Eventually(t, soon, "all UPDATEs to be read", func() error {
		if got := d.metric(`catchment_guard_updates_dropped_total{neighbor="flood"}`); got != float64(sent) {
			return fmt.Errorf("%.0f of %d", got, sent)
		}
		return nil
	})
	for _, name := range []string{flood.name, bird.name} {
		awaitStatus(t, api, name, soon, isUp)
	}
}

// flooding is a flood under way.
type flooding struct {
	table routegen.Table
	begun time.Time
	once  chan struct{} // closed when the whole table was sent
	end   context.CancelFunc
	done  chan error
	sent  int
}

// startFlood sends the table, and then changes of it without end.
func startFlood(t testing.TB, s *routegen.Speaker, nextHop netip.Addr) *flooding {
	ctx, cancel := context.WithCancel(context.Background())
	f := &flooding{
		table: routegen.Table{Count: fullTable, ASN: rawASN, NextHop: nextHop},
		begun: time.Now(), once: make(chan struct{}), end: cancel, done: make(chan error, 1),
	}
	go func() {
		defer close(f.done)
		n, last := 0, f.table.Updates()
		sent, err := s.Flood(ctx, 1<<40, func(i int) []byte {
			if n = i; n == last {
				close(f.once)
			}
			return f.table.Update(i)
		})
		f.sent = sent
		f.done <- err
	}()
	t.Cleanup(func() {
		cancel()
		for range f.done {
		}
	})
	return f
}

// awaitTable waits until every route was sent once.
func (f *flooding) awaitTable(t testing.TB) {
	t.Helper()
	select {
	case <-f.once:
	case err := <-f.done:
		t.Fatalf("the flood ended early: %v", err)
	case <-time.After(60 * time.Second):
		t.Fatal("the table is not sent after a minute")
	}
}

// stop ends the flood and tells how many UPDATEs were sent in which time.
func (f *flooding) stop(t testing.TB) (int, time.Duration) {
	t.Helper()
	f.end()
	if err := <-f.done; !errors.Is(err, context.Canceled) {
		t.Errorf("the flood ended early: %v", err)
	}
	return f.sent, time.Since(f.begun)
}

// delays are the times that withdrawals took, one of each kind for each withdrawal.
type delays struct{ callToRaw, callToBIRD, decisionToRaw, decisionToBIRD []time.Duration }

func (d *delays) add(more delays) {
	d.callToRaw = append(d.callToRaw, more.callToRaw...)
	d.callToBIRD = append(d.callToBIRD, more.callToBIRD...)
	d.decisionToRaw = append(d.decisionToRaw, more.decisionToRaw...)
	d.decisionToBIRD = append(d.decisionToBIRD, more.decisionToBIRD...)
}

func (d delays) String() string {
	return fmt.Sprintf("%d withdrawals, median (most): call to raw %s, to BIRD %s; decision to raw %s, to BIRD %s", len(d.callToRaw),
		spread(d.callToRaw), spread(d.callToBIRD), spread(d.decisionToRaw), spread(d.decisionToBIRD))
}

func spread(list []time.Duration) string {
	return fmt.Sprintf("%v (%v)", median(list).Round(10*time.Microsecond), slices.Max(list).Round(10*time.Microsecond))
}

func median(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

func mb(bytes uint64) float64 { return float64(bytes) / (1 << 20) }

// timeWithdrawals withdraws and announces again and again.
func timeWithdrawals(t *testing.T, api edgev1.EdgeClient, hears *ear, bird *netlab.BIRD) delays {
	t.Helper()
	var d delays
	for range withdrawals {
		call, decision := withdraw(t, api)
		gone, atBIRD := awaitWithdrawal(t, hears, bird, call)
		d.callToRaw = append(d.callToRaw, gone.Sub(call))
		d.callToBIRD = append(d.callToBIRD, atBIRD.Sub(call))
		d.decisionToRaw = append(d.decisionToRaw, gone.Sub(decision))
		d.decisionToBIRD = append(d.decisionToBIRD, atBIRD.Sub(decision))
		announceAgain(t, api, hears, bird)
	}
	return d
}

// withdraw tells when it called the daemon and when the daemon decided.
func withdraw(t *testing.T, api edgev1.EdgeClient) (call, decision time.Time) {
	t.Helper()
	ctx, cancel := asked()
	defer cancel()
	call = time.Now()
	_, err := api.SetOverride(ctx, &edgev1.SetOverrideRequest{
		Selector: &edgev1.Selector{Services: []string{"video"}}, Verb: "withdraw", Reason: "timed",
	})
	if err != nil {
		t.Fatal(err)
	}
	why, err := api.Why(ctx, &edgev1.WhyRequest{Service: "video", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if decision = why.GetDecisions()[0].GetAt().AsTime(); decision.Before(call) {
		t.Fatalf("the last decision, at %v, is not the one called for at %v: %v", decision, call, why)
	}
	return call, decision
}

// awaitWithdrawal waits for both prefixes' withdrawal, the later of them at each neighbour.
func awaitWithdrawal(t *testing.T, hears *ear, bird *netlab.BIRD, after time.Time) (raw, atBIRD time.Time) {
	t.Helper()
	netlab.Eventually(t, soon, "both withdrawals", func() error {
		raw, atBIRD = time.Time{}, birdRemoved(t, bird, after)
		gone := map[netip.Prefix]bool{}
		for _, u := range hears.all() {
			if u.at.Before(after) {
				continue
			}
			for _, p := range u.Withdrawn {
				gone[p], raw = true, u.at
			}
		}
		if !gone[video4] || !gone[video6] || atBIRD.IsZero() {
			return fmt.Errorf("withdrawn %v; at BIRD: %v", gone, atBIRD)
		}
		return nil
	})
	return raw, atBIRD
}

// birdRemoved is when BIRD removed the second of our two routes, as its log says; zero: it has not since a time.
func birdRemoved(t *testing.T, bird *netlab.BIRD, after time.Time) time.Time {
	t.Helper()
	removed := map[string]time.Time{}
	lines := bufio.NewScanner(strings.NewReader(bird.Proc().Log()))
	for lines.Scan() {
		stamp, event, ok := strings.Cut(lines.Text(), " <TRACE> ")
		if !ok || !strings.Contains(event, "> removed ") {
			continue
		}
		at, err := time.ParseInLocation("2006-01-02 15:04:05.999999", stamp, time.Local)
		if err != nil {
			t.Fatalf("BIRD's log: %v", err)
		}
		if at.After(after) {
			channel, _, _ := strings.Cut(event, " ")
			removed[channel] = at
		}
	}
	if len(removed) < 2 {
		return time.Time{}
	}
	a, b := removed["edge.ipv4"], removed["edge.ipv6"]
	if a.After(b) {
		return a
	}
	return b
}

// announceAgain lifts the override and waits until the routes are back.
func announceAgain(t *testing.T, api edgev1.EdgeClient, hears *ear, bird *netlab.BIRD) {
	t.Helper()
	from := len(hears.all())
	ctx, cancel := asked()
	defer cancel()
	if _, err := api.ClearOverride(ctx, &edgev1.ClearOverrideRequest{
		Selector: &edgev1.Selector{Services: []string{"video"}}, Reason: "timed",
	}); err != nil {
		t.Fatal(err)
	}
	for _, p := range []netip.Prefix{video4, video6} {
		hears.await(soon, from, p.String()+" again", announces(p))
		awaitPath(t, soon, bird, p, nil)
	}
}
