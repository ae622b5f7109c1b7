package scenarios

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// origin is an HTTP server on a node that answers as the test wants.
type origin struct{ broken atomic.Bool }

func startOrigin(t testing.TB, node *netlab.Node, address string) *origin {
	t.Helper()
	o := &origin{}
	serve(t, node, address, func(w http.ResponseWriter, _ *http.Request) {
		if o.broken.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	return o
}

// serve answers HTTP on a node until the test ends.
func serve(t testing.TB, node *netlab.Node, address string, handle http.HandlerFunc) {
	t.Helper()
	listener, err := node.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handle}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
}

func TestSoftFailureSteersAndHardFailureElsewhereDoesNot(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	shared := startOrigin(t, s.Edge, "127.0.0.1:9000")
	dns := startOrigin(t, s.Edge, "127.0.0.1:9001")
	check := func(name string, port int, more string) string {
		return fmt.Sprintf("{name: %s, http: {url: 'http://127.0.0.1:%d/'}, interval: 500ms, timeout: 400ms%s}", name, port, more)
	}
	c := s.config()
	c.Neighbors = []string{
		s.neighborFRR(), // without a ladder: prepends
		s.neighborBIRD("ladder: [{community: ['65001:3001']}, {prepend: 2, community: ['57629:77']}, {withdraw: true}]"),
	}
	c.Services = []string{
		video(fmt.Sprintf("checks: [%s, %s]", webCheck(), check("origin", 9000, ", scope: soft"))),
		dnsService("checks: [" + check("dns", 9001, "") + "]"),
	}
	s.start(c)
	s.awaitRoutes(soon, look{})
	for _, p := range s.peers() {
		awaitPath(t, soon, p.router, dns4, look{}.at(p.wire.Edge4))
	}
	before := s.sessions()

	shared.broken.Store(true)
	s.awaitRoutesAt(s.peers()[0], soon, look{prepend: 3})
	s.awaitRoutesAt(s.peers()[1], soon, look{prepend: 2, communities: []string{"57629:77"}})
	if n := s.edge.neighbor("video", "bird"); n.State != "steered" || n.Reason != "soft_failure" || n.Rung != 2 || n.Rungs != 3 {
		t.Errorf("the status says of bird: %+v", n)
	}
	for _, p := range s.peers() {
		awaitPath(t, time.Second, p.router, dns4, look{}.at(p.wire.Edge4))
	}

	dns.broken.Store(true)
	for _, p := range s.peers() {
		awaitGone(t, soon, p.router, dns4)
	}
	s.awaitRoutesAt(s.peers()[0], time.Second, look{prepend: 3})
	s.awaitRoutesAt(s.peers()[1], time.Second, look{prepend: 2, communities: []string{"57629:77"}})

	shared.broken.Store(false)
	s.awaitRoutes(soon, look{})
	for _, p := range s.peers() {
		awaitGone(t, time.Second, p.router, dns4)
	}
	s.sameSessions(before)
}

func TestHardFailureBeatsAnOperatorsAnnounce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	shared := startOrigin(t, s.Edge, "127.0.0.1:9000")
	c := s.config()
	c.Services = []string{video(fmt.Sprintf("checks: [%s, {name: origin, http: {url: 'http://127.0.0.1:9000/'}, scope: soft, interval: 500ms, timeout: 400ms}]", webCheck()))}
	s.start(c)
	s.awaitRoutes(soon, look{})

	shared.broken.Store(true)
	s.awaitRoutes(soon, look{prepend: 3})
	s.edge.must("announce", "video", "--reason", "the origin's check is wrong")
	s.awaitRoutes(soon, look{})
	s.nginx.Kill()
	s.awaitNone(soon)
	if a := s.edge.cli("announce", "video", "--reason", "I insist"); a.code != 3 {
		t.Errorf("announcing a dead service: exit code %d, want 3: %s", a.code, a.stderr)
	}
	holds(t, time.Second, "the withdrawal", s.none)
	s.edge.must("announce", "video", "--reason", "I do", "--even-if-dead")
	s.awaitRoutes(soon, look{})
}
