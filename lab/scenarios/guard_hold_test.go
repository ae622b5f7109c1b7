package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// A neighbour may say nothing but UPDATEs, which keep the hold timer up (RFC 4271 section 8.2.2). One that says nothing
// at all is gone after the hold time.
func TestHoldTimerIsKeptByNothingButUpdates(t *testing.T) {
	t.Parallel()
	const hold, length = 9 * time.Second, time.Minute
	h := newHub(t)
	seldom, often, silent := h.spoke("seldom"), h.spoke("often"), h.spoke("silent")
	speakers, ears := map[*spoke]*routegen.Speaker{}, map[*spoke]*ear{}
	listeners := map[*spoke]*routegen.Listener{}
	var neighbors []string
	for _, s := range []*spoke{seldom, often, silent} {
		listeners[s] = s.listen(routegen.Config{HoldTime: hold, NoKeepalives: true})
		neighbors = append(neighbors, s.neighbor(rawASN, "hold_time: "+hold.String()))
	}
	d := h.start(always(neighbors...))
	for s, l := range listeners {
		speakers[s] = s.accept(l)
		ears[s] = newEar(t, speakers[s])
	}
	begun := time.Now()
	stop := time.After(length)
	table := routegen.Table{Count: 1000, ASN: rawASN, NextHop: seldom.Peer4}
	slow, fast := time.NewTicker(hold/2), time.NewTicker(5*time.Millisecond)
	defer slow.Stop()
	defer fast.Stop()
	var silentFor time.Duration
	ended := speakers[silent].Done()
	sent := map[*spoke]int{}
	for running := true; running; {
		var to *spoke
		select {
		case <-slow.C:
			to = seldom
		case <-fast.C:
			to = often
		case <-ended:
			silentFor, ended = time.Since(begun), nil
			continue
		case <-stop:
			running = false
			continue
		}
		if err := speakers[to].Send(table.Update(sent[to])); err != nil {
			t.Fatalf("%s after %v: %v", to.name, time.Since(begun), err)
		}
		sent[to]++
	}
	for _, s := range []*spoke{seldom, often} {
		alive(t, s.name, speakers[s])
		if n := d.metric(fmt.Sprintf("catchment_sessions_total{neighbor=%q}", s.name)); n != 1 {
			t.Errorf("%s: %v sessions", s.name, n)
		}
		if n := ears[s].heardKeepalives(); n < int(length/(hold/3))-2 {
			t.Errorf("%s heard %d KEEPALIVEs in %v", s.name, n, length)
		}
		t.Logf("%s sent %d UPDATEs", s.name, sent[s])
	}
	var n *routegen.Notification
	if err := speakers[silent].Err(); !errors.As(err, &n) || n.Code != 4 || silentFor < hold-time.Second || silentFor > hold+3*time.Second {
		t.Errorf("the silent neighbour's session ended after %v: %v", silentFor, err)
	}
	t.Logf("the silent one's session ended after %v", silentFor.Round(time.Millisecond))
}

// FRR refuses less than 20 s with 2/6, and we ask for 30 s then.
func TestHoldTimeThatTheNeighbourFindsTooShortIsRaised(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting)
	s := h.spoke("frr")
	frr := s.node.FRR(netlab.FRRConfig{
		ASN: frrASN, RouterID: s.Peer4.String(), MinimumHoldTime: 20 * time.Second,
		Neighbors: []netlab.FRRNeighbor{{Address: s.Edge4, ASN: edgeASN}},
	}.String())
	d := h.start(always(s.neighbor(frrASN)))
	awaitSession(t, frr, s.Edge4)
	awaitPath(t, soon, frr, video4, nil)
	n := awaitStatus(t, d.api(), s.name, soon, isUp)
	if n.GetHoldTimeSeconds() != 30 {
		t.Errorf("the status says a hold time of %v s", n.GetHoldTimeSeconds())
	}
	text, err := frr.Vtysh("show bgp neighbors " + s.Edge4.String() + " json")
	if err != nil {
		t.Fatal(err)
	}
	var at map[string]struct{ BgpTimerHoldTimeMsecs int }
	if err := json.Unmarshal([]byte(text), &at); err != nil || at[s.Edge4.String()].BgpTimerHoldTimeMsecs != 30_000 {
		t.Errorf("FRR has a hold time of %+v, %v", at, err)
	}
}

func TestNeighbourWithoutAHoldTimeIsRefused(t *testing.T) {
	t.Parallel()
	h := newHub(t, netlab.FRRouting)
	s := h.spoke("frr")
	frr := s.node.FRR(netlab.FRRConfig{ASN: frrASN, RouterID: s.Peer4.String(), Neighbors: []netlab.FRRNeighbor{
		{Address: s.Edge4, ASN: edgeASN, Options: []string{"timers 0 0"}},
	}}.String())
	d := h.start(always(s.neighbor(frrASN)))
	n := awaitStatus(t, d.api(), s.name, sessionWait, func(n *edgev1.Neighbor) error {
		if !strings.Contains(n.GetLastError(), "hold time") {
			return errors.New("no word of the hold time")
		}
		return nil
	})
	if want := "neighbour proposes a hold time of 0 s: 3 s is the least, and 0 (never) is not accepted"; n.GetLastError() != want {
		t.Errorf("the status says %q, want %q", n.GetLastError(), want)
	}
	netlab.Eventually(t, soon, "FRR to hear why", func() error {
		if log := frr.Proc().Log(); !strings.Contains(log, "received from neighbor "+s.Edge4.String()+" 2/6 (OPEN Message Error/Unacceptable Hold Time)") {
			return errors.New("no word of 2/6")
		}
		return nil
	})
	if session, err := frr.Session(s.Edge4); err != nil || session.State == netlab.Established {
		t.Errorf("%+v, %v", session, err)
	}
}
