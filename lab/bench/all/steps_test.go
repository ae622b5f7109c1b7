package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catchment-bgp/catchment/lab/bench"
)

func TestFiguresBecomeRowsWithTheRatioToThePeer(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "figures.json")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ step, figures, output, want string }{
		{"failover", `{"catchment, watching": {"bird": {"median_ms": 20}}, "catchment, poll": {"bird": {"median_ms": 900}}, "ExaBGP": {"bird": {"median_ms": 1000}}}`, "",
			"service dies to route gone at BIRD: catchment, poll   900 ms      ExaBGP   1000 ms      0.90\n" +
				"service dies to route gone at BIRD: catchment, watching   20 ms       ExaBGP   1000 ms      0.02\n"},
		{"idle", `{"catchment": [{"neighbors": 20, "rss_bytes": 30e6, "cpu_share_of_core": 0.01}], "ExaBGP": [{"rss_bytes": 50e6, "helpers_rss_bytes": 10e6, "cpu_share_of_core": 0.03, "helpers_cpu_share_of_core": 0.01}]}`, "",
			"idle memory, 20 neighbours and 10 checks   30 MB   ExaBGP and its checks   60 MB   0.50\n" +
				"idle processor time, 20 neighbours and 10 checks   1 % of a core   ExaBGP and its checks   4 % of a core   0.25\n"},
		{"central", `{"catchment": [{"edges": 100, "rss_bytes_per_edge": 100e3, "cpu_cores": 0.1, "write_to_last_confirmation_p99_ms": 50, "return_since_served_seconds": 1},
			{"edges": 1000, "rss_bytes_per_edge": 90e3, "cpu_cores": 0.2, "write_to_last_confirmation_p99_ms": 200, "return_since_served_seconds": 2}]}`, "",
			"centre with 100 edges: memory per edge   100 KB\n" +
				"centre with 1000 edges: memory per edge   90 KB   itself with 100   100 KB   0.90\n" +
				"centre with 1000 edges: write until the last edge confirms, p99   200 ms   itself with 100   50 ms   4.00\n"},
		{"guard", "", "BenchmarkWithdrawal-2 30 100 ns/op 1500 µs/quiet 1.2 flooder/quiet 1.1 other/quiet 1.05 RSS/before\n",
			"withdrawal to the neighbour that floods   1.2 times   without a flood   1 times   1.20\n"},
		{"policy", "", "BenchmarkNext/neighbors=4-2 \t 100 \t 3700 ns/op\nPASS\n", "a decision: Next/neighbors=4   3.7 us\n"},
		{"community", "", "BenchmarkLookup-2 10 5 ns/op 800 ns/lookup 40 ns/map 20 x-of-map\nBenchmarkParsePattern/template-2 1 1 ns/op 30 ns/pattern 60 ns/automaton\n" +
			"BenchmarkDump/one-in-25-2 1 1 ns/op 100 MB/s 400 bare-MB/s\nBenchmarkDump/one-in-1-2 1 1 ns/op 10 MB/s 400 bare-MB/s\n",
			"look-up among 10,000 patterns   800 ns   a map   40 ns   20.00\nRPSL dump, 1 of 25 objects documented   100 MB/s   only unpacking it   400 MB/s   0.25\n"},
	} {
		chosen, err := choose(c.step)
		if err != nil || len(chosen) != 1 {
			t.Fatal(err)
		}
		rows, err := chosen[0].read(file(c.figures), c.output)
		if err != nil {
			t.Errorf("%s: %v", c.step, err)
			continue
		}
		got := squeeze(table(rows))
		for want := range strings.Lines(c.want) {
			if !strings.Contains(got, squeeze(want)) {
				t.Errorf("%s: no line\n%sin\n%s", c.step, want, got)
			}
		}
	}
}

// squeeze makes one space of many.
func squeeze(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
	}
	return b.String()
}

func TestOutputWithoutFiguresIsAnError(t *testing.T) {
	for _, s := range steps {
		for _, output := range []string{"", "PASS\n", "BenchmarkOther-2 1 5 us/thing\n"} {
			if rows, err := s.read(filepath.Join(t.TempDir(), "none.json"), output); err == nil && (s.name != "policy" && s.name != "simulator" || output != "BenchmarkOther-2 1 5 us/thing\n") {
				t.Errorf("%s: %q becomes %v", s.name, output, rows)
			}
		}
	}
	if _, err := choose("failover,nothing"); err == nil || !strings.Contains(err.Error(), `there is no benchmark "nothing"; there are failover, idle`) {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestTheFileSaysWhatTheMachineIs(t *testing.T) {
	m := bench.ThisMachine()
	if m.Processors < 1 || m.Memory == 0 || !strings.HasPrefix(m.Kernel, "Linux ") || !strings.HasPrefix(m.Go, "go") || m.Load == "" {
		t.Errorf("%+v", m)
	}
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(record{Machine: m, Rows: []row{{What: "w", Unit: "ms", Ours: 1, Peer: "p", Theirs: 2}}, Missed: []string{}}); err != nil {
		t.Fatal(err)
	}
	if want := `"rows":[{"what":"w","unit":"ms","catchment":1,"peer":"p","peer_figure":2}],"missed":[]`; !strings.Contains(text.String(), want) {
		t.Errorf("%s has no %s", &text, want)
	}
}
