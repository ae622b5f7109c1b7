package load

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCPUTimes(t *testing.T) {
	before, err := parseCPU([]byte("cpu  100 10 50 1000 40 5 5 20 30 0\ncpu0 1 1 1 1\n"))
	must(t, err)
	if want := (cpuTimes{busy: 190, total: 1230}); before != want {
		t.Errorf("%+v, want %+v: guests are within user", before, want)
	}
	for name, c := range map[string]struct {
		line string
		want float64
		ok   bool
	}{
		"half busy":        {"cpu 150 10 50 1040 50 5 5 20 0 0", 0.5, true},
		"stolen is busy":   {"cpu 100 10 50 1000 40 5 5 120 0 0", 1, true},
		"waiting is idle":  {"cpu 100 10 50 1000 140 5 5 20 0 0", 0, true},
		"no time":          {"cpu 100 10 50 1000 40 5 5 20 0 0", 0, false},
		"went backwards":   {"cpu 90 10 50 1100 40 5 5 20 0 0", 0, false},
		"iowait decreases": {"cpu 150 10 50 1060 30 5 5 20 0 0", 0.5, true},
	} {
		now, err := parseCPU([]byte(c.line))
		must(t, err)
		if got, ok := now.share(before); got != c.want || ok != c.ok {
			t.Errorf("%s: %v, %v; want %v, %v", name, got, ok, c.want, c.ok)
		}
	}
	for _, bad := range []string{"", "cpu", "cpu 1 2 3", "cpu0 1 2 3 4", "cpu a b c d", "cpu -1 2 3 4", "intr 1 2 3 4 5"} {
		if c, err := parseCPU([]byte(bad)); err == nil {
			t.Errorf("%q: %+v, want an error", bad, c)
		}
	}
}

func TestDisksAreBusyByTheTimeWithRequests(t *testing.T) {
	got := parseDisks([]byte("   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n" +
		" 254       0 vda 834750 93662 18428090 381112 946214 475286 49136608 680926 0 281832 1228685 676606 345 76621832 116031 182839 50614\n" +
		" 8 0 old 1 2 3 4 5 6 7 8 9 10 11\n 8 1 short 1 2 3\n"))
	if len(got) != 3 || got["vda"] != 281832 || got["old"] != 10 || got["loop0"] != 0 {
		t.Errorf("%v, want vda 281832, old 10, loop0 0", got)
	}
	for name, c := range map[string]struct {
		before, now uint64
		want        float64
		ok          bool
	}{
		"a quarter":       {1000, 1250, 0.25, true},
		"all":             {1000, 2000, 1, true},
		"rounding":        {1000, 2010, 1, true},
		"idle":            {1000, 1000, 0, true},
		"wrap at 32 bits": {math.MaxUint32 - 99, 150, 0.25, true},
		"another disk":    {1000, 9000, 0, false},
		"it was set back": {9000, 10, 0, false},
	} {
		if got, ok := diskShare(c.before, c.now, time.Second); math.Abs(got-c.want) > 1e-9 || ok != c.ok {
			t.Errorf("%s: %v, %v; want %v, %v", name, got, ok, c.want, c.ok)
		}
	}
	if _, ok := diskShare(0, 0, 0); ok {
		t.Error("a share of no time")
	}
}

func TestPressure(t *testing.T) {
	text := []byte("some avg10=24.81 avg60=19.78 avg300=13.46 total=4596947672\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=17\n")
	for line, want := range map[string]uint64{"some": 4596947672, "full": 17} {
		if got, err := parsePressure(text, line); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", line, got, err, want)
		}
	}
	for _, bad := range []string{"", "some\n", "some total=\n", "some total=x", "full total=1"} {
		if got, err := parsePressure([]byte(bad), "some"); err == nil {
			t.Errorf("%q: %d, want an error", bad, got)
		}
	}
	if got, ok := pressureShare(1000, 251_000, time.Second); got != 0.25 || !ok {
		t.Errorf("%v, %v; want 0.25", got, ok)
	}
	if _, ok := pressureShare(1000, 10, time.Second); ok {
		t.Error("a share of what went backwards")
	}
}

// machine is a procfs of a test's own.
type machine struct {
	t   *testing.T
	dir string
}

func (m machine) write(name, text string) {
	m.t.Helper()
	at := filepath.Join(m.dir, name)
	must(m.t, os.MkdirAll(filepath.Dir(at), 0o755))
	must(m.t, os.WriteFile(at, []byte(text), 0o644))
}

func names(n Node) (list []string) {
	for _, r := range n.Resources {
		list = append(list, r.Name)
	}
	return list
}

func TestNodeIsItsBusiestResource(t *testing.T) {
	m := machine{t, t.TempDir()}
	m.write("stat", "cpu 100 0 0 100 0 0 0 0 0 0\n")
	m.write("diskstats", "8 0 sda 0 0 0 0 0 0 0 0 0 1000 0\n8 1 sda1 0 0 0 0 0 0 0 0 0 900 0\n8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n")
	m.write("pressure/memory", "some total=1\nfull total=1000\n")
	log, lines := newLog()
	node := newNodeMeter(Resources{
		CPU: true, Disks: []string{"*"}, PressureMemory: 0.25, PressureIO: 0.5,
	}, &kernel{proc: m.dir}, newTrack("", "node", log))
	node.whole = func(disk string) bool { return disk != "sda1" }
	if n, ok, err := node.round(t.Context(), start); ok || err == nil {
		t.Errorf("first round: %+v, %v; want nothing, and an error for I/O pressure", n, err)
	}
	m.write("stat", "cpu 160 0 0 140 0 0 0 0 0 0\n")
	m.write("diskstats", "8 0 sda 0 0 0 0 0 0 0 0 0 1500 0\n8 1 sda1 0 0 0 0 0 0 0 0 0 1900 0\n8 16 sdb 0 0 0 0 0 0 0 0 0 100 0\n")
	m.write("pressure/memory", "some total=1\nfull total=201000\n")
	n, ok, err := node.round(t.Context(), after(1))
	if !ok || err == nil || !strings.Contains(err.Error(), "io pressure") || !strings.Contains(err.Error(), "psi=1") {
		t.Errorf("%v, %v; want figures, and an error that says how to get I/O pressure", ok, err)
	}
	if want := []string{"cpu", "disk sda", "disk sdb", "memory pressure"}; !slices.Equal(names(n), want) {
		t.Errorf("resources %v, want %v", names(n), want)
	}
	if n.Resource != "memory pressure" || math.Abs(n.Utilization-0.8) > 1e-9 || !n.At.Equal(after(1)) {
		t.Errorf("%+v, want memory pressure at 0.8", n)
	}
	if cpu := n.Resources[0].Utilization; math.Abs(cpu-0.6) > 1e-9 {
		t.Errorf("cpu %v, want 0.6", cpu)
	}
	// What cannot be read any more is absent, not zero.
	must(t, os.Remove(filepath.Join(m.dir, "stat")))
	n, _, _ = node.round(t.Context(), after(2))
	if want := []string{"disk sda", "disk sdb", "memory pressure"}; !slices.Equal(names(n), want) {
		t.Errorf("resources %v, want %v", names(n), want)
	}
	// After a long sleep there is nothing to compare with.
	if n, ok, _ := node.round(t.Context(), after(2000)); ok {
		t.Errorf("after a sleep: %+v", n)
	}
	if got := lines.lines(); len(got) != 0 {
		t.Errorf("round itself logs %q", got)
	}
}

func TestNamedDiskThatIsNotThereIsAnError(t *testing.T) {
	m := machine{t, t.TempDir()}
	m.write("diskstats", "8 0 sda 0 0 0 0 0 0 0 0 0 1000 0\n")
	node := newNodeMeter(Resources{Disks: []string{"sdz", "sda", "sda"}}, &kernel{proc: m.dir}, nil)
	_, _, err := node.round(t.Context(), start)
	if err == nil || !strings.Contains(err.Error(), "disk sdz") {
		t.Errorf("error %v, want one that names sdz", err)
	}
	n, _, _ := node.round(t.Context(), after(1))
	if !slices.Equal(names(n), []string{"disk sda"}) {
		t.Errorf("resources %v, want sda once", names(n))
	}
}

func TestNodeIsSmoothed(t *testing.T) {
	m := machine{t, t.TempDir()}
	node := newNodeMeter(Resources{CPU: true, Smooth: 10 * time.Second}, &kernel{proc: m.dir}, nil)
	for i, line := range []string{"cpu 0 0 0 0", "cpu 0 0 0 100", "cpu 100 0 0 100"} {
		m.write("stat", line)
		n, ok, err := node.round(t.Context(), after(float64(i)))
		must(t, err)
		want := []float64{0, 0, 1 - math.Exp(-0.1)}[i]
		if ok != (i > 0) || math.Abs(n.Utilization-want) > 1e-9 {
			t.Errorf("round %d: %v, %v; want %v", i, n.Utilization, ok, want)
		}
	}
}

func TestCombineOfNothingIsNothing(t *testing.T) {
	if n, ok := Combine(nil, start); ok {
		t.Errorf("%+v of no resources", n)
	}
	n, ok := Combine([]Resource{{Name: "a", Utilization: 0}, {Name: "b", Utilization: 0}}, start)
	if !ok || n.Resource != "a" || n.Utilization != 0 {
		t.Errorf("%+v, %v; want a, idle", n, ok)
	}
}
