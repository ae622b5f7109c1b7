package edge

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/announcer/host"
	"github.com/catchment-bgp/catchment/edge/config"
	"github.com/catchment-bgp/catchment/healthcheck"
	"github.com/catchment-bgp/catchment/policy"
)

// BenchmarkFigure is what a new figure of a link costs that changes nothing: it
// comes every second.
func BenchmarkFigure(b *testing.B) {
	for _, size := range []struct{ neighbors, services int }{{2, 2}, {20, 10}, {20, 200}} {
		b.Run(fmt.Sprintf("neighbors=%d/services=%d", size.neighbors, size.services), func(b *testing.B) {
			e := largeNode(b, size.neighbors, size.services)
			now := time.Now()
			e.load.figures.links = map[string]policy.Sample{"n0": {Load: 5e9, At: now}}
			e.step(now, byLoad)
			b.ReportAllocs()
			for b.Loop() {
				now = now.Add(time.Second)
				e.load.figures.links = map[string]policy.Sample{"n0": {Load: 5e9, At: now}}
				e.step(now, byLoad)
			}
		})
	}
}

// largeNode is a node whose loop the caller runs, step by step, with everything
// announced.
func largeNode(b *testing.B, neighbors, services int) *Edge {
	b.Helper()
	w := newWorld(b)
	var text strings.Builder
	fmt.Fprintf(&text, "node: msk1\nasn: 57629\nrouter_id: 10.77.0.1\nstate_dir: %s/state\nlinks:\n", w.dir)
	for i := range neighbors {
		fmt.Fprintf(&text, "  - {name: n%d, capacity: 10Gbps, interface: eth%d}\n", i, i)
	}
	text.WriteString("neighbors:\n")
	for i := range neighbors {
		fmt.Fprintf(&text, "  - {name: n%d, address: 10.1.%d.2, asn: %d, kind: transit, local_address: 10.1.%d.1, link: n%d, return: symmetric, ladder: [{prepend: 1}, {prepend: 2}, {prepend: 3}]}\n", i, i, 65001+i, i, i)
	}
	text.WriteString("services:\n")
	for i := range services {
		fmt.Fprintf(&text, "  - {name: s%d, prefixes: [198.51.%d.0/24], checks: [{name: c, tcp: {address: \"127.0.0.1:1\"}}]}\n", i, i)
	}
	c, _, err := config.Parse("edge.yaml", []byte(text.String()), config.Options{})
	if err != nil {
		b.Fatal(err)
	}
	e, err := New(c, nil, w.options())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = e.free(context.Background()) })
	if err := e.opt.Announcer.SetNeighbors(e.local(c), sessions(c)); err != nil {
		b.Fatal(err)
	}
	e.wayBack = &host.WayBack{IPv4: true, IPv6: true}
	for _, svc := range c.Services {
		e.checks.run[checkKey{svc.Name, "c"}] = &check{config: svc.Checks[0], status: healthcheck.Status{Name: "c", Up: true, Decided: true}}
	}
	e.load.see(e.opt.Announcer.Sessions())
	e.step(time.Now(), "start")
	return e
}
