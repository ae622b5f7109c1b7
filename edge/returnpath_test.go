package edge

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
)

// returnsFake is the return paths of a machine. Sets that want none where there
// are none are not worth a line in the journal.
type returnsFake struct {
	journal *journal
	news    chan struct{}

	mu     sync.Mutex
	want   host.Returns
	stand  []string
	broken map[string]error // by neighbour
	dead   error
}

func newReturnsFake(j *journal) *returnsFake {
	return &returnsFake{journal: j, news: make(chan struct{}), broken: map[string]error{}}
}

func (r *returnsFake) Set(want host.Returns) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead != nil {
		r.journal.add("returns fail")
		return r.dead
	}
	var stand []string
	var failures []host.Failure
	for _, p := range want.Paths {
		if p.Routed {
			continue
		}
		stand = append(stand, fmt.Sprintf("%s %v %v", p.Neighbor, p.IPv4, p.IPv6))
		if err := r.broken[p.Neighbor]; err != nil {
			failures = append(failures, host.Failure{Neighbor: p.Neighbor, Prefix: netip.MustParsePrefix("::/0"), Return: true, Err: err})
		}
	}
	if len(stand)+len(r.stand) > 0 {
		r.journal.add("returns %v", stand)
	}
	r.want, r.stand = want, stand
	if failures != nil {
		return &host.SetError{Failures: failures}
	}
	return nil
}

func (r *returnsFake) Marks() map[uint32]string { return map[uint32]string{1 << 24: "transit"} }

func (r *returnsFake) Watch(context.Context) (<-chan struct{}, error) { return r.news, nil }

func (r *returnsFake) Close() error { return nil }

// breaks makes a neighbour's path fail with an error, or work again.
func (r *returnsFake) breaks(neighbor string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken[neighbor] = err
}

// symmetric is an edit of the base configuration.
var symmetric = []string{"link: uplink, ladder", "link: uplink, return: symmetric, ladder"}

func TestReturnPathsStandBeforeTheFirstAnnouncementAndGoAfterTheVIPs(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		lines := w.journal.since(0)
		path := slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, "returns [transit true true]") })
		told := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "tell transit [198") })
		if path < 0 || told < path {
			t.Errorf("%q", lines)
		}
		w.returns.mu.Lock()
		want := w.returns.want
		w.returns.mu.Unlock()
		if got := fmt.Sprint(want.Prefixes); got != "[198.51.100.0/24 198.51.100.1/32 203.0.113.0/24 203.0.113.53/32 2001:db8:100::/48]" {
			t.Errorf("prefixes %s", got)
		}
		if want := (host.ReturnPath{Neighbor: "ix", Router: addr("10.77.2.2"), IPv4: true, IPv6: true, Routed: true}); w.returns.want.Paths[1] != want {
			t.Errorf("a routed neighbour is %+v, want %+v", w.returns.want.Paths[1], want)
		}
		n := w.journal.len()
		w.stop()
		got := slices.DeleteFunc(w.journal.since(n), func(l string) bool { return !strings.HasPrefix(l, "2s") })
		if want := []string{"2s vips []", "2s returns []", `2s close "catchment: node msk1 leaves"`}; !slices.Equal(got[:3], want) {
			t.Errorf("%q, want %q", got, want)
		}
	}, symmetric...)
}

func TestReturnPathThatFailsWithdrawsNothingIsShownAndRetried(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		w.returns.breaks("transit", errors.New("the router is not known"))
		n := w.journal.len()
		w.returns.news <- struct{}{}
		w.rest()
		w.expect("transit", transit4, transit6, dns4)
		if got := w.returnPath("transit"); got != "failed: IPv6: the router is not known" {
			t.Errorf("return path %q", got)
		}
		w.pass(returnRetry * 5 / 2)
		if got := w.journal.since(n, "returns"); len(got) != 3 {
			t.Errorf("tried %q", got)
		}
		w.returns.breaks("transit", nil)
		w.pass(returnRetry)
		if got := w.returnPath("transit"); got != "symmetric" {
			t.Errorf("return path %q", got)
		}
		n = w.journal.len()
		w.pass(time.Minute)
		if got := w.journal.since(n); got != nil {
			t.Errorf("what works was set again: %q", got)
		}
		if text := w.log.String(); strings.Count(text, "do not leave as configured") != 1 || strings.Count(text, "leave as configured again") != 1 {
			t.Errorf("log:\n%s", text)
		}
	}, symmetric...)
}

func TestReturnPathsThatCannotBeReadFailAtEachNeighborThatAsksForThem(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.returns.dead = errors.New("no right")
		w.start(symmetric...)
		w.well()
		if a, b := w.returnPath("transit"), w.returnPath("ix"); a != "failed: no right" || b != "routed" {
			t.Errorf("%q, %q", a, b)
		}
	})
}

func TestAReloadSetsAndTakesAwayReturnPaths(t *testing.T) {
	up(t, func(t *testing.T, w *world) {
		n := w.journal.len()
		w.reload(symmetric...)
		w.reload()
		if got := w.journal.since(n, "returns"); len(got) != 2 || !strings.HasSuffix(got[0], "returns [transit true true]") || !strings.HasSuffix(got[1], "returns []") {
			t.Errorf("%q", got)
		}
	})
}

func (w *world) returnPath(neighbor string) string {
	w.t.Helper()
	for _, n := range w.snapshot().proto().Services[0].Neighbors {
		if n.Name == neighbor {
			return n.ReturnPath
		}
	}
	w.t.Fatalf("no neighbour %s", neighbor)
	return ""
}

func TestLinkControlIsOffWhereRepliesDoNotRelieveTheLink(t *testing.T) {
	link := config.Link{Name: "a", Capacity: 1e9, Interface: "eth1"}
	unsized := config.Link{Name: "a", Feed: &config.Feed{}}
	neighbor := func(name, link string, symmetric bool) config.Neighbor {
		n := config.Neighbor{Link: link, Symmetric: symmetric}
		n.Name = name
		return n
	}
	for name, c := range map[string]struct {
		neighbors []config.Neighbor // the first is asked about
		links     []config.Link
		mode      config.LoadMode
		fault     string
		want      string
	}{
		"on":            {[]config.Neighbor{neighbor("a", "a", true), neighbor("b", "b", false)}, []config.Link{link}, config.LoadPI, "", ""},
		"routed":        {[]config.Neighbor{neighbor("a", "a", false), neighbor("b", "b", true)}, []config.Link{link}, config.LoadPI, "", "replies leave by the routes of this machine, wherever requests come in; write return: symmetric"},
		"failed":        {[]config.Neighbor{neighbor("a", "a", true), neighbor("b", "b", true)}, []config.Link{link}, config.LoadPI, "no route", "replies do not leave where requests come in: no route"},
		"the only link": {[]config.Neighbor{neighbor("a", "a", false), neighbor("b", "a", false)}, []config.Link{link}, config.LoadPI, "", ""},
		"no link":       {[]config.Neighbor{neighbor("a", "", true)}, []config.Link{link}, config.LoadPI, "", "the neighbor names no link; write link: and the link under links:"},
		"no capacity":   {[]config.Neighbor{neighbor("a", "a", true)}, []config.Link{unsized}, config.LoadPI, "", "link a has no capacity; write capacity: under links:"},
		"speed":         {[]config.Neighbor{neighbor("a", "a", true)}, []config.Link{{Name: "a", Interface: "eth1"}}, config.LoadPI, "", ""},
		"no figures":    {[]config.Neighbor{neighbor("a", "a", true)}, []config.Link{{Name: "a", Capacity: 1e9}}, config.LoadPI, "", "link a has no figures; write interface: or feed: under links:"},
		"load off":      {[]config.Neighbor{neighbor("a", "a", true)}, []config.Link{link}, config.LoadOff, "", "load control is off; write load: {mode: pi}"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &config.Config{Links: c.links, Neighbors: c.neighbors, Load: config.LoadControl{Mode: c.mode}}
			if got := linkControlOff(cfg, c.neighbors[0], c.fault); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
