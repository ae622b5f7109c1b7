package scenarios

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catchment-bgp/catchment/lab/netlab"
)

// soakTime is how long the soak flaps everything; `make soak` takes 30 minutes.
var soakTime = flag.Duration("soak", 20*time.Second, "how long TestSoakGrowsNothing lasts")

// usage is what the daemon holds at one moment.
type usage struct{ rss, goroutines, descriptors float64 }

func (u usage) String() string {
	return fmt.Sprintf("RSS %.1f MB, %.0f goroutines, %.0f descriptors", u.rss/1e6, u.goroutines, u.descriptors)
}

// TestSoakGrowsNothing flaps a neighbour, a check and the configuration all the while. At rest afterwards the daemon
// must hold what it held at rest after a first round, and the routers must have the routes.
func TestSoakGrowsNothing(t *testing.T) {
	if *soakTime > time.Minute {
		t.Logf("soaking for %s", *soakTime)
	} else {
		t.Parallel()
	}
	s := newSite(t)
	c := s.config()
	c.Lines = []string{"metrics: 127.0.0.1:9179", "return_after: [1s]"}
	other := c
	other.Neighbors = []string{s.neighborFRR("prepend: 2"), s.neighborBIRD("med: 7")}
	other.Services = []string{video(), mapping("name: extra", "prefixes: [203.0.113.0/24]", "vips: [203.0.113.1/32]")}
	s.start(c)
	s.awaitRoutes(soon, look{})

	f := &flapper{site: s, configs: []string{other.String(), c.String()}}
	f.flap(t, 3)
	first := f.rest(t)
	rounds := 0
	var peak usage
	for end := time.Now().Add(*soakTime); time.Now().Before(end); rounds++ {
		f.flap(t, 1)
		now := f.usage(t)
		peak = usage{max(peak.rss, now.rss), max(peak.goroutines, now.goroutines), max(peak.descriptors, now.descriptors)}
		if rounds%50 == 49 {
			t.Logf("after %d rounds: %s", rounds+1, now)
		}
	}
	last := f.rest(t)
	t.Logf("%d rounds; at rest: first %s; last %s; peak %s", rounds, first, last, peak)
	if last.goroutines > first.goroutines+8 {
		t.Errorf("goroutines grew from %.0f to %.0f", first.goroutines, last.goroutines)
	}
	if last.descriptors > first.descriptors+4 {
		t.Errorf("descriptors grew from %.0f to %.0f", first.descriptors, last.descriptors)
	}
	if last.rss > 1.3*first.rss+8e6 {
		t.Errorf("RSS grew from %.1f to %.1f MB", first.rss/1e6, last.rss/1e6)
	}
	s.awaitRoutes(soon, look{})
	s.edge.leave()
	s.awaitNone(soon)
}

// flapper flaps a site.
type flapper struct {
	*site
	configs []string
	turn    int
}

// flap does so many rounds: the other configuration, BIRD's session down and up, the service dead and back.
func (f *flapper) flap(t *testing.T, rounds int) {
	t.Helper()
	for range rounds {
		f.edge.write(f.configs[f.turn%len(f.configs)])
		f.turn++
		f.edge.signal(unix.SIGHUP)
		if _, err := f.bird.Birdc("restart", "edge"); err != nil {
			t.Fatal(err)
		}
		f.nginx.Kill()
		netlab.Eventually(t, soon, "the withdrawal", f.none)
		if err := f.nginx.Start(); err != nil {
			t.Fatal(err)
		}
		netlab.Eventually(t, sessionWait, "the return", f.back)
	}
}

// back wants FRR to have the service again, with either configuration. BIRD, whose session flaps, has it when the guard
// has tried again.
func (f *flapper) back() error {
	for _, prefix := range []netip.Prefix{video4, video6} {
		if paths, err := f.frr.Routes(prefix); err != nil || len(paths) != 1 {
			return fmt.Errorf("%s at FRR: %v (%v)", prefix, paths, err)
		}
	}
	return nil
}

// rest goes back to the first configuration, waits until all stands, and reads what the daemon holds.
func (f *flapper) rest(t *testing.T) usage {
	t.Helper()
	f.edge.reload(f.configs[1])
	f.turn = 0
	f.awaitRoutes(sessionWait, look{})
	return f.usage(t)
}

func (f *flapper) usage(t *testing.T) usage {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: f.Edge.DialContext}}
	response, err := client.Get("http://127.0.0.1:9179/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(f.edge.proc.PID()), "fd"))
	if err != nil {
		t.Fatal(err)
	}
	return usage{sample(t, string(body), "process_resident_memory_bytes"), sample(t, string(body), "go_goroutines"), float64(len(files))}
}

// sample is the value of a metric without labels.
func sample(t *testing.T, metrics, name string) float64 {
	t.Helper()
	lines := strings.Split(metrics, "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+" ") })
	if i < 0 {
		t.Fatalf("/metrics lacks %s", name)
	}
	v, err := strconv.ParseFloat(strings.TrimPrefix(lines[i], name+" "), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
