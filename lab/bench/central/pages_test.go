package central

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catchment-bgp/catchment/central/identity"
	"github.com/catchment-bgp/catchment/lab/bench"
	"github.com/catchment-bgp/catchment/lab/netlab"
)

var (
	pagesOpen = flag.Int("pages", 100, "how many pages of the fleet are open")
	pagesOf   = flag.Int("pages.edges", 1000, "how many nodes they show")
)

// mostPages is what the open pages may cost the centre together, in bytes.
const mostPages = 100e6

// openPages are browsers with the fleet's page open, each on a connection of its own.
type openPages struct {
	work   sync.WaitGroup
	cancel context.CancelFunc

	mu     sync.Mutex
	got    int           // fetches
	octets int64         // as they came, compressed
	took   bench.Series  // from the word of a change to the page's new part
	err    error         // the first
	ready  chan struct{} // closed when all have fetched once
	left   int
}

// openThem opens n pages; they are at their first fetch when it returns.
func openThem(t testing.TB, c *centre, n int) *openPages {
	t.Helper()
	files, err := identity.Open(identity.Paths{CA: c.path("ca.pem"), Cert: c.path("noc.pem"), Key: c.path("noc.key")}, nil)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	o := &openPages{cancel: cancel, left: n, ready: make(chan struct{})}
	for range n {
		cfg, err := files.ClientTLS()
		must(t, err)
		transport := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true, DisableCompression: true}
		o.work.Go(func() {
			defer transport.CloseIdleConnections()
			if err := o.page(ctx, &http.Client{Transport: transport}, "https://"+c.http); err != nil && ctx.Err() == nil {
				o.mu.Lock()
				defer o.mu.Unlock()
				o.err = errors.Join(o.err, err)
			}
		})
	}
	select {
	case <-o.ready:
	case <-time.After(startTime):
		cancel()
		t.Fatalf("%d of %d pages have not opened in %v: %v", o.left, n, startTime, o.err)
	}
	return o
}

// page does what live.js does.
func (o *openPages) page(ctx context.Context, client *http.Client, base string) error {
	events, err := o.ask(ctx, client, base+"/events", "")
	if err != nil {
		return err
	}
	defer events.Body.Close()
	tag, first := "", true
	for lines := bufio.NewScanner(events.Body); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "event: fleet") {
			continue
		}
		begun := time.Now()
		part, err := o.ask(ctx, client, base+"/part/fleet", tag)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.Discard, part.Body)
		if err = errors.Join(err, part.Body.Close()); err != nil {
			return err
		}
		tag = part.Header.Get("ETag")
		o.fetched(n, time.Since(begun), first)
		first = false
	}
	return errors.New("the stream of events has ended")
}

func (o *openPages) fetched(n int64, took time.Duration, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.got++
	o.octets += n
	o.took = append(o.took, took)
	if first {
		if o.left--; o.left == 0 {
			close(o.ready)
		}
	}
}

func (o *openPages) ask(ctx context.Context, client *http.Client, address, tag string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept-Encoding", "gzip")
	r.Header.Set("If-None-Match", tag)
	resp, err := client.Do(r)
	if err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
		_ = resp.Body.Close() // its status is what counts
		err = fmt.Errorf("%s: %s", address, resp.Status)
	}
	return resp, err
}

// close closes all pages and returns the first error.
func (o *openPages) close() error {
	o.cancel()
	o.work.Wait()
	return o.err
}

// most is the largest of each figure while the fleet changes all the time.
func (c *centre) most(window time.Duration) held {
	c.t.Helper()
	m, frozen := c.held(), false
	for end := time.Now().Add(window); time.Now().Before(end) || frozen; {
		frozen = !frozen
		c.freeze(frozen)
		<-time.After(time.Second)
		h := c.held()
		m.usage.RSS, m.heap, m.stacks, m.goroutines = max(m.usage.RSS, h.usage.RSS), max(m.heap, h.heap), max(m.stacks, h.stacks), max(m.goroutines, h.goroutines)
		m.at, m.usage.CPU = h.at, h.usage.CPU
	}
	return m
}

// BenchmarkPages measures what open pages of a large fleet cost a centre, beyond the same
// changes without any, and judges it.
func BenchmarkPages(b *testing.B) {
	for b.Loop() {
		allowFiles(b, *pagesOf)
		binary := *measured
		if binary == "" {
			binary = netlab.Binary(b, "./cmd/catchment-central")
		}
		c := newCentre(b, binary)
		f := newFleet(b, c, *pagesOf, time.Duration(*pagesOf)*2*time.Millisecond)
		c.confirmed(*pagesOf, startTime)
		c.most(*window / 3) // what the start left to do
		from := c.held()
		without := c.most(*window)
		cpuWithout := without.usage.CPU - from.usage.CPU
		pages := openThem(b, c, *pagesOpen)
		from = c.held()
		with := c.most(*window)
		cpuWith := with.usage.CPU - from.usage.CPU
		if err := pages.close(); err != nil {
			b.Errorf("a page: %v", err)
		}
		f.close()
		more := float64(with.usage.RSS) - float64(without.usage.RSS)
		slices.Sort(pages.took)
		fmt.Printf("\n%d pages of %d nodes, over %v with a change each second:\n%s\n", *pagesOpen, *pagesOf, *window, bench.Table([][]string{
			{"RSS without", "RSS with", "heap in use more", "goroutines more", "CPU without", "CPU with", "fetches", "KB each", "median fetch", "slowest"},
			{fmt.Sprintf("%.1f MB", float64(without.usage.RSS)/1e6), fmt.Sprintf("%.1f MB", float64(with.usage.RSS)/1e6), fmt.Sprintf("%.1f MB", (with.heap-without.heap)/1e6),
				fmt.Sprintf("%.0f", with.goroutines-without.goroutines), fmt.Sprintf("%.2f s", cpuWithout.Seconds()), fmt.Sprintf("%.2f s", cpuWith.Seconds()), fmt.Sprint(pages.got),
				fmt.Sprintf("%.1f", float64(pages.octets)/float64(max(1, pages.got))/1e3), fmt.Sprint(pages.took[len(pages.took)/2].Round(time.Millisecond)), fmt.Sprint(pages.took[len(pages.took)-1].Round(time.Millisecond))}}))
		b.ReportMetric(more/1e6, "MB-more")
		if more > mostPages {
			b.Errorf("%d pages cost %.1f MB more", *pagesOpen, more/1e6)
		}
	}
}
