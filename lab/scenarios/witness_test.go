package scenarios

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

const witnessASN = 65003

// witness is a third neighbour that writes down every message with its time: routers count them only.
type witness struct {
	t     testing.TB
	edge4 netip.Addr
	edge6 netip.Addr
	peer4 netip.Addr

	mu       sync.Mutex
	sessions int
	events   []event
}

// event is an UPDATE that is no end-of-RIB marker, or a NOTIFICATION.
type event struct {
	at           time.Time
	update       *routegen.Update
	notification *routegen.Notification
}

func (e event) String() string {
	if e.notification != nil {
		return e.notification.Error()
	}
	return fmt.Sprintf("announced %v with path %v, withdrawn %v", e.update.Announced, e.update.ASPath(), e.update.Withdrawn)
}

// newWitness adds the node, and has it take whatever session the edge opens.
func (s *site) newWitness() *witness {
	s.t.Helper()
	w := &witness{
		t: s.t, edge4: netip.MustParseAddr("10.77.3.1"), edge6: netip.MustParseAddr("fd77:3::1"),
		peer4: netip.MustParseAddr("10.77.3.2"),
	}
	node := s.Lab.Node("witness")
	s.Lab.Link(s.Edge, node, []string{"10.77.3.1/30", "fd77:3::1/64"}, []string{"10.77.3.2/30", "fd77:3::2/64"})
	ctx, cancel := context.WithCancel(context.Background())
	var listener *routegen.Listener
	err := node.Do(func() (err error) {
		listener, err = routegen.Listen(ctx, w.peer4.String()+":179", routegen.Config{
			LocalASN: witnessASN, Families: []routegen.Family{routegen.IPv4, routegen.IPv6},
		})
		return err
	})
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	var taking sync.WaitGroup
	taking.Go(func() {
		for ctx.Err() == nil {
			if speaker, err := listener.Accept(ctx); err == nil {
				w.listen(ctx, speaker)
			}
		}
	})
	s.t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		taking.Wait()
	})
	return w
}

// neighbor is the witness's entry under neighbors: in the edge's configuration.
func (w *witness) neighbor(fields ...string) string {
	return mapping(append([]string{
		"name: witness", "address: " + w.peer4.String(), fmt.Sprintf("asn: %d", witnessASN), "kind: transit",
		"local_address: " + w.edge4.String(), "families: [ipv4, ipv6]", fmt.Sprintf("next_hop: {ipv6: %q}", w.edge6),
	}, fields...)...)
}

// listen writes one session down, until it ends.
func (w *witness) listen(ctx context.Context, speaker *routegen.Speaker) {
	defer speaker.Close()
	w.mu.Lock()
	w.sessions++
	w.mu.Unlock()
	for {
		select {
		case m, more := <-speaker.Received():
			if !more {
				return
			}
			w.note(m)
		case <-ctx.Done():
			return
		}
	}
}

func (w *witness) note(m routegen.Message) {
	e := event{at: m.At}
	var err error
	switch m.Type {
	case routegen.TypeUpdate:
		var u routegen.Update
		if u, err = routegen.ParseUpdate(m.Body); err == nil && u.EndOfRIB() {
			return
		}
		e.update = &u
	case routegen.TypeNotification:
		e.notification, err = routegen.ParseNotification(m.Body)
	default:
		return
	}
	if err != nil {
		w.t.Errorf("the edge sent a message that cannot be read: %v", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// seen are the events so far, and how many sessions there were.
func (w *witness) seen() ([]event, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events), w.sessions
}

// await waits for n events in all, and returns them.
func (w *witness) await(within time.Duration, n int) []event {
	w.t.Helper()
	var events []event
	netlab.Eventually(w.t, within, fmt.Sprintf("%d messages at the witness", n), func() error {
		if events, _ = w.seen(); len(events) < n {
			return fmt.Errorf("%d so far:%s", len(events), list(events))
		}
		return nil
	})
	return events
}

// count fails the test unless the witness saw exactly n events in one session.
func (w *witness) count(n int) {
	w.t.Helper()
	if events, sessions := w.seen(); len(events) != n || sessions != 1 {
		w.t.Errorf("the witness saw %d messages in %d sessions, want %d in one:%s", len(events), sessions, n, list(events))
	}
}

func list(events []event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "\n  %s %s", e.at.Format("15:04:05.000"), e)
	}
	return b.String()
}
