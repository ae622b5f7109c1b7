package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/lab/netlab"
	"github.com/catchment-bgp/catchment/lab/netlab/routegen"
)

// F6. Each case of the corpus is a session of its own that the neighbour "hostile" makes, while BIRD has a session
// beside it. With accept_default the daemon does read UPDATEs.
func TestF06MalformedMessagesEndAtMostTheirOwnSession(t *testing.T) {
	t.Run("dropped unread", func(t *testing.T) { malformed(t) })
	t.Run("accept_default", func(t *testing.T) { malformed(t, "accept_default: true") })
}

func malformed(t *testing.T, fields ...string) {
	t.Parallel()
	h := newHub(t, netlab.BIRDRouting)
	enemy, bird := h.spoke("hostile"), h.spoke("bird")
	router := bird.node.BIRD(netlab.BIRDConfig{ASN: birdASN, RouterID: bird.Peer4.String(), Neighbors: []netlab.BIRDNeighbor{
		{Name: "edge", Address: bird.Edge4, ASN: edgeASN, IPv4: true, IPv6: true},
	}}.String())
	c := always(enemy.neighbor(rawASN, slices.Concat(enemy.bothFamilies(), []string{"listen: true"}, fields)...),
		bird.neighbor(birdASN, bird.bothFamilies()...))
	c.Services = []string{mapping("name: video", fmt.Sprintf("prefixes: [%s, %q]", video4, video6), fmt.Sprintf("vips: [%s/32, %q]", vip4, vip6+"/128"))}
	monitor := watchRoutes(t, h.edge, "address")
	d := h.start(c)
	api := d.api()
	awaitPath(t, sessionWait, router, video6, nil)
	awaitPath(t, soon, router, video4, nil)
	session, before := awaitSession(t, router, bird.Edge4), birdCounts(t, router, bird)
	r := &attack{t: t, from: enemy, api: api}
	r.run(hostile{name: "nothing wrong", want: lives}) // what the daemon makes once is made now
	small := leastSize(t, d)

	start, cases := time.Now(), corpus(enemy.Peer4)
	for _, c := range cases {
		r.run(c)
		if t.Failed() {
			t.Fatalf("the corpus was given up in the case %q", c.name)
		}
	}
	t.Logf("%d sessions in %v", len(cases), time.Since(start).Round(time.Millisecond))

	sameSession(t, router, bird.Edge4, session)
	if after := birdCounts(t, router, bird); after != before {
		t.Errorf("BIRD got UPDATEs: %s, then %s", before, after)
	}
	awaitPath(t, soon, router, video4, nil)
	awaitPath(t, soon, router, video6, nil)
	if got := h.edge.MustRun("ip", "-brief", "address", "show", "dev", "lo"); !strings.Contains(got, vip4+"/32") || !strings.Contains(got, vip6+"/128") {
		t.Errorf("the VIPs: %s", got)
	}
	// Every line says that something came or went. VIPs come before the corpus, and the kernel's own routes with them.
	for line := range strings.Lines(monitor.Log()) {
		if strings.HasPrefix(line, "Deleted") && !strings.Contains(line, monitorMarker) || strings.Contains(line, "proto bgp") {
			t.Errorf("addresses and routes: %s", line)
		}
	}
	// GoBGP's own machine for a neighbour takes its time to be idle again, with other goroutines meanwhile.
	netlab.Eventually(t, 6*soon, "the daemon to be as small as before", func() error {
		if now := sizeOf(t, d); now.files > small.files || now.goroutines > small.goroutines {
			return fmt.Errorf("%+v, before the corpus %+v", now, small)
		}
		return nil
	})
	if peak, err := d.proc.PeakRSS(); err != nil || peak >= mostRSS {
		t.Errorf("the daemon needed %.1f MB, %v", mb(peak), err)
	}
}

func birdCounts(t testing.TB, r *netlab.BIRD, s *spoke) string {
	t.Helper()
	c, err := r.Counts(s.Edge4)
	if err != nil {
		t.Fatal(err)
	}
	return c.String()
}

// size is what grows when something is left behind.
type size struct {
	files      int
	goroutines float64
}

func sizeOf(t testing.TB, d *daemon) size {
	return size{openFiles(t, d.proc), d.metric("go_goroutines")}
}

// leastSize is the smallest size of the daemon in half a second: reading it is some of it.
func leastSize(t testing.TB, d *daemon) size {
	t.Helper()
	least := sizeOf(t, d)
	left := 25
	netlab.Eventually(t, soon, "some sizes of the daemon", func() error {
		now := sizeOf(t, d)
		least = size{min(least.files, now.files), min(least.goroutines, now.goroutines)}
		if left--; left > 0 {
			return fmt.Errorf("%d more", left)
		}
		return nil
	})
	return least
}

// openFiles counts a process's file descriptors.
func openFiles(t testing.TB, p *netlab.Proc) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// attack makes the sessions of the corpus.
type attack struct {
	t    *testing.T
	from *spoke
	api  edgev1.EdgeClient
}

// fate is what came of a session.
type fate struct {
	lives bool
	err   error // the end: a *routegen.Notification, io.EOF, or what the connection said
}

func (f fate) String() string {
	if f.lives {
		return "lives"
	}
	return fmt.Sprintf("ended: %v", f.err)
}

func (r *attack) run(c hostile) {
	r.t.Helper()
	got := r.try(c)
	if !c.want.fits(got) {
		r.t.Errorf("%s: the session %v; want that it %v", c.name, got, c.want)
	}
	n, err := atNeighbor(r.api, r.from.name)
	if err != nil {
		r.t.Errorf("%s: the daemon does not answer: %v", c.name, err)
		return
	}
	if i := strings.IndexFunc(n.GetLastError(), func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		r.t.Errorf("%s: the status has a control character: %q", c.name, n.GetLastError())
	}
}

func (o outcome) fits(f fate) bool {
	var n *routegen.Notification
	told := errors.As(f.err, &n)
	switch {
	case o.lives:
		return f.lives
	case o.open:
		return f.lives || told && n.Code == 2
	case f.lives:
		return false
	case o.code == 0:
		return true
	}
	return told && n.Code == o.code && (o.subcodes == nil || slices.Contains(o.subcodes, n.Subcode))
}

// try makes one session. Where the daemon has not noticed yet that the one before has ended it says so with 6/7, and
// the neighbour tries again, as a router does.
func (r *attack) try(c hostile) fate {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		f := r.once(c)
		var n *routegen.Notification
		if errors.As(f.err, &n) && n.Code == 6 && n.Subcode == 7 && time.Now().Before(deadline) {
			continue
		}
		return f
	}
}

func (r *attack) once(c hostile) fate {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := r.from.dial(ctx, routegen.Config{
		HoldTime: 9 * time.Second, Families: []routegen.Family{routegen.IPv4, routegen.IPv6}, Open: c.open,
	})
	if err != nil {
		return fate{err: err}
	}
	defer s.Close()
	for _, raw := range c.send {
		if s.Send(raw) != nil {
			break // the daemon has ended the session: why comes below
		}
	}
	if c.quits || c.want.open {
		return fate{lives: c.want.open, err: s.Close()}
	}
	return r.judge(ctx, s, c)
}

// judge finds out whether a session lives: then it answers a ROUTE-REFRESH with our route.
func (r *attack) judge(ctx context.Context, s *routegen.Speaker, c hostile) fate {
	_ = s.Send(routegen.Frame(routegen.TypeRouteRefresh, []byte{0, 1, 0, 1}))
	again := false // the first announcement comes by itself
	for {
		select {
		case m, open := <-s.Received():
			if !open {
				return fate{err: s.Err()}
			}
			if m.Type != routegen.TypeUpdate {
				continue
			}
			u, err := routegen.ParseUpdate(m.Body)
			if err != nil {
				r.t.Errorf("%s: an UPDATE of ours: %v", c.name, err)
			}
			if slices.Contains(u.Announced, video4) {
				if again {
					return fate{lives: true}
				}
				again = true
			}
		case <-ctx.Done():
			return fate{err: fmt.Errorf("neither an answer nor an end: %w", ctx.Err())}
		}
	}
}
