package edgecmd

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"gopkg.in/yaml.v3"

	edgev1 "github.com/catchment-bgp/catchment/api/edge/v1"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/exit"
	"github.com/catchment-bgp/catchment/cmd/catchment/internal/output"
)

// plainText ends a colour.
const plainText = "\x1b[39m"

// tap collects what is written and lets tests wait for it.
type tap struct {
	mu   sync.Mutex
	text strings.Builder
	news chan struct{}
}

func newTap() *tap { return &tap{news: make(chan struct{}, 1)} }

func (w *tap) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.news <- struct{}{}:
	default:
	}
	return w.text.Write(p)
}

func (w *tap) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// waitFor blocks until s was written n times.
func (w *tap) waitFor(t *testing.T, s string, n int) {
	t.Helper()
	late := time.After(patience)
	for strings.Count(w.String(), s) < n {
		select {
		case <-w.news:
		case <-late:
			t.Fatalf("%q was not written %d times within %s:\n%s", s, n, patience, w.String())
		}
	}
}

// twoStatuses is a status and what became of it.
func twoStatuses() (first, second *edgev1.StatusResponse) {
	first = fullStatus()
	second = proto.CloneOf(first)
	second.Warnings = nil
	second.Services = second.Services[:1]
	second.Services[0].State, second.Services[0].Reason, second.Services[0].Detail = "announced", "normal", ""
	second.Services[0].Checks[0].Last = after(time.Second)
	second.Services[0].Neighbors[0].Routes[0].Prepend = 0
	return first, second
}

// watched runs `status --watch` with two statuses and then SIGINT. It returns
// when each has been shown, as told by marks in the output.
func watched(t *testing.T, s shell, first, second string, args ...string) string {
	t.Helper()
	f := &fakeEdge{watch: make(chan *edgev1.StatusResponse)}
	s.env = at(f.serve(t)).env
	out := newTap()
	s.out = out
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	done := make(chan result, 1)
	go func() { done <- s.run(ctx, append([]string{"status", "--watch"}, args...)...) }()
	one, two := twoStatuses()
	f.watch <- one
	out.waitFor(t, first, 1)
	f.watch <- two
	out.waitFor(t, second, 1)
	cancel()
	if r := <-done; r.code != exit.OK || r.stderr != "" {
		t.Errorf("exit %d, stderr %q", r.code, r.stderr)
	}
	return out.String()
}

func TestWatchWritesALineForEachChange(t *testing.T) {
	got := watched(t, shell{}, "service dns at transit-a:", "service dns: gone\n")
	golden(t, "watch.table", got)
}

func TestWatchWritesAJSONDocumentOnEachLine(t *testing.T) {
	got := watched(t, shell{}, "\n", `"warnings":[]`, "-o", "json")
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), got)
	}
	for i, services := range []int{2, 1} {
		var doc struct{ Services []any }
		if err := json.Unmarshal([]byte(lines[i]), &doc); err != nil || len(doc.Services) != services {
			t.Errorf("line %d: %d services, error %v", i+1, len(doc.Services), err)
		}
	}
}

func TestWatchWritesAStreamOfYAMLDocuments(t *testing.T) {
	got := watched(t, shell{}, "way_back", "warnings: []", "-o", "yaml")
	d := yaml.NewDecoder(strings.NewReader(got))
	for i, services := range []int{2, 1} {
		var doc struct{ Services []any }
		if err := d.Decode(&doc); err != nil || len(doc.Services) != services {
			t.Errorf("document %d: %d services, error %v", i+1, len(doc.Services), err)
		}
	}
}

func TestWatchRedrawsATerminal(t *testing.T) {
	s := shell{tty: true, tweak: func(g *group) { g.redraw = time.Hour }}
	got := watched(t, s, clearBelow, "announced"+plainText+" (normal) for 3m")
	if strings.Count(got, clearScreen) != 1 || strings.Count(got, home) != 2 || strings.Count(got, clearBelow) != 2 {
		t.Errorf("not one clearing and two frames:\n%q", got)
	}
	if strings.Contains(got, "\x1b[2Jtonight") {
		t.Errorf("a neighbour's escape sequence reached the terminal:\n%q", got)
	}
}

func TestWatchKeepsATerminalsTimesFresh(t *testing.T) {
	f := &fakeEdge{watch: make(chan *edgev1.StatusResponse, 1)}
	f.watch <- fullStatus()
	out := newTap()
	s := at(f.serve(t))
	s.tty, s.out = true, out
	s.tweak = func(g *group) { g.redraw = time.Millisecond }
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	done := make(chan result, 1)
	go func() { done <- s.run(ctx, "status", "-w") }()
	out.waitFor(t, home, 3)
	cancel()
	if r := <-done; r.code != exit.OK {
		t.Errorf("exit %d, stderr %q", r.code, r.stderr)
	}
}

func TestWatchFailsWhenTheNodeEndsIt(t *testing.T) {
	f := &fakeEdge{watch: make(chan *edgev1.StatusResponse, 1)}
	f.watch <- fullStatus()
	close(f.watch)
	r := at(f.serve(t)).run(limited(t), "status", "--watch", "-o", "json")
	if r.code != exit.Failed || !strings.Contains(r.stderr, "ended the watch: it is stopping") || strings.Count(r.stdout, "\n") != 1 {
		t.Errorf("exit %d, stderr %q, stdout %q", r.code, r.stderr, r.stdout)
	}
}

func TestWatchHasNoDeadline(t *testing.T) {
	s := shell{tweak: func(g *group) { g.node.Timeout = time.Nanosecond }}
	watched(t, s, "\n", `"warnings":[]`, "-o", "json")
}

func TestWatchIsSilentWithoutNews(t *testing.T) {
	out := newTap()
	c := &changes{output.Changes{W: out, Now: func() time.Time { return now }}}
	first, second := twoStatuses()
	for _, m := range []*edgev1.StatusResponse{first, first, second} {
		if err := c.show(m); err != nil {
			t.Fatal(err)
		}
	}
	want := out.String()
	second = proto.CloneOf(second)
	second.Services[0].Checks[0].Last = after(time.Minute)
	second.Services[0].Checks[0].DurationSeconds = 0.5
	if err := c.show(second); err != nil || out.String() != want {
		t.Errorf("error %v; a probe alone wrote:\n%s", err, strings.TrimPrefix(out.String(), want))
	}
}
