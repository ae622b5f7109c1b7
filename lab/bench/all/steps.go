package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/catchment-bgp/catchment/lab/bench"
)

// row is one figure of catchment's, and the peer's of the same run.
type row struct {
	What   string  `json:"what"`
	Unit   string  `json:"unit"`
	Ours   float64 `json:"catchment"`
	Peer   string  `json:"peer"`
	Theirs float64 `json:"peer_figure"`
}

// ratio is how much of the peer's figure ours is; 0 without one.
func (r row) ratio() float64 {
	if r.Theirs == 0 {
		return 0
	}
	return r.Ours / r.Theirs
}

func table(rows []row) string {
	cells := [][]string{{"what", "catchment", "beside", "its figure", "ratio"}}
	for _, r := range rows {
		number := func(v float64) string { return figure(v) + " " + r.Unit }
		line := []string{r.What, number(r.Ours), "", "", ""}
		if r.Peer != "" {
			line = []string{r.What, number(r.Ours), r.Peer, number(r.Theirs), fmt.Sprintf("%.2f", r.ratio())}
		}
		cells = append(cells, line)
	}
	return bench.Table(cells)
}

// figure writes three digits that count, or whole numbers.
func figure(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// step is one benchmark.
type step struct {
	name string
	args func(file string, s settings) []string
	read func(file, output string) ([]row, error)
}

var steps = []step{
	{"failover", func(file string, s settings) []string {
		return []string{"-bench", "Failover", "-benchtime", "1x", "./lab/bench/failover", "-runs", strconv.Itoa(s.runs), "-figures", file}
	}, readFailover},
	{"idle", func(file string, _ settings) []string {
		return []string{"-bench", "Idle", "-benchtime", "1x", "./lab/bench/idle", "-figures", file}
	}, readIdle},
	{"guard", func(string, settings) []string {
		return []string{"-bench", "Withdrawal", "-benchtime", "30x", "./lab/bench/guard"}
	}, metrics(
		metric{"Withdrawal", "withdrawal while a neighbour floods, at another one", "other/quiet", "times", "without a flood", ""},
		metric{"Withdrawal", "withdrawal to the neighbour that floods", "flooder/quiet", "times", "without a flood", ""},
		metric{"Withdrawal", "memory after a flood of a full table", "RSS/before", "times", "before it", ""},
	)},
	{"central", func(file string, s settings) []string {
		return []string{"-bench", "Central", "-benchtime", "1x", "./lab/bench/central", "-edges", s.edges, "-figures", file}
	}, readCentral},
	{"policy", func(string, settings) []string {
		return []string{"-bench", "^Benchmark(Next|Admit)$", "-benchtime", "200ms", "./policy", "./policy/fleet"}
	}, operations("a decision")},
	{"community", func(string, settings) []string {
		return []string{"-bench", "^Benchmark(ParsePattern|Lookup|Dump)$", "-benchtime", "500ms", "./community", "./community/registry", "./community/importer"}
	}, metrics(
		metric{"Lookup", "look-up among 10,000 patterns", "ns/lookup", "ns", "a map", "ns/map"},
		metric{"ParsePattern/template", "reading a template", "ns/pattern", "ns", "making its automaton", "ns/automaton"},
		metric{"Dump/one-in-25", "RPSL dump, 1 of 25 objects documented", "MB/s", "MB/s", "only unpacking it", "bare-MB/s"},
		metric{"Dump/one-in-1", "RPSL dump, all objects documented", "MB/s", "MB/s", "only unpacking it", "bare-MB/s"},
	)},
	{"simulator", func(string, settings) []string {
		return []string{"-bench", "^BenchmarkWorldcup$", "-benchtime", "1x", "./lab/sim"}
	}, operations("simulator")},
}

// decode reads a file of figures.
func decode(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("the benchmark left no figures: %w", err)
	}
	return json.Unmarshal(text, into)
}

func readFailover(file, _ string) ([]row, error) {
	var all map[string]map[string]struct {
		Median float64 `json:"median_ms"`
	}
	if err := decode(file, &all); err != nil {
		return nil, err
	}
	var rows []row
	for _, peer := range []string{"ExaBGP", "script"} {
		for name := range all {
			if !strings.Contains(name, peer) {
				continue
			}
			for ours := range all {
				if strings.Contains(ours, "catchment") {
					rows = append(rows, row{"service dies to route gone at BIRD: " + ours, "ms", all[ours]["bird"].Median, name, all[name]["bird"].Median})
				}
			}
		}
	}
	if rows == nil {
		return nil, errors.New("there are no contenders that this program knows")
	}
	sortRows(rows)
	return rows, nil
}

func readIdle(file, _ string) ([]row, error) {
	type figures struct {
		Neighbors  int     `json:"neighbors"`
		RSS        float64 `json:"rss_bytes"`
		CPU        float64 `json:"cpu_share_of_core"`
		HelpersRSS float64 `json:"helpers_rss_bytes"`
		HelpersCPU float64 `json:"helpers_cpu_share_of_core"`
	}
	var all map[string][]figures
	if err := decode(file, &all); err != nil {
		return nil, err
	}
	ours, exa := all["catchment"], all["ExaBGP"]
	if len(ours) == 0 || len(ours) != len(exa) {
		return nil, fmt.Errorf("%d figures of catchment and %d of ExaBGP", len(ours), len(exa))
	}
	var rows []row
	for i, o := range ours {
		e := exa[i]
		rows = append(rows,
			row{fmt.Sprintf("idle memory, %d neighbours and 10 checks", o.Neighbors), "MB", o.RSS / 1e6, "ExaBGP and its checks", (e.RSS + e.HelpersRSS) / 1e6},
			row{fmt.Sprintf("idle processor time, %d neighbours and 10 checks", o.Neighbors), "% of a core", o.CPU * 100, "ExaBGP and its checks", (e.CPU + e.HelpersCPU) * 100})
	}
	return rows, nil
}

func readCentral(file, _ string) ([]row, error) {
	type figures struct {
		Edges    int     `json:"edges"`
		PerEdge  float64 `json:"rss_bytes_per_edge"`
		CPU      float64 `json:"cpu_cores"`
		WriteP99 float64 `json:"write_to_last_confirmation_p99_ms"`
		Served   float64 `json:"return_since_served_seconds"`
	}
	var all map[string][]figures
	if err := decode(file, &all); err != nil {
		return nil, err
	}
	list := all["catchment"]
	if len(list) == 0 {
		return nil, errors.New("no figures of a centre")
	}
	var rows []row
	for i, g := range list {
		add := func(what, unit string, value func(figures) float64) {
			r := row{What: fmt.Sprintf("centre with %d edges: %s", g.Edges, what), Unit: unit, Ours: value(g)}
			if i > 0 {
				r.Peer, r.Theirs = fmt.Sprintf("itself with %d", list[0].Edges), value(list[0])
			}
			rows = append(rows, r)
		}
		add("memory per edge", "KB", func(g figures) float64 { return g.PerEdge / 1e3 })
		add("processor time", "cores", func(g figures) float64 { return g.CPU })
		add("write until the last edge confirms, p99", "ms", func(g figures) float64 { return g.WriteP99 })
		add("all edges back after kill -9", "s", func(g figures) float64 { return g.Served })
	}
	return rows, nil
}

// metric says which figure of a benchmark becomes a row. Without the peer's figure ours is a ratio already.
type metric struct{ bench, what, figure, unit, peer, peers string }

func metrics(wanted ...metric) func(file, output string) ([]row, error) {
	return func(_, output string) ([]row, error) {
		results, err := results(output)
		if err != nil {
			return nil, err
		}
		var rows []row
		for _, m := range wanted {
			figures, ok := results[m.bench]
			ours, known := figures[m.figure]
			if !ok || !known {
				return nil, fmt.Errorf("no figure %[2]s of Benchmark%[1]s", m.bench, m.figure)
			}
			r := row{What: m.what, Unit: m.unit, Ours: ours, Peer: m.peer, Theirs: 1}
			if m.peers != "" {
				if r.Theirs, ok = figures[m.peers]; !ok {
					return nil, fmt.Errorf("no figure %[2]s of Benchmark%[1]s", m.bench, m.peers)
				}
			}
			rows = append(rows, r)
		}
		return rows, nil
	}
}

// operations makes a row of each benchmark's time for an operation.
func operations(what string) func(file, output string) ([]row, error) {
	return func(_, output string) ([]row, error) {
		results, err := results(output)
		if err != nil {
			return nil, err
		}
		var rows []row
		for name, figures := range results {
			rows = append(rows, row{What: what + ": " + name, Unit: "us", Ours: figures["sec/op"] * 1e6})
		}
		sortRows(rows)
		return rows, nil
	}
}

// results are the figures of go test's lines, by benchmark and unit.
func results(output string) (map[string]map[string]float64, error) {
	all := map[string]map[string]float64{}
	r := benchfmt.NewReader(strings.NewReader(output), "go test")
	for r.Scan() {
		result, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		name := result.Name.String()
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			name = name[:at] // how many processors it had
		}
		figures := map[string]float64{}
		for _, v := range result.Values {
			figures[v.Unit] = v.Value
			if v.OrigUnit != "" {
				figures[v.OrigUnit] = v.OrigValue
			}
		}
		all[name] = figures
	}
	if err := r.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("go test printed no figures")
	}
	return all, nil
}

func sortRows(rows []row) {
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.What, b.What)) })
}
